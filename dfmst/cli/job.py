"""The job of ``dfmst forest`` and ``dfmst report``: its options and their checks, its summary and its page."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from dfmst.cli.console import Progress, aligned, figure, note, on_terminal, plural, print_json, standard_output
from dfmst.cli.inputs import columns_by_option, read_inputs
from dfmst.cli.outputs import check_output

if TYPE_CHECKING:
    from dfmst.forest import Forest


@dataclass(frozen=True, slots=True, kw_only=True)
class ForestJob:
    """Options of the command line."""

    inputs: tuple[Path, ...]
    output: Path | None
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
    points: Path | None
    id: str | None
    coordinates: tuple[str, str] | None
    color: str | None = None
    to: str | None = None
    trace: Path | None = None
    json: bool = False
    memory_limit: str = "auto"
    gpu_memory_limit: str | None = None
    checkpoint: Path | None = None
    spill_dir: Path | None = None
    by: tuple[str, ...] = ()
    keep: str | None = None
    drop: str | None = None
    report: Path | None = None
    title: str | None = None
    workers: int | None = None
    scheduler: str | None = None
    strategy: str = "auto"
    gpus: bool = False

    @property
    def edges(self) -> dict[str, Any]:
        """Arguments of every driver: the columns, and how they are read."""
        columns = {"source": self.source, "target": self.target, "weight": self.weight}
        conditions = {"by": list(self.by) or None, "keep": self.keep, "drop": self.drop}
        return {**columns, **conditions, "maximum": self.maximum, "invalid": self.invalid}

    @property
    def solver(self) -> dict[str, Any]:
        """Arguments of the drivers of one machine."""
        return {"algorithm": self.algorithm, "engine": self.engine, "threads": self.threads}

    @property
    def cluster_option(self) -> str | None:
        """The option that asks for a cluster, if any."""
        asked = {"--scheduler": self.scheduler, "--workers": self.workers, "--gpus": self.gpus or None}
        return next((name for name, value in asked.items() if value is not None), None)

    def columns(self) -> dict[str, Any]:
        """Return the columns that the job needs, by the argument that names them."""
        columns = columns_by_option(self.source, self.target, self.weight)
        drawn = [*(self.coordinates or () if self.points is None else ()), *filter(None, [self.color])]
        ordered = [name for each in drawn for name in (each, f"{self.source}_{each}", f"{self.target}_{each}")]
        return columns | {"by": self.by, "keep": self.keep, "drop": self.drop, "ordered": ordered}

    def check_driver(self) -> None:
        """Raise if options exclude each other, or two of them name the same column."""
        self.columns()
        option = self.cluster_option
        if self.gpu_memory_limit is not None and option is None and self.engine != "cuda":
            raise click.UsageError("--gpu-memory-limit needs --engine cuda, or --gpus on a cluster.")
        if option is None:
            if self.strategy != "auto":
                raise click.UsageError("--strategy is for a cluster: give --workers, --scheduler or --gpus, too.")
            return
        if self.workers is not None and self.scheduler is not None:
            raise click.UsageError("--workers and --scheduler cannot be combined.")
        if self.output is None or str(self.output) == "-":
            raise click.UsageError(f"{option} needs a directory to write to: name it with -o.")
        for name in ("verify", "trace", "to", "format", "engine", "threads", "memory_limit", "spill_dir"):
            if getattr(self, name) not in (None, False, "auto"):
                instead = " Check what is written with dfmst verify." if name == "verify" else ""
                raise click.UsageError(f"{option} and --{name.replace('_', '-')} cannot be combined.{instead}")
        if self.gpu_memory_limit is not None and (not self.gpus or self.scheduler is not None):
            raise click.UsageError("--gpu-memory-limit needs --gpus, and no --scheduler.")

    def check_report(self, target: Path | None) -> None:
        """Raise before any file is read if the report cannot be made."""
        if self.report is None:
            for option in ("--points", "--id", "--coordinates", "--color"):
                if getattr(self, option[2:]):
                    raise click.UsageError(f"{option} is for the picture of a report: name its page with --report.")
            return
        if self.by:
            raise click.UsageError("--report is of one forest, and --by makes one of every group.")
        if str(self.report) != "-":
            check_output(self.report, "csv", self.inputs)  # the rules of any file; the format has no part in them
        if target is not None and (str(self.report) == "-" or target.resolve() == self.report.resolve()):
            raise click.UsageError("--report names the file of the page, another one than -o.")

    def read_points(self, progress: Progress) -> Any:
        """Read the table of coordinates that ``--points`` names, if any."""
        if self.points is None:
            return None
        ordered = [*(self.coordinates or ()), *filter(None, [self.color])]
        return read_inputs((self.points,), None, progress, {"ids": self.id, "ordered": ordered})


def weight_name(weight: str | None, unweighted: bool, maximum: bool = False) -> str | None:
    """Return the weight column's name, or ``None`` if all weights are equal."""
    if not unweighted:
        return "weight" if weight is None else weight
    if weight is not None or maximum:
        option = "--maximum" if weight is None else "--weight"
        raise click.UsageError(f"--unweighted and {option} cannot be combined.")
    return None


def write_report(job: ForestJob, page: Path, forest: Forest, points: Any, summary: dict[str, Any]) -> None:
    """Draw the page of a forest, and write it."""
    import dfmst

    title = named_after(job.inputs)
    drawn = forest.report(
        points=points,
        id=job.id,
        coordinates=job.coordinates or None,
        color=job.color,
        title=job.title or title,
        note=f"Made by dfmst {dfmst.__version__} from {title}",
        run=summary,
    )
    if str(page) == "-":
        standard_output().write(drawn.html.encode())  # the page says that it is UTF-8
    else:
        drawn.save(page)


def named_after(inputs: Sequence[Path]) -> str:
    """Name files on a page, without the directories of this machine."""
    more = "" if len(inputs) == 1 else f" and {plural(len(inputs) - 1, 'file')} more"
    return f"{inputs[0].name}{more}"


def print_summary(job: ForestJob, target: Path | None, summary: dict[str, Any]) -> None:
    """Print a run's facts: as JSON if requested, else as a table on a terminal or a sentence in a log."""
    if job.json:
        print_json(summary)
        return
    kind, written = summary["kind"], "" if target is None else f" -> {target}"
    facts = list(_facts(job, summary))
    if on_terminal():
        inputs = str(job.inputs[0]) if len(job.inputs) == 1 else plural(len(job.inputs), "file")
        note(f"{kind}: {inputs}{written}", *(f"  {line}" for line in aligned([row for row, _ in facts], right=(1,))))
    else:
        note(f"{kind}: {', '.join(words for _, words in facts)}{written}")


def _facts(job: ForestJob, summary: dict[str, Any]) -> Iterator[tuple[tuple[str, str, str], str]]:
    """Yield each fact as the row of a table, and as words of a sentence."""
    rows, trees, time = f"{summary['rows']:,}", summary["components"], f"{summary['seconds']['total']:.2f}"
    yield ("rows", rows, f"of {summary['input_rows']:,}"), f"{rows} of {plural(summary['input_rows'], 'row')}"
    if summary["files"] is not None:
        yield ("files", f"{summary['files']:,}", "Parquet"), plural(summary["files"], "file")
    if summary["dropped_rows"]:
        dropped = summary["dropped_rows"]
        yield ("dropped", f"{dropped:,}", "invalid rows"), f"{plural(dropped, 'invalid row')} dropped"
    if summary["total_weight"] is not None:
        total = figure(summary["total_weight"])
        yield (str(job.weight), total, "in all"), f"total weight {total}"
    if trees is not None:
        vertices = plural(summary["vertices"], "vertex")
        yield ("trees", f"{trees:,}", f"of {vertices}"), f"{plural(trees, 'component')} of {vertices}"
    if summary["verified"]:
        yield ("verified", "yes", "every other row is the last of a cycle"), "verified"
    yield ("time", time, "s"), f"{time} s"
