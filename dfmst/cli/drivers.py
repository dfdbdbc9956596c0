"""How ``dfmst forest`` finds a forest: in memory, as a stream or on a cluster."""

from __future__ import annotations

import os
import warnings
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from dfmst.cli.console import Progress, Stopwatch, note, plural, print_json, standard_output
from dfmst.cli.inputs import check_inputs, columns_by_option, load_libraries, read_inputs, read_on_device
from dfmst.cli.job import ForestJob, check_report, print_summary, summary_of, write_report
from dfmst.cli.outputs import check_output, output_path, rows_on_host, write_rows
from dfmst.errors import DfmstError

if TYPE_CHECKING:
    from dfmst import Certificate
    from dfmst.dask import WrittenForest
    from dfmst.forest import Forest
    from dfmst.stream import StreamForest

#: Step of a run -> its words in the progress line.
_STEPS = {
    "prepare": "preparing",
    "solve": "finding the forest of",
    "verify": "verifying the forest of",
    "gather": "gathering",
}


def run_here(job: ForestJob) -> None:
    """Find the forest in this process, in memory or as a stream, write it and print a summary."""
    columns = columns_by_option(job.source, job.target, job.weight)
    columns |= {"--by": next(iter(job.by), None), "--keep": job.keep, "--drop": job.drop}
    watch = Stopwatch()
    target = output_path(job.output, job.json)
    if target and job.trace and os.path.realpath(target) == os.path.realpath(job.trace):
        raise click.UsageError("-o and --trace name the same file.")
    with watch.step("import"):
        check_output(target, job.to, job.inputs)
        check_output(job.trace, None, job.inputs)
        load_libraries()
    streamed = is_streamed(job.inputs, job.memory_limit, job.checkpoint, job.spill_dir)
    if streamed:
        job.require_memory("--memory-limit, --spill-dir and --checkpoint")
    check_report(job, target, streamed)
    with Progress() as progress:
        if streamed:
            summary = _run_streamed(job, target, watch, progress)
            write_report(job, target, summary, progress)
        else:
            summary = _run_in_memory(job, target, columns, watch, progress)
    print_summary(job, target, summary)


def _run_in_memory(
    job: ForestJob, target: Path | None, columns: dict[str, str | None], watch: Stopwatch, progress: Progress
) -> dict[str, Any]:
    with watch.step("read"):
        table = _read(job, progress, columns)
    solution = find_forest(job, table, watch, progress)
    progress.show("writing")
    with watch.step("write"):
        if target or not job.json:
            _write(job, solution, target)
        if job.trace:
            write_rows(rows_on_host(solution.trace), job.trace, None)
    summary = summary_of(job, solution, watch)
    write_report(job, solution, summary, progress)
    return summary


def _read(job: ForestJob, progress: Progress, columns: dict[str, str | None]) -> Any:
    """Read a cuDF frame if the engine is CUDA, the files are Parquet and cuDF is installed; else an Arrow table."""
    table = read_on_device(job.inputs, job.format, progress, columns) if job.engine == "cuda" else None
    return read_inputs(job.inputs, job.format, progress, columns) if table is None else table


def find_forest(job: ForestJob, table: Any, watch: Stopwatch, progress: Progress) -> Forest:
    """Find the forest, verify it if requested, and gather its rows."""
    from dfmst.forest import solve

    @contextmanager
    def step(name: str) -> Iterator[None]:
        progress.show(f"{_STEPS[name]} {plural(len(table), 'row')}")
        with watch.step(name):
            yield

    options: dict[str, Any] = {"algorithm": job.algorithm, "engine": job.engine, "invalid": job.invalid}
    solution = solve(
        table,
        job.source,
        job.target,
        job.weight,
        maximum=job.maximum,
        **job.conditions,
        threads=job.threads,
        return_trace=job.trace is not None or job.report is not None,
        step=step,
        **options,
    )
    if job.verify:
        with step("verify"):
            violation = solution.verify().first_violation
        if violation is not None:
            message = f"the forest is wrong, which is a fault of dfmst: {violation.message}"
            raise RuntimeError(message)
    with step("gather"):
        # These are computed at the first access.
        _ = solution.frame, solution.total_weight, solution.vertices
    return solution


def _write(job: ForestJob, solution: Forest, target: Path | None) -> None:
    from dfmst.formats import format_of_suffix

    rows = solution.frame
    if target and not hasattr(rows, "num_rows") and (job.to or format_of_suffix(target)) == "parquet":
        from dfmst.cudf import write_parquet

        write_parquet(rows, target)
    else:
        write_rows(solution.to_arrow(), target, job.to)


def is_streamed(
    inputs: Sequence[Path], memory_limit: str | None, checkpoint: Path | None = None, spill_dir: Path | None = None
) -> bool:
    """Return whether to stream: with a checkpoint, or if the inputs exceed the memory limit (default 2 GiB)."""
    if memory_limit is None and checkpoint is None and spill_dir is None:
        return False
    from dfmst import stream
    from dfmst.formats import detect_format

    check_inputs(inputs)
    limit = memory_bytes(memory_limit)
    for path in inputs:
        if not path.is_dir() and detect_format(path) != "parquet":
            message = f"{path} is no Parquet file, and only Parquet is read within a memory limit"
            raise DfmstError(message, f"convert it first: dfmst convert {path} -o edges.parquet")
    return checkpoint is not None or not stream.fits(inputs, limit)


def memory_bytes(text: str | None, option: str = "--memory-limit") -> int:
    """Read ``--memory-limit``, or another option of that kind."""
    from dfmst import stream

    try:
        return stream.parse_memory(text or "2GiB")
    except ValueError:
        raise click.UsageError(f"{option} {text}: write it as 2GiB, 700MB or a number of bytes.") from None


def _run_streamed(job: ForestJob, target: Path | None, watch: Stopwatch, progress: Progress) -> dict[str, Any]:
    """Find, verify and write the forest as a stream; return the run's facts."""
    from dfmst import stream

    if job.trace:
        raise click.UsageError("--trace needs the rows in memory; leave --memory-limit and --checkpoint out.")
    limit = memory_bytes(job.memory_limit)
    saved = _Saved(job.checkpoint, progress)
    with saved.interrupted_in_words():
        with watch.step("fold"):
            forest = stream.fold(
                list(job.inputs),
                job.source,
                job.target,
                job.weight,
                memory_limit=limit,
                gpu_memory_limit=limit,
                progress=progress.bar(),
                on_checkpoint=saved.show,
                maximum=job.maximum,
                checkpoint=job.checkpoint,
                spill_dir=job.spill_dir,
                algorithm=job.algorithm,
                engine=job.engine,
                invalid=job.invalid,
                threads=job.threads,
            )
        with closing(forest):
            _deliver(job, target, forest, watch, progress)
            summary = summary_of(job, forest, watch) | {
                "streamed": True,
                "memory_limit": forest.memory_limit,
                "peak_memory": forest.peak_memory,
            }
            return summary if job.report is None else {**summary, "plan": _stream_and_plan(job, forest)}


class _Saved:
    """Messages about checkpoints."""

    def __init__(self, folder: Path | None, progress: Progress) -> None:
        self._folder, self._progress = folder, progress
        self._saved = False  # whether a checkpoint exists
        self._announced = False  # whether the directory was printed

    def show(self, event: str, rows: int) -> None:
        """Print the rows that are skipped, and once the directory of the checkpoints."""
        self._saved = True
        if event == "resumed":
            self._progress.note(f"going on after {plural(rows, 'row')} that an earlier run has done ({self._folder})")
        elif not self._announced:
            self._announced = True
            again = "after an interruption, give the same command again to go on"
            self._progress.note(f"saving what is done to {self._folder}: {again}")

    @contextmanager
    def interrupted_in_words(self) -> Iterator[None]:
        """Print what an interrupted run has saved."""
        try:
            yield
        except KeyboardInterrupt:
            kept = "nothing is kept (with --checkpoint DIR, what is done would be)"
            if self._saved:
                kept = f"what is done is kept in {self._folder}: give the same command again to go on"
            elif self._folder is not None:
                kept = f"nothing was saved to {self._folder} yet"
            self._progress.note(f"Interrupted: {kept}")
            raise


def streamed_certificate(
    edges: Path,
    forest: Path,
    names: tuple[str, str, str | None],
    memory_limit: str | None,
    options: dict[str, Any],
    progress: Progress,
) -> Certificate:
    """Verify a forest's file against a stream."""
    from dfmst import stream

    limit = memory_bytes(memory_limit)
    return stream.verify(edges, forest, *names, memory_limit=limit, progress=progress.bar(), **options)


def _deliver(job: ForestJob, target: Path | None, forest: StreamForest, watch: Stopwatch, progress: Progress) -> None:
    """Verify and write the forest, in one pass if both are requested."""
    output: Any = target
    if target is None and not job.json:
        output = standard_output()
    form = job.to or ("csv" if target is None else None)
    if job.verify:
        with watch.step("verify"):
            if output is None:
                certificate = forest.verify(progress.bar())
            else:
                certificate = forest.write_verified(output, form, progress.bar())
        if certificate.first_violation is not None:
            message = f"the forest is wrong, which is a fault of dfmst: {certificate.first_violation.message}"
            raise RuntimeError(message)
    elif output is not None:
        progress.show("gathering and writing")
        with watch.step("write"):
            forest.write(output, form)
    if output is None:
        forest.discard_checkpoint()


def _stream_and_plan(job: ForestJob, forest: StreamForest) -> list[tuple[str, str, str]]:
    strategy = "stream" if job.spill_dir is None else "spill"
    return _plan_and_run(
        job,
        (strategy, strategy),
        (forest.source_rows, forest.rows),
        memory=forest.memory_limit,
        vertices=forest.vertices,
        peak=forest.peak_memory,
    )


def run_on_cluster(
    job: ForestJob, workers: int | None, scheduler: str | None, strategy: str, gpus: bool, gpu_memory_limit: str | None
) -> None:
    """Find the forest on a cluster, and print a summary."""
    _check(job, workers, scheduler)
    if gpu_memory_limit is not None and (not gpus or scheduler is not None):
        raise click.UsageError("--gpu-memory-limit needs --gpus, and no --scheduler.")
    job.require_memory("--workers and --scheduler")
    columns_by_option(job.source, job.target, job.weight)
    check_inputs(job.inputs)
    check_report(job, job.output, True)
    watch = Stopwatch()
    saved = "nothing is kept (with --checkpoint DIR, what is finished would be)"
    if job.checkpoint is not None:
        saved = f"what is finished is kept in {job.checkpoint}: give the same command again to go on"
    try:
        with watch.step("import"):
            import dfmst.dask
        assert job.output is not None
        with Progress() as progress, watch.step("solve"), warnings.catch_warnings():
            warnings.simplefilter("default", UserWarning)  # each once
            warnings.showwarning = lambda message, *_: progress.note(str(message))
            limit = None if gpu_memory_limit is None else memory_bytes(gpu_memory_limit, "--gpu-memory-limit")
            written = dfmst.dask.forest_of_files(
                job.inputs,
                job.output,
                job.source,
                job.target,
                job.weight,
                maximum=job.maximum,
                invalid=job.invalid,
                strategy=strategy,  # type: ignore[arg-type]
                checkpoint=job.checkpoint,
                workers=workers,
                scheduler=scheduler,
                gpus=gpus,
                gpu_memory_limit=limit,
                progress=progress.bar() or progress.show,
                on_checkpoint=progress.note,
            )
        if job.report is not None:
            with Progress() as progress:
                write_report(job, job.output, _happened(job, written, workers, strategy, watch.seconds()), progress)
    except KeyboardInterrupt:
        note(f"Interrupted: {saved}")
        raise
    _tell(job, written, watch.seconds())


def _happened(
    job: ForestJob, written: WrittenForest, workers: int | None, strategy: str, seconds: dict[str, float]
) -> dict[str, Any]:
    """Return the run's facts for a report, with the plan and the outcome."""
    taken, rows = (strategy, written.strategy), (written.input_rows, written.rows)
    plan = _plan_and_run(job, taken, rows, workers=workers or 1, moved=written.bytes_moved, peak=written.peak_memory)
    return {"kind": job.kind, **written._asdict(), "seconds": seconds, "peak_memory": None, "plan": plan}


def _tell(job: ForestJob, written: WrittenForest, seconds: dict[str, float]) -> None:
    if job.json:
        summary = {"kind": job.kind, "input": [str(path) for path in job.inputs], "output": str(job.output)}
        print_json({**summary, **written._asdict(), "seconds": seconds})
        return
    parts = f"{job.kind}: {written.rows:,} of {plural(written.input_rows, 'row')}, {plural(written.files, 'file')}"
    note(f"{parts}, {seconds['total']:.2f} s -> {job.output}")


def _check(job: ForestJob, workers: int | None, scheduler: str | None) -> None:
    option = "--scheduler" if scheduler is not None else "--workers" if workers is not None else "--gpus"
    if workers is not None and scheduler is not None:
        raise click.UsageError("--workers and --scheduler cannot be combined.")
    if job.output is None or str(job.output) == "-":
        raise click.UsageError(f"{option} needs a directory to write to: name it with -o.")
    clashes = {
        "--verify": job.verify,
        "--trace": job.trace,
        "--to": job.to,
        "--format": job.format,
        "--algorithm": job.algorithm != "auto",
        "--engine": job.engine != "auto",
        "--threads": job.threads,
        "--memory-limit": job.memory_limit,
        "--spill-dir": job.spill_dir,
    }
    for name, value in clashes.items():
        if value:
            instead = " Check what is written with dfmst verify." if name == "--verify" else ""
            raise click.UsageError(f"{option} and {name} cannot be combined.{instead}")


def _plan_and_run(
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
    """Return rows of (quantity, planned, actual) as text."""
    import dfmst

    asked: dict[str, Any] = {"source": job.source, "target": job.target, "strategy": strategy[1]}
    plan = dfmst.plan(files=job.inputs, **asked, workers=workers, memory_limit=memory)
    at_most = [("vertices", plan.n_vertices, vertices), ("rows of the forest", max(0, plan.n_vertices - 1), rows[1])]
    rows_shown = [("strategy", *strategy), ("rows read", f"{plan.n_edges:,}", f"{rows[0]:,}")]
    rows_shown += [(name, f"{most:,} at most", f"{count:,}") for name, most, count in at_most if count is not None]
    if moved is not None:
        rows_shown.append(("bytes between workers", _bytes(plan.bytes_moved), _bytes(moved)))
    if peak is not None:
        rows_shown.append(("peak memory of a process", _bytes(plan.peak_memory), _bytes(peak)))
    return rows_shown


def _bytes(count: int) -> str:
    return f"{count / 1e6:,.1f} MB"
