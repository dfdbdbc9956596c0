"""What ``dfmst forest`` tells of a run: as JSON, in a sentence, or as lines on a terminal."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from dfmst.cli.aligned import aligned
from dfmst.cli.console import Stopwatch, figure, note, on_terminal, plural, print_json
from dfmst.cli.job import ForestJob

if TYPE_CHECKING:
    from dfmst.forest import Forest

__all__ = ["summary_of", "tell"]


def summary_of(job: ForestJob, solution: Forest, watch: Stopwatch) -> dict[str, Any]:
    """What there is to tell of a run, as ``--json`` prints it."""
    return {
        "kind": job.kind,
        "input": [str(path) for path in job.inputs],
        "output": None if job.output is None else str(job.output),
        "input_rows": solution.source_rows,
        "dropped_rows": solution.dropped,
        "rows": solution.rows,
        "vertices": solution.vertices,
        "components": solution.components,
        "total_weight": solution.total_weight,
        "verified": True if job.verify else None,
        "algorithm": solution.algorithm,
        "engine": solution.engine,
        "threads": solution.threads,
        "seconds": watch.seconds(),
    }


def tell(job: ForestJob, target: Path | None, summary: dict[str, Any]) -> None:
    """Tell of a run: JSON where that is asked for, else lines for a person and a sentence for a log."""
    if job.json:
        print_json(summary)
    elif on_terminal():
        note("\n".join(_table(job, target, summary)))
    else:
        note(_sentence(job, target, summary))


def _sentence(job: ForestJob, target: Path | None, summary: dict[str, Any]) -> str:
    parts = [f"{job.kind}: {summary['rows']:,} of {plural(summary['input_rows'], 'row')}"]
    if summary["dropped_rows"]:
        parts.append(f"{plural(summary['dropped_rows'], 'invalid row')} dropped")
    if summary["total_weight"] is not None:
        parts.append(f"total weight {figure(summary['total_weight'])}")
    parts.append(f"{plural(summary['components'], 'component')} of {plural(summary['vertices'], 'vertex')}")
    if job.verify:
        parts.append("verified")
    parts.append(f"{summary['seconds']['total']:.2f} s")
    return ", ".join(parts) + ("" if target is None else f" -> {target}")


def _table(job: ForestJob, target: Path | None, summary: dict[str, Any]) -> list[str]:
    """What a person reads on a terminal: the same figures, one below the other."""
    inputs = str(job.inputs[0]) if len(job.inputs) == 1 else plural(len(job.inputs), "file")
    rows = [("rows", f"{summary['rows']:,}", f"of {summary['input_rows']:,}")]
    if summary["dropped_rows"]:
        rows.append(("dropped", f"{summary['dropped_rows']:,}", "invalid rows"))
    if summary["total_weight"] is not None:
        rows.append((str(job.weight), figure(summary["total_weight"]), "in all"))
    rows.append(("trees", f"{summary['components']:,}", f"of {plural(summary['vertices'], 'vertex')}"))
    if job.verify:
        rows.append(("verified", "yes", "every row that was left out is the last of a cycle"))
    rows.append(("time", f"{summary['seconds']['total']:.2f}", "s"))
    title = f"{job.kind}: {inputs}" + ("" if target is None else f" -> {target}")
    return [title, *(f"  {line}" for line in aligned(rows, right=(1,)))]
