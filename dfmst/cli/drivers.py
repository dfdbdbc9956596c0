"""How a forest is found, in memory, as a stream or on a cluster, and delivered; labels of a stream's vertices."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from contextlib import closing
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

import dfmst
from dfmst.cli.console import Progress, counted, standard_output
from dfmst.cli.job import (
    Columns,
    CommandRun,
    Job,
    Summary,
    check_inputs,
    lines_for,
    named_after,
    write_rows,
)
from dfmst.errors import CapacityError, DfmstError, FormatError

if TYPE_CHECKING:
    import pyarrow as pa

    from dfmst.forest import Forest

Found = TypeVar("Found")


def finder_of(job: Job) -> Callable[[Job, CommandRun], Forest]:
    """Choose the driver of a forest: the function that finds it."""
    if cluster_option(job) is not None:
        return _find_on_cluster
    lines = lines_for(job)
    batches = in_batches(job, forest_columns(job), in_memory="--trace" if job.trace else None, lines=lines)
    return find_in_memory if batches is None else partial(_find_as_stream, batches)


def cluster_option(job: Job) -> str | None:
    """Return the option that asks for a cluster, if any."""
    asked = {"--scheduler": job.scheduler, "--workers": job.workers, "--gpus": job.gpus or None}
    return next((name for name, value in asked.items() if value is not None), None)


def forest_columns(job: Job) -> dict[str, Any]:
    """Return the columns that a forest and its picture need, by the argument that names them."""
    columns = job.edge_columns("by", "keep", "drop")
    drawn = [*(job.coordinates or () if job.points is None else ()), *filter(None, [job.color])]
    ordered = [name for each in drawn for name in (each, f"{job.source}_{each}", f"{job.target}_{each}")]
    return columns | {"ordered": ordered}


@dataclass(frozen=True, slots=True)
class Batches:
    """Files that are read in batches, within a limit of memory; `reason` says why if nobody asked for it."""

    inputs: Sequence[Path]
    edges: Any
    limit: int  # bytes
    reason: str = ""

    def run(
        self,
        function: Callable[..., Found],
        job: Job,
        run: CommandRun,
        in_memory: Callable[[], Found] | None = None,
        **options: Any,
    ) -> Found:
        """Call a function of streams with the options of a job, and others, and the limit.

        If nobody asked for the limit, a quarter of the memory, and it is too little, the limit is three quarters.
        """
        if self.reason:
            run.progress.note(self.reason)
        chosen = {**job.arguments(function), "progress": run.progress.bar(), **options}
        chosen.pop("edges", None)
        try:
            return function(self.edges, **{**chosen, "memory_limit": self.limit})
        except CapacityError as error:
            if not self.reason or error.__cause__ is not None:  # a fault of the machine, not of the limit
                raise
            fits = in_memory is not None and dfmst.stream.fits(self.inputs, 3 * self.limit)
            run.progress.note(f"{error.message}: trying {'all rows in memory' if fits else 'three times as much'}")
        if in_memory is not None and fits:
            return in_memory()
        return function(self.edges, **{**chosen, "memory_limit": 3 * self.limit})


@dataclass(frozen=True, slots=True)
class _Reader:
    """Reads files that are not Parquet in batches; errors name the first."""

    job: Job
    columns: Columns
    lines: str = ""

    @property
    def place(self) -> str:
        return str(self.job.inputs[0])

    def __call__(self) -> pa.RecordBatchReader:
        return self.job.open(self.columns, lines=self.lines)


_SMALL = 256 << 20  # bytes that a stream takes for itself
_COMPRESSED = (".gz", ".xz", ".zst", ".zstd", ".bz2")
_WHOLE = ("gml", "graphml", "json", "pajek")  # formats that are read whole


def in_batches(
    job: Job, columns: Columns | None = None, *, in_memory: str | None = None, lines: str = ""
) -> Batches | None:
    """Return how files are read in batches: with a checkpoint, or if they exceed a limit; ``None``: in memory.

    Only Parquet is read in batches without `columns`. `in_memory` is an option that needs all rows in memory.
    """
    from dfmst.formats import bytes_to_solve

    inputs, places = job.inputs, job.pick("gpu_memory_limit", "checkpoint", "spill_dir")
    asked, checkpoint = job.memory_limit != "auto" or any(places.values()), places.get("checkpoint")
    check_inputs(inputs)
    try:
        if not asked and (in_memory is not None or bytes_to_solve(inputs) <= _SMALL):
            return None
        limits = [memory_bytes(job, "memory_limit"), memory_bytes(job, "gpu_memory_limit")]
        other = _not_parquet(inputs, job.format)
        if other is not None and (checkpoint is not None or columns is None or other in _WHOLE):
            if not asked:
                return None
            only = "keeps a checkpoint" if checkpoint else "is read within a memory limit"
            hint = f"convert it: dfmst convert {inputs[0]} -o edges.parquet"
            raise DfmstError(f"{inputs[0]} is {other}: only Parquet {only} here", hint)
        if checkpoint is None and dfmst.stream.fits(inputs, min(limit for limit in limits if limit is not None)):
            return None
    except FormatError:
        if not asked:
            return None  # the reader names the line
        raise
    if in_memory is not None:
        raise click.UsageError(f"{in_memory} needs the rows in memory; leave --memory-limit and --checkpoint out.")
    edges = list(inputs) if other is None else _Reader(job, columns or {}, lines)
    much = f"{named_after(inputs)} takes more than a quarter of the free memory ({limits[0] / 2**20:,.0f} MiB)"
    return Batches(inputs, edges, limits[0], "" if asked else f"{much}: reading it in batches (--memory-limit auto)")


def _not_parquet(inputs: Sequence[Path], format: str | None) -> str | None:
    """Return the format of the first file that is not Parquet, if any."""
    from dfmst.formats import detect_format

    for path in inputs:
        name = "parquet" if path.is_dir() else format or detect_format(path)
        if name != "parquet":
            return name
        if path.suffix in _COMPRESSED:
            return f"compressed {name}"
    return None


def memory_bytes(job: Job, name: str, *, auto: bool = True) -> Any:
    """Return the bytes of a limit that an option names, if it is given."""
    text = job.pick(name).get(name)
    try:
        return None if text is None else dfmst.stream.parse_memory(text, auto=auto and name == "memory_limit")
    except ValueError as error:
        option = f"--{name.replace('_', '-')}"
        raise click.UsageError(f"{option} {text}: {str(error).rpartition('; ')[2]}.") from None


def find_in_memory(job: Job, run: CommandRun) -> Forest:
    """Find the forest of a cuDF frame if the engine is CUDA, the files are Parquet and cuDF is installed."""
    with run.step("read"):
        table = _read_on_device(job, run.progress) if job.engine == "cuda" else None
        if table is None:
            table = job.read(forest_columns(job), run.progress, lines_for(job))
    return dfmst.forest.solve(
        table,
        **job.arguments(dfmst.forest.solve),
        return_trace=job.trace is not None or job.report is not None,
        step=lambda name: run.show(name, len(table)),
    )


def _read_on_device(job: Job, progress: Progress) -> Any:
    """Read Parquet files of equal columns into one cuDF frame."""
    from dfmst.formats import detect_format

    check_inputs(job.inputs)
    for path in job.inputs:
        if path.is_dir() or (job.format or detect_format(path)) != "parquet":
            return None
    try:
        from dfmst.cudf import read_parquet
    except ImportError:
        return None
    job.open(forest_columns(job))
    progress.show(f"reading {counted(len(job.inputs), 'file')} onto the GPU")
    return read_parquet(job.inputs)


def _find_as_stream(batches: Batches, job: Job, run: CommandRun) -> Forest:
    run.reason, gpu_limit = batches.reason, memory_bytes(job, "gpu_memory_limit")
    options = {"gpu_memory_limit": gpu_limit, "on_checkpoint": run.show_checkpoint}
    with run.step("fold"):
        return batches.run(dfmst.stream.fold, job, run, partial(find_in_memory, job, run), **options)


def _find_on_cluster(job: Job, run: CommandRun) -> Forest:
    with run.step("import"):
        import dfmst.dask
    progress = run.progress
    with run.step("solve"), warnings.catch_warnings():
        warnings.simplefilter("default", UserWarning)  # each once
        warnings.showwarning = lambda message, *_: progress.note(str(message))
        find: Any = dfmst.dask.forest_of_files
        limits = {"memory_limit": None, "gpu_memory_limit": memory_bytes(job, "gpu_memory_limit")}
        shown = {"progress": progress.bar() or progress.show, "on_checkpoint": progress.note}
        found: Forest = find(**{**job.arguments(find), **limits, **shown})
        return found


def deliver_forest(job: Job, forest: Forest, output: Any, run: CommandRun) -> None:
    """Verify and write the forest, a stream's in one pass if both are requested; with no output, write nothing."""
    form = job.to or ("csv" if hasattr(output, "write") else None)
    in_one_pass = forest.driver == "stream" and job.verify and output is not None
    if job.verify:
        with run.show("verify", forest.source_rows):
            bar = run.progress.bar()
            certificate = forest.write_verified(output, form, bar) if in_one_pass else forest.verify(bar)
        if certificate.first_violation is not None:
            raise RuntimeError(f"the forest is wrong, which is a fault of dfmst: {certificate.first_violation.message}")
    if forest.driver == "memory":
        with run.show("gather", forest.source_rows):  # these are computed at the first access
            _ = forest.frame, forest.total_weight, forest.vertices
    if output is None:
        forest.discard_checkpoint()
    elif not in_one_pass:
        with run.show("write", forest.source_rows):
            forest.write(output, form)
    if job.trace:
        # cuDF does not write all formats
        trace: Any = forest.trace
        write_rows(trace if hasattr(trace, "num_rows") else trace.to_arrow(preserve_index=False), job.trace, None)


def summary_of(job: Job, forest: Forest, run: CommandRun) -> dict[str, Any]:
    """Return the facts of a run as ``--json`` prints them."""
    about: dict[str, Any] = {"input": [str(path) for path in job.inputs]}
    about |= {"output": None if job.output is None else str(job.output), "verified": True if job.verify else None}
    about |= {"note": run.reason} if run.reason and forest.driver == "stream" else {}
    if job.report is not None and forest.driver != "memory":
        about["plan"] = _plan_and_run(job, forest)
    return {**about, **forest.summary(), "seconds": run.seconds()}


def _plan_and_run(job: Job, forest: Forest) -> list[tuple[str, str, str]]:
    """Return rows of (quantity, planned, actual) as text."""
    asked, ran, workers, memory = job.strategy, forest.algorithm, job.workers or 1, 1 << 60
    if forest.driver == "stream":
        asked = ran = "stream" if job.spill_dir is None else "spill"
        memory = forest.memory_limit or memory
    named: dict[str, Any] = {"source": job.source, "target": job.target, "strategy": asked}
    plan = dfmst.plan(files=job.inputs, **named, workers=workers, memory_limit=memory)
    rows = [("strategy", asked, ran), ("rows read", f"{plan.n_edges:,}", f"{forest.source_rows:,}")]
    if forest.vertices is not None:
        rows.append(("vertices", f"{plan.n_vertices:,} at most", f"{forest.vertices:,}"))
    rows.append(("rows of the forest", f"{max(0, plan.n_vertices - 1):,} at most", f"{forest.rows:,}"))
    if forest.bytes_moved is not None:
        rows.append(("bytes between workers", _bytes(plan.bytes_moved), _bytes(forest.bytes_moved)))
    if forest.peak_memory is not None:
        rows.append(("peak memory of a process", _bytes(plan.peak_memory), _bytes(forest.peak_memory)))
    return rows


def _bytes(count: int) -> str:
    return f"{count / 1e6:,.1f} MB"


def label_in_batches(
    job: Job, function: str, summarize: Callable[[Any], Summary], batches: Batches, **options: Any
) -> None:
    """Label the vertices of files in batches, write the table, and print its figures."""
    with job.running() as run, run.explained():
        with run.step("fold"):
            fold = getattr(dfmst.stream, function)
            labels = batches.run(fold, job, run, on_checkpoint=run.show_checkpoint, **options)
        with closing(labels):
            run.progress.show("writing")
            with run.step("write"):
                if run.path or not job.json:
                    labels.write(run.path or standard_output(), job.to or (None if run.path else "csv"))
                else:
                    labels.discard_checkpoint()
            figures, run.text = summarize(labels)
        noted = {"note": batches.reason} if batches.reason else {}
        run.figures = {"input_rows": labels.source_rows, **noted, **figures}
