"""The table of plans in docs/guides/clusters.md is what `dfmst.plan` says."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import dfmst

PAGE = Path(__file__).resolve().parents[2] / "docs" / "guides" / "clusters.md"
GRAPH: dict[str, Any] = {"vertices": 1_700_000_000, "edges": 64_000_000_000, "partitions": 8000}
MACHINES: dict[str, dict[str, Any]] = {
    "8 GPUs of 141 GB": {"gpus": 8, "gpu_memory": "141GB"},
    "8 nodes of 256 GiB (275 GB)": {"workers": 8, "memory": "256GiB"},
    "8 nodes of 384 GiB (412 GB)": {"workers": 8, "memory": "384GiB"},
}


def peak(plan: dfmst.Plan) -> str:
    memory = f"{plan.peak_memory / 1e9:.0f} GB"
    if plan.gpu_memory:
        memory = f"{plan.peak_gpu_memory / 1e9:.0f} GB of the GPU, {memory} of its host"
    return f"{memory}: {'fits' if plan.fits else 'does not fit'}"


def table() -> list[str]:
    def row(name: str, strategy: str, cell: Any) -> str:
        plans = [dfmst.plan(**GRAPH, **machine, strategy=strategy) for machine in MACHINES.values()]
        return f"| {name} | {' | '.join(map(cell, plans))} |"

    rows = [f"| | {' | '.join(MACHINES)} |", "|---" * (1 + len(MACHINES)) + "|"]
    rows.append(row("`auto` takes", "auto", lambda plan: f"`{plan.strategy}`{' in slices' if plan.rounds else ''}"))
    for strategy in ("two-pass", "merge", "shuffle"):
        rows.append(row(f"`{strategy}`, bytes read", strategy, lambda plan: f"{plan.reads} × 1.5 TB"))
        rows.append(row("moved", strategy, lambda plan: f"{plan.bytes_moved / 1e12:.2f} TB"))
        rows.append(row("peak of a worker", strategy, peak))
    return rows


def test_the_table_of_the_largest_graph():
    assert round(24 * GRAPH["edges"] / 1e12, 1) == 1.5
    text = PAGE.read_text(encoding="utf-8")
    assert "\n".join(table()) in text, "\n".join(table())
