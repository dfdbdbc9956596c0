"""A plan beside what happened, for the page of a stream or of a cluster."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from dfmst.cli.job import ForestJob


def beside_plan(
    job: ForestJob,
    strategy: tuple[str, str],
    rows: tuple[int, int],
    *,
    workers: int = 1,
    memory: int = 1 << 60,
    vertices: int | None = None,
    moved: int | None = None,
    peak: int | None = None,
) -> list[tuple[str, str, str]]:
    """Return what was planned for a run and what happened, as words: (what, planned, happened)."""
    import dfmst

    asked: dict[str, Any] = {"source": job.source, "target": job.target, "strategy": strategy[1]}
    plan = dfmst.plan(files=job.inputs, **asked, workers=workers, memory=memory)
    at_most = [("vertices", plan.vertices, vertices), ("rows of the forest", max(0, plan.vertices - 1), rows[1])]
    told = [("strategy", *strategy), ("rows read", f"{plan.edges:,}", f"{rows[0]:,}")]
    told += [(name, f"{most:,} at most", f"{count:,}") for name, most, count in at_most if count is not None]
    if moved is not None:
        told.append(("bytes between workers", _bytes(plan.bytes_moved), _bytes(moved)))
    if peak is not None:
        told.append(("peak memory of a process", _bytes(plan.peak_memory), _bytes(peak)))
    return told


def _bytes(count: int) -> str:
    return f"{count / 1e6:,.1f} MB"
