"""The job of ``dfmst forest`` and ``dfmst report``: its options, its summary and its page."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from dfmst.cli.console import Progress, Stopwatch, aligned, figure, note, on_terminal, plural, print_json
from dfmst.cli.inputs import check_inputs, read_inputs, read_text_table, text_delimiter
from dfmst.cli.outputs import check_output

if TYPE_CHECKING:
    from dfmst import Report


@dataclass(frozen=True, slots=True)
class ForestJob:
    """Options of the command line."""

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
        """Raise if an option excludes ``--by``, ``--keep`` and ``--drop``."""
        for name, value in self.conditions.items():
            if value is not None:
                raise click.UsageError(f"--{name} needs the rows in memory; leave {option} out.")

    @property
    def kind(self) -> str:
        """Name of the kind of forest."""
        if self.weight is None:
            return "spanning forest"
        return "maximum spanning forest" if self.maximum else "minimum spanning forest"


def weight_name(weight: str | None, unweighted: bool, maximum: bool = False) -> str | None:
    """Return the weight column's name, or ``None`` if all weights are equal."""
    if not unweighted:
        return "weight" if weight is None else weight
    for option, present in (("--weight", weight is not None), ("--maximum", maximum)):
        if present:
            raise click.UsageError(f"--unweighted and {option} cannot be combined.")
    return None


if TYPE_CHECKING:
    pass


def summary_of(job: ForestJob, forest: Any, watch: Stopwatch) -> dict[str, Any]:
    """Return the facts of a run as ``--json`` prints them; `forest` is one in memory or of a stream."""
    return {
        "kind": job.kind,
        "input": [str(path) for path in job.inputs],
        "output": None if job.output is None else str(job.output),
        "input_rows": forest.source_rows,
        "dropped_rows": forest.dropped,
        "rows": forest.rows,
        "vertices": forest.vertices,
        "components": forest.components,
        "total_weight": forest.total_weight,
        "verified": True if job.verify else None,
        "algorithm": getattr(forest, "algorithm", job.algorithm),
        "engine": forest.engine,
        "threads": forest.threads,
        "seconds": watch.seconds(),
    }


def print_summary(job: ForestJob, target: Path | None, summary: dict[str, Any]) -> None:
    """Print a run's facts: as JSON if requested, else as a table on a terminal or a sentence in a log."""
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
    """Return the figures as lines for a terminal."""
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


def check_page(page: Path, inputs: tuple[Path, ...]) -> None:
    """Raise before any file is read if the page cannot be written."""
    if str(page) != "-":
        check_output(page, "csv", inputs)  # the rules of any file; the format has no part in them


def check_report(job: ForestJob, target: Path | None, streamed: bool) -> None:
    """Raise before any file is read if the report cannot be made."""
    if job.report is None:
        for option, value in (("--points", job.points), ("--id", job.id), ("--coordinates", job.coordinates)):
            if value:
                raise click.UsageError(f"{option} is for the picture of a report: name its page with --report.")
        return
    if job.by:
        raise click.UsageError("--report is of one forest, and --by makes one of every group.")
    if streamed and target is None:
        raise click.UsageError("--report of a stream reads the forest from its file: name it with -o.")
    check_page(job.report, job.inputs)
    if str(job.report) == "-" or (target is not None and target.resolve() == job.report.resolve()):
        raise click.UsageError("--report names the file of the page, another one than -o.")


def read_points(job: ForestJob, progress: Progress) -> Any:
    """Read the table of coordinates that ``--points`` names, if any."""
    if job.points is None:
        return None
    delimiter = text_delimiter(job.points)
    if delimiter is None:
        return read_inputs((job.points,), None, progress, {"--id": job.id})
    check_inputs((job.points,))
    return read_text_table(job.points, delimiter, job.id or 0)  # text is compared in the type of the edges' ids


def make_report(
    job: ForestJob, forest: Any, summary: Mapping[str, Any], points: Any = None, title: str | None = None
) -> Report:
    """Draw the page of a solution, or of a forest's rows that another run has found."""
    import dfmst

    more = "" if len(job.inputs) == 1 else f" and {plural(len(job.inputs) - 1, 'file')} more"
    inputs = " ".join(str(path) for path in job.inputs)
    return dfmst.report(
        forest,
        job.source,
        job.target,
        job.weight,
        maximum=job.maximum,
        points=points,
        id=job.id,
        coordinates=job.coordinates or None,
        title=title or f"{job.inputs[0].name}{more}",
        note=f"Made by dfmst {dfmst.__version__} from {inputs}",
        run=summary,
    )


def write_report(job: ForestJob, forest: Any, summary: Mapping[str, Any], progress: Progress) -> None:
    """Write the page that ``--report`` asks for."""
    if job.report is None:
        return
    progress.show("drawing the report")
    if isinstance(forest, Path):
        forest = read_inputs((forest,), None, progress, {})
    make_report(job, forest, summary, read_points(job, progress)).save(job.report)
    progress.note(f"report -> {job.report}")
