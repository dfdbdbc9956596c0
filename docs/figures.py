"""Write the tables of figures in README and guides from the result files: ``python docs/figures.py``.

A page marks the place of a table: ``<!-- figures: NAME -->`` … ``<!-- end of figures -->``.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
PLACE = re.compile(r"(<!-- figures: (\w+) -->\n).*?(<!-- end of figures -->)", re.DOTALL)
GRAPHS = {
    **{name: name for name in ("road1M", "rmat20", "er1M", "dense10k", "euclid4k")},
    "grid4M": "grid4M (5.6 M rows)",
    "usa_road_d_ny": "New York (733,846 rows)",
}


def result(name: str) -> Any:
    """Read a file of results."""
    return json.loads((ROOT / "bench" / "results" / "cpu" / f"{name}.json").read_text(encoding="utf-8"))


def table(head: Iterable[str], rows: Iterable[Iterable[str]]) -> str:
    """Return cells as a Markdown table."""
    names = list(head)
    return "".join(f"| {' | '.join(row)} |\n" for row in (names, ["---"] * len(names), *rows))


def milliseconds(time: float) -> str:
    """Show a time with two digits or as a whole number."""
    return f"{time:,.0f}" if time >= 10 else f"{time:.2g}"


def headline() -> str:
    """One figure, at the top of the README."""
    graph = result("peers")["graphs"]["er1M"]
    own, other = (graph["median_seconds"][peer] for peer in ("dfmst", "scipy"))
    return (
        f"The forest of {graph['edges'] / 1e6:.0f} million random rows takes {own:.1f} s on two cores,\n"
        f"[{other / own:.0f} times less](#how-fast) than with SciPy.\n"
    )


def peers() -> str:
    """Seconds of a call with a pandas frame."""
    names = ("dfmst", "dfmst, 1 thread", "scipy", "rustworkx", "networkit", "igraph")
    libraries = ("dfmst", "1 thread", "SciPy", "rustworkx", "networkit", "igraph")
    rows = []
    for name, graph in result("peers")["graphs"].items():
        seconds = [f"{graph['median_seconds'][peer]:.3f}" for peer in names]
        times = f"{graph['times_faster_than_best_peer']:.1f}"
        rows.append([name, times, *seconds])
    return table(("graph", "times faster", *libraries), rows)


def others() -> str:
    """Seconds of functions that are not the forest."""
    titles = {"scipy": "SciPy", "sklearn": "scikit-learn"}
    rows = []
    for name, measured in result("others").items():
        if name != "machine":
            seconds = dict(measured["seconds"])
            own = seconds.pop("dfmst")
            best = min(seconds, key=lambda peer: seconds[peer])
            peers = ", ".join(f"{titles.get(peer, peer)} {taken:.3f}" for peer, taken in seconds.items())
            rows.append([name, f"{seconds[best] / own:.1f}", f"{own:.3f}", peers])
    return table(("function", "times faster", "dfmst", "others"), rows)


def arrays() -> str:
    """Seconds of a call with arrays."""
    rows = []
    for name, graph in result("solver")["graphs"].items():
        times = graph["uint32 weights"]
        seconds = [f"{times['median_seconds'][run]:.3f}" for run in ("dfmst", "dfmst, 1 thread", "scipy")]
        rows.append([GRAPHS.get(name, name), f"{times['times_faster_than_scipy']:.0f}", *seconds])
    return table(("graph", "times faster", "dfmst", "1 thread", "SciPy"), rows)


def threads() -> str:
    """Gain of blocks with locality, and projected speed on more threads."""
    before, span = result("before")["graphs"], result("span")["graphs"]
    rows = []
    for name, label in GRAPHS.items():
        times = next(times for graph, times in before.items() if Path(graph).stem == name)
        seconds = [f"{times[when] / 1e3:.3f}" for when in ("before_ms", "after_ms")]
        work = [f"{times['times_faster']:.2f}", f"{times['after_cpu_ms'] / times['before_cpu_ms']:.2f}"]
        serial = f"{100 * span[name]['4']['serial_share']:.0f} %"
        faster = [f"{span[name][cores]['projected_times_faster']:.1f}" for cores in ("4", "16")]
        rows.append([label, *seconds, *work, serial, *faster])
    return table(("graph", "before", "after", "times faster", "CPU", "serial on 4", "on 4", "on 16"), rows)


def ids() -> str:
    """CPU-seconds of streams by the kind of their ids."""
    order = ("scan_in_order", "scan_and_hash", "stream", "in_memory")
    rows = []
    for kind, label in {"dense": "numbered from 0", "sparse": "64-bit hashes", "text": "text"}.items():
        runs = result("stream")["ids"][kind]
        cells = {name: f"{runs[name]['processor_seconds']:.1f}" for name in order}
        cells["stream"] += f" ({runs['stream']['m_rows_per_s']:.1f} M/s)"
        rows.append([label, *(cells[name] for name in order)])
    return table(("ids", "bare scan", "scan that hashes the ids", "stream", "in memory"), rows)


def workers() -> str:
    """Runs of 96 M rows on a cluster of two workers, and in one process."""
    labels = {
        "merge": "`merge`, two workers",
        "stream": "`dfmst.stream`, one process, limit 800 MiB",
        "in_memory": "in memory, one process",
        "scipy": "SciPy (adds parallel rows up, 1 in 40,000 here)",
    }
    rows = []
    for name, label in labels.items():
        run = result("cluster")["runs"][f"er2M:{name}"]
        moved = f"{run['mb_moved']} MB" if "mb_moved" in run else "–"
        rows.append([label, f"{run['seconds']:.1f}", f"{run['cpu_seconds']:.1f}", moved, f"{run['peak_mb']:,} MB"])
    return table(("run", "seconds", "CPU-seconds in all", "moved", "peak memory of a process"), rows)


def large() -> str:
    """Forests that do not fit one worker."""
    labels = {
        "shuffle": "`shuffle`",
        "spilled_stream": "`dfmst.stream`, rows on disk",
        "in_memory": "in memory, one process",
    }
    graphs = [result("cluster_large")[name] for name in ("20M", "60M")]
    rows = []
    for name, label in labels.items():
        cells = [label]
        for run in (graph[name] for graph in graphs):
            cells += [f"{run['cpu_seconds']:.1f}", f"{run['peak_mb']:,} MB" if "peak_mb" in run else "–"]
        rows.append(cells)
    return table(("run", "20 M: CPU-seconds", "peak", "60 M: CPU-seconds", "peak"), rows)


def kills() -> str:
    """Share of the work that was not repeated after a kill in the second half."""
    labels = {
        "stream:dense": "stream, ids numbered from 0",
        "stream:sparse": "stream, 64-bit hashes",
        "stream:text": "stream, text",
        "merge": "cluster, `merge`",
        "shuffle": "cluster, `shuffle`",
    }
    runs = result("kills")
    head = ("run", "rows", "kills", "least share of finished work not repeated")
    rows = []
    for name, label in labels.items():
        run = runs[name]
        least = f"{100 * run['least_kept_of_late_kills']:.0f} %"
        rows.append([label, f"{run['rows']:,}", str(len(run["kills"])), least])
    return table(head, rows)


def small_workers() -> str:
    """Planned and measured memory and traffic of small workers."""
    run = result("small_workers")
    measures = {"peak_mb": "peak memory of a worker, MB", "mb_moved": "moved between workers, MB"}
    rows = [
        [label, *(f"{run[when][name]:.1f}" for when in ("planned", "measured"))] for name, label in measures.items()
    ]
    return table(("", "planned", "measured"), rows)


def largest() -> str:
    """Plans for the hyperlink graph of 2014."""
    import dfmst

    graph: dict[str, Any] = {"n_vertices": 1_700_000_000, "n_edges": 64_000_000_000, "partitions": 8000}
    machines: dict[str, dict[str, Any]] = {
        "8 GPUs of 141 GB": {"gpus": 8, "gpu_memory_limit": "141GB"},
        "8 nodes of 256 GiB (275 GB)": {"workers": 8, "memory_limit": "256GiB"},
        "8 nodes of 384 GiB (412 GB)": {"workers": 8, "memory_limit": "384GiB"},
    }

    def peak(plan: dfmst.Plan) -> str:
        memory = f"{plan.peak_memory / 1e9:.0f} GB"
        if plan.gpu_memory_limit:
            memory = f"{plan.peak_gpu_memory / 1e9:.0f} GB of the GPU, {memory} of its host"
        return f"{memory}: {'fits' if plan.fits else 'does not fit'}"

    def disk(plan: dfmst.Plan) -> str:
        return f"{plan.peak_disk / 1e12:.2f} TB, {plan.bytes_on_disk / 1e12:.2f} TB" if plan.peak_disk else "–"

    def hours(plan: dfmst.Plan) -> str:
        return f"{plan.cpu_seconds / 3600:.0f} h" if plan.cpu_seconds else "–"

    def row(name: str, strategy: str, cell: Any) -> Iterator[str]:
        yield name
        for machine in machines.values():
            yield cell(dfmst.plan(**graph, **machine, strategy=strategy))

    rows = [row("`auto` takes", "auto", lambda plan: f"`{plan.strategy}`{' in slices' if plan.rounds else ''}")]
    for strategy in ("merge", "shuffle"):
        rows.append(row(f"`{strategy}`, bytes read", strategy, lambda plan: f"{plan.reads} × 1.5 TB"))
        rows.append(row("moved", strategy, lambda plan: f"{plan.bytes_moved / 1e12:.2f} TB"))
        rows.append(row("peak of a worker", strategy, peak))
        rows.append(row("on disk of a worker, in all", strategy, disk))
        rows.append(row("CPU time of all workers", strategy, hours))
    return table(["", *machines], rows)


def networkx() -> str:
    """Times of NetworkX's functions, its backend, and frames."""
    columns = (
        ("minimum_spanning_edges", "networkx", "cold", "cached"),
        ("minimum_spanning_tree", "networkx", "cold", "cached"),
        ("frame to edges", "networkx", "frame"),
    )
    head = [
        "edges",
        "`minimum_spanning_edges`: NetworkX",
        "cold",
        "cached",
        "`minimum_spanning_tree`: NetworkX",
        "cold",
    ]
    head += ["cached", "frame: NetworkX", "backend"]
    rows = []
    for edges, measured in result("networkx")["milliseconds"].items():
        taken = [measured[name][run] for name, *runs in columns for run in runs]
        rows.append([f"{int(edges):,}", *map(milliseconds, taken)])
    return table(head, rows)


def points() -> str:
    """CPU-seconds of spanning trees of points."""
    rows = []
    for name, runs in result("points").items():
        if name != "machine":
            cells = (
                runs.get(peer, {}) for peer in ("dfmst", "quitefastmst", "fast_hdbscan", "scikit-learn", "Delaunay")
            )
            rows.append([name, *(_stopped(run) for run in cells)])
    return table(("", "dfmst", "quitefastmst", "fast_hdbscan", "scikit-learn", "Delaunay and dfmst"), rows)


def density() -> str:
    """Settings of HDBSCAN in which programs agree."""
    measured = result("density")
    settings, agree, ordered = measured["settings"], measured["agree"], measured["same_in_every_order"]
    rows = [
        [name, f"{agree[f'dfmst and {name}']} of {settings}", f"{ordered[name]} of {settings}"]
        for name in ("the paper", "hdbscan", "scikit-learn")
    ]
    rows.insert(0, ["dfmst", "", f"{ordered['dfmst']} of {settings}"])
    return table(("with core distances", "labels of dfmst", "the same labels in six orders of the rows"), rows)


def _stopped(run: dict[str, float]) -> str:
    if "stopped_after_cpu" in run:
        return f"stopped at {run['stopped_after_cpu']:.0f}"
    return f"{run['cpu']:.1f}" if run else "–"


def instead() -> str:
    """CPU-seconds and peaks next to DuckDB and libraries in memory."""
    libraries = ("dfmst", "DuckDB", "polars + SciPy", "polars + networkit")
    rows = []
    for size, questions in result("instead").items():
        if not size.endswith(" rows"):
            continue
        millions = f"{int(size.split()[0]) / 1e6:.0f} M rows"
        for question, kinds in questions.items():
            for kind, runs in kinds.items():
                cells = [_instead(runs[library]) if library in runs else "" for library in libraries]
                rows.append([question if "records" in kind else f"{question} of {millions}", kind, *cells])
    return table(("result", "input", *libraries), rows)


def _instead(run: dict[str, Any]) -> str:
    return run["ended"] if "ended" in run else f"{run['cpu_seconds']:,.0f} s, {run['peak_mib'] / 1024:.1f} GiB"


def layers() -> str:
    """CPU time of columns of layers, as a multiple of the forest's."""
    names = ("in_forest", "2 layers", "3 layers", "5 layers")
    rows = []
    for graph, times in result("moves")["marks"].items():
        shares = (times["times the forest"][name] for name in names)
        rows.append([graph, f"{times['forest']:.3f}", *(f"{share:.2f}" for share in shares)])
    return table(("graph", "forest, CPU-seconds", *names), rows)


def windows() -> str:
    """CPU-seconds of 30 windows."""
    rows = []
    for name, times in result("moves")["series"].items():
        seconds = [f"{times[run]:.2f}" for run in ("30 forests", "anew", "folded", "windows")]
        rows.append([name, f"{times['rows of a window']:,}", *seconds, f"{times['share']:.2f}"])
    head = ("window", "its rows", "30 forests", "solved anew", "folded", "`windows`", "share of 30 forests")
    return table(head, rows)


def dataframe() -> str:
    """CPU nanoseconds a row of Borůvka in dataframe steps."""
    names = ("kernels (pandas)", "pandas", "polars", "pyarrow", "duckdb", "dask")
    rows = [
        [f"{int(count):,}", *(f"{engines[name]['cpu_ns_a_row']:,}" for name in names)]
        for count, engines in result("dataframe")["engines"].items()
    ]
    return table(("rows", "kernels", "pandas", "polars", "pyarrow", "DuckDB", "Dask"), rows)


def forms() -> str:
    """CPU-seconds of the three forms of dataframe steps."""
    measured = result("dataframe")["forms"]
    titles = {"polars": "polars", "duckdb": "DuckDB", "dask": "Dask"}
    rows = [
        [graph, titles[engine], *(f"{seconds[form]:.2f}" for form in ("boruvka", "mastiff", "bsp"))]
        for graph, engines in measured.items()
        if graph != "rows"
        for engine, seconds in engines.items()
    ]
    return table(("graph", "engine", "Borůvka", "Mastiff", "BSP"), rows)


#: Name of a table, and the function that makes it.
TABLES = {
    make.__name__: make
    for make in (
        headline,
        peers,
        others,
        arrays,
        threads,
        ids,
        workers,
        large,
        kills,
        small_workers,
        largest,
        networkx,
        points,
        density,
        dataframe,
        layers,
        windows,
        forms,
        instead,
    )
}


def filled(text: str) -> str:
    """Return a page with its tables of figures replaced."""
    return PLACE.sub(lambda place: f"{place[1]}{TABLES[place[2]]()}{place[3]}", text)


def pages() -> list[Path]:
    """List the pages with a table of figures."""
    return [
        page
        for page in (ROOT / "README.md", *sorted((ROOT / "docs").glob("**/*.md")))
        if PLACE.search(page.read_text("utf-8"))
    ]


if __name__ == "__main__":
    for page in pages():
        page.write_text(filled(page.read_text(encoding="utf-8")), encoding="utf-8")
