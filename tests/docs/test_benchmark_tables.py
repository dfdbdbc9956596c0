"""The tables of times in the pages are those of the result files."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parents[2]
GRAPHS = {
    **{name: name for name in ("road1M", "rmat20", "er1M", "dense10k", "euclid4k")},
    "grid4M": "grid4M (5.6 M rows)",
    "usa_road_d_ny": "New York (733,846 rows)",
}
IDS = {"dense": "dense integers", "sparse": "64-bit hashes", "text": "text"}
RUNS = {
    "two-pass": "`two-pass`, two workers",
    "merge": "`merge`, two workers",
    "stream": "`dfmst.stream`, one process, limit 800 MiB",
    "in_memory": "in memory, one process",
    "scipy": "SciPy (adds parallel rows up, 1 in 40,000 here)",
}


def result(name: str) -> Any:
    return json.loads((ROOT / "bench" / "results" / "cpu" / name).read_text(encoding="utf-8"))


def threads() -> list[str]:
    before, span = result("before.json")["graphs"], result("span.json")["graphs"]
    rows = []
    for name, label in GRAPHS.items():
        times = next(times for graph, times in before.items() if Path(graph).stem == name)
        work = f"{times['after_cpu_ms'] / times['before_cpu_ms']:.2f} | {100 * span[name]['4']['serial_share']:.0f} %"
        seconds = " | ".join(f"{times[when] / 1e3:.3f}" for when in ("before_ms", "after_ms"))
        faster = " | ".join(f"{span[name][cores]['projected_times_faster']:.1f}" for cores in ("4", "16"))
        rows.append(f"| {label} | {seconds} | {times['times_faster']:.2f} | {work} | {faster} |")
    return rows


def ids() -> list[str]:
    rows = []
    for kind, label in IDS.items():
        runs = result("stream.json")["ids"][kind]
        cells = {name: f"{run['processor_seconds']:.1f}" for name, run in runs.items() if isinstance(run, dict)}
        cells["stream"] += f" ({runs['stream']['m_rows_per_s']:.1f} M/s)"
        order = ("scan_in_order", "scan_and_hash", "stream", "in_memory")
        rows.append(f"| {label} | {' | '.join(cells[name] for name in order)} |")
    return rows


def workers() -> list[str]:
    rows = []
    for name, label in RUNS.items():
        run = result("cluster.json")["runs"][f"er2M:{name}"]
        moved = f"{run['mb_moved']} MB" if "mb_moved" in run else "–"
        rows.append(f"| {label} | {run['seconds']:.1f} | {run['cpu_seconds']:.1f} | {moved} | {run['peak_mb']:,} MB |")
    return rows


def large() -> list[str]:
    small, grid = (result("cluster_large.json")[name] for name in ("20M", "60M"))
    rows = []
    for name, label in {
        "shuffle": "`shuffle`",
        "spilled_stream": "`dfmst.stream`, rows on disk",
        "in_memory": "in memory, one process",
    }.items():
        cells = [
            cell
            for run in (small[name], grid[name])
            for cell in (f"{run['cpu_seconds']:.1f}", f"{run['peak_mb']:,} MB" if "peak_mb" in run else "–")
        ]
        rows.append(f"| {label} | {' | '.join(cells)} |")
    return rows


@pytest.mark.parametrize(
    ("page", "table"),
    [
        ("docs/benchmarks/index.md", threads),
        ("docs/guides/larger-than-memory.md", ids),
        ("docs/guides/clusters.md", workers),
        ("docs/guides/clusters.md", large),
    ],
    ids=lambda value: getattr(value, "__name__", None),
)
def test_a_table_is_the_results(page, table):
    lines = "\n".join(table())
    assert lines in (ROOT / page).read_text(encoding="utf-8"), lines
