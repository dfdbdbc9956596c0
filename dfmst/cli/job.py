"""What ``dfmst forest`` was called with."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from dfmst.cli.console import Stopwatch, aligned, figure, note, on_terminal, plural, print_json


@dataclass(frozen=True, slots=True)
class ForestJob:
    """What the command line asks for."""

    inputs: tuple[Path, ...]
    output: Path | None
    to: str | None
    format: str | None
    source: str
    target: str
    weight: str | None
    maximum: bool
    algorithm: str
    engine: str
    threads: int | None
    invalid: Any
    verify: bool
    trace: Path | None
    json: bool
    memory_limit: str | None = None
    checkpoint: Path | None = None
    spill_dir: Path | None = None
    by: tuple[str, ...] = ()
    keep: str | None = None
    drop: str | None = None
    report: Path | None = None
    points: Path | None = None
    id: str | None = None
    coordinates: tuple[str, str] | None = None

    @property
    def conditions(self) -> dict[str, Any]:
        """Groups, and columns of rows to keep or to drop."""
        return {"by": list(self.by) or None, "keep": self.keep, "drop": self.drop}

    def require_memory(self, option: str) -> None:
        """Raise where an option does not go with conditions."""
        for name, value in self.conditions.items():
            if value is not None:
                raise click.UsageError(f"--{name} needs the rows in memory; leave {option} out.")

    @property
    def kind(self) -> str:
        """What the forest is called."""
        if self.weight is None:
            return "spanning forest"
        return "maximum spanning forest" if self.maximum else "minimum spanning forest"


def weight_name(weight: str | None, unweighted: bool, maximum: bool = False) -> str | None:
    """Return the weight column's name, or ``None`` where all weights are equal."""
    if not unweighted:
        return "weight" if weight is None else weight
    for option, present in (("--weight", weight is not None), ("--maximum", maximum)):
        if present:
            raise click.UsageError(f"--unweighted and {option} cannot be combined.")
    return None


if TYPE_CHECKING:
    from dfmst.forest import Forest


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
