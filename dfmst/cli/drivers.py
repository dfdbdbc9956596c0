"""How a forest is found, in memory, as a stream or on a cluster, and delivered; labels of a stream's vertices."""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager, nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

import dfmst
from dfmst.cli.console import Progress, Stopwatch, plural, print_run, standard_output
from dfmst.cli.inputs import check_inputs, load_libraries, read_inputs, read_on_device
from dfmst.cli.job import ForestJob, print_summary, write_report
from dfmst.cli.outputs import TableJob, check_output, output_path, rows_on_host, write_rows
from dfmst.errors import DfmstError

if TYPE_CHECKING:
    from dfmst.forest import Forest

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
    if not is_streamed(job.inputs, job.memory_limit, job.gpu_memory_limit, job.checkpoint, job.spill_dir):
        return _find_in_memory
    if job.trace:
        raise click.UsageError("--trace needs the rows in memory; leave --memory-limit and --checkpoint out.")
    return _find_as_stream


def is_streamed(
    inputs: Sequence[Path],
    memory_limit: str | None,
    gpu_memory_limit: str | None = None,
    checkpoint: Path | None = None,
    spill_dir: Path | None = None,
) -> bool:
    """Return whether to stream: with a checkpoint, or if the inputs exceed a memory limit (default 2 GiB)."""
    options = {"--memory-limit": memory_limit, "--gpu-memory-limit": gpu_memory_limit}
    limits = [memory_bytes(size, option) for option, size in options.items() if size is not None]
    if not limits and checkpoint is None and spill_dir is None:
        return False
    from dfmst.formats import detect_format

    check_inputs(inputs)
    for path in inputs:
        if not path.is_dir() and detect_format(path) != "parquet":
            message = f"{path} is not a Parquet file, and only Parquet is read within a memory limit"
            raise DfmstError(message, f"convert it first: dfmst convert {path} -o edges.parquet")
    return checkpoint is not None or not dfmst.stream.fits(inputs, min(limits or [memory_bytes(None)]))


def memory_bytes(text: str | None, option: str = "--memory-limit") -> int:
    """Read ``--memory-limit``, or another option of that kind."""
    try:
        return dfmst.stream.parse_memory(text or "2GiB")
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


def _find_as_stream(job: ForestJob, watch: _Watch) -> Forest:
    limits: dict[str, Any] = {"memory_limit": memory_bytes(job.memory_limit)}
    if job.gpu_memory_limit is not None:
        limits["gpu_memory_limit"] = memory_bytes(job.gpu_memory_limit, "--gpu-memory-limit")
    with watch.step("fold"):
        return dfmst.stream.fold(
            list(job.inputs),
            **job.edges,
            **job.solver,
            **limits,
            checkpoint=job.checkpoint,
            spill_dir=job.spill_dir,
            progress=watch.progress.bar(),
            on_checkpoint=watch.show_checkpoint,
        )


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
    *,
    memory_limit: str | None,
    checkpoint: Path | None,
    **options: Any,
) -> None:
    """Label the vertices of files in batches, write the table, and print its figures."""
    watch = _Watch(checkpoint)
    path = output_path(job.output, job.json)
    with watch.step("import"):
        check_output(path, job.to, job.inputs)
        load_libraries()
    limits: dict[str, Any] = {"memory_limit": memory_bytes(memory_limit), "checkpoint": checkpoint}
    with Progress() as progress, watch.explained():
        watch.progress = progress
        shown: dict[str, Any] = {"progress": progress.bar(), "on_checkpoint": watch.show_checkpoint}
        with watch.step("fold"):
            find = getattr(dfmst.stream, function)
            labels = find(list(job.inputs), **columns, **limits, **shown, **options)
        with closing(labels):
            progress.show("writing")
            with watch.step("write"):
                if path or not job.json:
                    labels.write(path or standard_output(), job.to or (None if path else "csv"))
                else:
                    labels.discard_checkpoint()
            figures, text = summarize(labels)
    about = {"input": job.inputs, "output": job.output, "input_rows": labels.source_rows}
    print_run(job.json, {**about, **figures}, text, watch, path)
