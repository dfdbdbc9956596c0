"""How a forest is found, in memory, as a stream or on a cluster, and delivered; labels of a stream's vertices."""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager, nullcontext
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

import dfmst
from dfmst.cli.console import Progress, Stopwatch, plural, print_run, standard_output
from dfmst.cli.inputs import Columns, check_inputs, load_libraries, open_inputs, read_inputs, read_on_device
from dfmst.cli.job import ForestJob, named_after, print_summary, write_report
from dfmst.cli.outputs import TableJob, check_output, output_path, rows_on_host, write_rows
from dfmst.errors import CapacityError, DfmstError, FormatError

if TYPE_CHECKING:
    import pyarrow as pa

    from dfmst.forest import Forest

Found = TypeVar("Found")

#: Step of a run -> its words in the progress line.
_STEPS = {
    "prepare": "preparing",
    "solve": "finding the forest of",
    "verify": "verifying the forest of",
    "gather": "gathering",
    "write": "writing the forest of",
}


def run(job: ForestJob, *, page_only: bool = False) -> None:
    """Find the forest, write it and its page, and print a summary; with `page_only`, write the page alone."""
    watch = _Watch(job.checkpoint, saved=job.cluster_option is not None)  # a cluster saves every finished task
    job.check_driver()
    target = _check_files(job, watch, page_only)
    job.check_report(target)
    find = _choose(job)
    with Progress() as progress:
        watch.progress = progress
        points = job.read_points(progress)
        explained = nullcontext() if find is _find_in_memory else watch.explained()
        with explained, closing(find(job, watch)) as forest:
            if forest.driver != "cluster":
                output = target or (None if page_only or job.json else standard_output())
                _deliver(job, forest, output, watch)
            summary = _summary(job, forest, watch)
            if job.report is not None:
                progress.show("drawing the report")
                write_report(job, job.report, forest, points, summary)
                if not page_only:
                    progress.note(f"report -> {job.report}")
    print_summary(job, job.report if page_only and str(job.report) != "-" else target, summary)


class _Watch(Stopwatch):
    """A stopwatch that shows the steps of a forest, and the events of its checkpoint."""

    progress: Progress
    reason = ""  # why rows are read in batches, if nobody asked for it

    def __init__(self, folder: Path | None, *, saved: bool = False) -> None:
        super().__init__()
        self._folder = folder
        self._saved = saved
        self._announced = False  # whether the directory was printed

    @contextmanager
    def show(self, name: str, rows: int) -> Iterator[None]:
        """Show a step and time it."""
        self.progress.show(f"{_STEPS[name]} {plural(rows, 'row')}")
        with self.step(name):
            yield

    def show_checkpoint(self, event: str, rows: int) -> None:
        """Print the rows that are skipped, or at the first save the directory."""
        self._saved = True
        if event == "resumed":
            self.progress.note(f"continuing after {plural(rows, 'row')} of an earlier run ({self._folder})")
        elif not self._announced:
            self._announced = True
            again = "after an interruption, give the same command again to continue"
            self.progress.note(f"saving finished work in {self._folder}: {again}")

    @contextmanager
    def explained(self) -> Iterator[None]:
        """Print the progress that an interrupted run has saved."""
        try:
            yield
        except KeyboardInterrupt:
            text = "nothing is saved (--checkpoint DIR saves finished work)"
            if self._folder is not None:
                text = f"nothing was saved in {self._folder} yet"
            if self._folder is not None and self._saved:
                text = f"finished work is saved in {self._folder}: give the same command again to continue"
            self.progress.note(f"Interrupted: {text}")
            raise


def _check_files(job: ForestJob, watch: _Watch, page_only: bool) -> Path | None:
    """Raise before any file is read if the output cannot be written; return the file, ``None`` for standard output."""
    if job.cluster_option is not None:
        check_inputs(job.inputs)
        return job.output
    target = None if page_only else output_path(job.output, job.json)
    if target and job.trace and os.path.realpath(target) == os.path.realpath(job.trace):
        raise click.UsageError("-o and --trace name the same file.")
    with watch.step("import"):
        check_output(target, job.to, job.inputs)
        check_output(job.trace, None, job.inputs)
        load_libraries()
    return target


def _choose(job: ForestJob) -> Callable[[ForestJob, _Watch], Forest]:
    """Choose the driver."""
    if job.cluster_option is not None:
        return _find_on_cluster
    batches = in_batches(
        job.inputs,
        job.memory_limit,
        job.columns(),
        format=job.format,
        gpu_memory_limit=job.gpu_memory_limit,
        checkpoint=job.checkpoint,
        spill_dir=job.spill_dir,
        in_memory="--trace" if job.trace else None,
    )
    return _find_in_memory if batches is None else partial(_find_as_stream, batches)


@dataclass(frozen=True, slots=True)
class Batches:
    """Files that are read in batches, within a limit of memory; `reason` says why if nobody asked for it."""

    inputs: Sequence[Path]
    edges: Any
    limit: int  # bytes
    reason: str = ""

    def run(
        self, find: Callable[[Any, int], Found], progress: Progress, in_memory: Callable[[], Found] | None = None
    ) -> Found:
        """Call a function with the edges and the limit; if a quarter of the memory is too little, with three."""
        if self.reason:
            progress.note(self.reason)
        try:
            return find(self.edges, self.limit)
        except CapacityError as error:
            if not self.reason or error.__cause__ is not None:  # a fault of the machine, not of the limit
                raise
            fits = in_memory is not None and dfmst.stream.fits(self.inputs, 3 * self.limit)
            progress.note(f"{error.message}: trying {'all rows in memory' if fits else 'three times as much'}")
        return in_memory() if in_memory is not None and fits else find(self.edges, 3 * self.limit)


@dataclass(frozen=True, slots=True)
class _Reader:
    """Reads files that are not Parquet in batches; errors name the first."""

    inputs: Sequence[Path]
    format: str | None
    columns: Columns

    @property
    def place(self) -> str:
        return str(self.inputs[0])

    def __call__(self) -> pa.RecordBatchReader:
        return open_inputs(self.inputs, self.format, None, self.columns)


_SMALL = 256 << 20  # bytes that a stream takes for itself
_COMPRESSED = (".gz", ".xz", ".zst", ".zstd", ".bz2")
_WHOLE = ("gml", "graphml", "json", "pajek")  # formats that are read whole


def in_batches(
    inputs: Sequence[Path],
    memory_limit: str,
    columns: Columns | None = None,
    *,
    format: str | None = None,
    gpu_memory_limit: str | None = None,
    checkpoint: Path | None = None,
    spill_dir: Path | None = None,
    in_memory: str | None = None,
) -> Batches | None:
    """Return how files are read in batches: with a checkpoint, or if they exceed a limit; ``None``: in memory.

    Only Parquet is read in batches without `columns`. `in_memory` is an option that needs all rows in memory.
    """
    from dfmst.formats import bytes_to_solve

    asked = memory_limit != "auto" or (gpu_memory_limit or checkpoint or spill_dir) is not None
    check_inputs(inputs)
    try:
        if not asked and (in_memory is not None or bytes_to_solve(inputs) <= _SMALL):
            return None
        limit = memory_bytes(memory_limit)
        limits = [limit] if gpu_memory_limit is None else [limit, memory_bytes(gpu_memory_limit, "--gpu-memory-limit")]
        other = _not_parquet(inputs, format)
        if other is not None and (checkpoint is not None or columns is None or other in _WHOLE):
            if not asked:
                return None
            only = "keeps a checkpoint" if checkpoint else "is read within a memory limit"
            hint = f"convert it: dfmst convert {inputs[0]} -o edges.parquet"
            raise DfmstError(f"{inputs[0]} is {other}: only Parquet {only} here", hint)
        if checkpoint is None and dfmst.stream.fits(inputs, min(limits)):
            return None
    except FormatError:
        if not asked:
            return None  # the reader names the line
        raise
    if in_memory is not None:
        raise click.UsageError(f"{in_memory} needs the rows in memory; leave --memory-limit and --checkpoint out.")
    edges = list(inputs) if other is None else _Reader(inputs, format, columns or {})
    much = f"{named_after(inputs)} takes more than a quarter of the free memory ({limit / 2**20:,.0f} MiB)"
    return Batches(inputs, edges, limit, "" if asked else f"{much}: reading it in batches (--memory-limit auto)")


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


def memory_bytes(text: str, option: str = "--memory-limit", *, auto: bool = True) -> int:
    """Read ``--memory-limit``, or another option of that kind."""
    try:
        return dfmst.stream.parse_memory(text, auto=auto and option == "--memory-limit")
    except ValueError:
        raise click.UsageError(f"{option} {text}: write it as 2GiB, 700MB or a number of bytes.") from None


def _find_in_memory(job: ForestJob, watch: _Watch) -> Forest:
    """Find the forest of a cuDF frame if the engine is CUDA, the files are Parquet and cuDF is installed."""
    with watch.step("read"):
        reading = job.inputs, job.format, watch.progress, job.columns()
        table = read_on_device(*reading) if job.engine == "cuda" else None
        table = read_inputs(*reading) if table is None else table
    return dfmst.forest.solve(
        table,
        **job.edges,
        **job.solver,
        return_trace=job.trace is not None or job.report is not None,
        step=lambda name: watch.show(name, len(table)),
    )


def _find_as_stream(batches: Batches, job: ForestJob, watch: _Watch) -> Forest:
    gpu = job.gpu_memory_limit
    watch.reason = batches.reason

    def find(edges: Any, limit: int) -> Forest:
        return dfmst.stream.fold(
            edges,
            **job.edges,
            **job.solver,
            memory_limit=limit,
            gpu_memory_limit=None if gpu is None else memory_bytes(gpu, "--gpu-memory-limit"),
            checkpoint=job.checkpoint,
            spill_dir=job.spill_dir,
            progress=watch.progress.bar(),
            on_checkpoint=watch.show_checkpoint,
        )

    with watch.step("fold"):
        return batches.run(find, watch.progress, partial(_find_in_memory, job, watch))


def _find_on_cluster(job: ForestJob, watch: _Watch) -> Forest:
    with watch.step("import"):
        import dfmst.dask
    assert job.output is not None
    limit = None if job.gpu_memory_limit is None else memory_bytes(job.gpu_memory_limit, "--gpu-memory-limit")
    progress = watch.progress
    with watch.step("solve"), warnings.catch_warnings():
        warnings.simplefilter("default", UserWarning)  # each once
        warnings.showwarning = lambda message, *_: progress.note(str(message))
        return dfmst.dask.forest_of_files(
            job.inputs,
            job.output,
            **job.edges,
            algorithm=job.algorithm,
            strategy=job.strategy,  # type: ignore[arg-type]
            checkpoint=job.checkpoint,
            workers=job.workers,
            scheduler=job.scheduler,
            gpus=job.gpus,
            gpu_memory_limit=limit,
            progress=progress.bar() or progress.show,
            on_checkpoint=progress.note,
        )


def _deliver(job: ForestJob, forest: Forest, output: Any, watch: _Watch) -> None:
    """Verify and write the forest, a stream's in one pass if both are requested; with no output, write nothing."""
    form = job.to or (None if isinstance(output, Path) else "csv")
    in_one_pass = forest.driver == "stream" and job.verify and output is not None
    if job.verify:
        with watch.show("verify", forest.source_rows):
            bar = watch.progress.bar()
            certificate = forest.write_verified(output, form, bar) if in_one_pass else forest.verify(bar)
        if certificate.first_violation is not None:
            raise RuntimeError(f"the forest is wrong, which is a fault of dfmst: {certificate.first_violation.message}")
    if forest.driver == "memory":
        with watch.show("gather", forest.source_rows):  # these are computed at the first access
            _ = forest.frame, forest.total_weight, forest.vertices
    if output is None:
        forest.discard_checkpoint()
    elif not in_one_pass:
        with watch.show("write", forest.source_rows):
            forest.write(output, form)
    if job.trace:
        write_rows(rows_on_host(forest.trace), job.trace, None)


def _summary(job: ForestJob, forest: Forest, watch: _Watch) -> dict[str, Any]:
    """Return the facts of a run as ``--json`` prints them."""
    about: dict[str, Any] = {"input": [str(path) for path in job.inputs]}
    about |= {"output": None if job.output is None else str(job.output), "verified": True if job.verify else None}
    about |= {"note": watch.reason} if watch.reason and forest.driver == "stream" else {}
    if job.report is not None and forest.driver != "memory":
        about["plan"] = _plan_and_run(job, forest)
    return {**about, **forest.summary(), "seconds": watch.seconds()}


def _plan_and_run(job: ForestJob, forest: Forest) -> list[tuple[str, str, str]]:
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


def label_stream(
    job: TableJob,
    function: str,
    columns: dict[str, Any],
    summarize: Callable[[Any], tuple[dict[str, Any], str]],
    batches: Batches,
    *,
    checkpoint: Path | None,
    **options: Any,
) -> None:
    """Label the vertices of files in batches, write the table, and print its figures."""
    watch = _Watch(checkpoint)
    path = output_path(job.output, job.json)
    with watch.step("import"):
        check_output(path, job.to, job.inputs)
        load_libraries()
    with Progress() as progress, watch.explained():
        watch.progress = progress
        shown: dict[str, Any] = {"progress": progress.bar(), "on_checkpoint": watch.show_checkpoint}
        fold = partial(getattr(dfmst.stream, function), **columns, checkpoint=checkpoint, **shown, **options)
        with watch.step("fold"):
            labels = batches.run(lambda edges, limit: fold(edges, memory_limit=limit), progress)
        with closing(labels):
            progress.show("writing")
            with watch.step("write"):
                if path or not job.json:
                    labels.write(path or standard_output(), job.to or (None if path else "csv"))
                else:
                    labels.discard_checkpoint()
            figures, text = summarize(labels)
    about: dict[str, Any] = {"input": job.inputs, "output": job.output, "input_rows": labels.source_rows}
    about |= {"note": batches.reason} if batches.reason else {}
    print_run(job.json, {**about, **figures}, text, watch, path)
