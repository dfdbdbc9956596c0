"""``dfmst forest --workers`` and ``--scheduler``."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import click

from dfmst.cli.console import Progress, Stopwatch, note, plural, print_json
from dfmst.cli.inputs import check_inputs, columns_by_option
from dfmst.cli.planned import beside_plan
from dfmst.cli.report import check_report, write_report

if TYPE_CHECKING:
    from dfmst.cli.job import ForestJob
    from dfmst.dask import WrittenForest


def cluster_options(command: Callable[..., Any]) -> Any:
    """``--workers``, ``--scheduler``, ``--gpus``, ``--memory`` and ``--strategy``."""
    workers = "Start so many worker processes; IN is then Parquet, and OUT a directory of a file for each of IN."
    scheduler = "Use the Dask cluster whose scheduler is there (tcp://host:8786); its workers must see IN and OUT."
    strategy = "How to find the forest on a cluster."
    names = click.Choice(["auto", "two-pass", "merge", "shuffle"])
    gpus = "Give each worker a GPU (dask-cuda); without --workers, one worker for each GPU."
    memory = "What each worker may use of its GPU: 40GiB."
    command = click.option("--memory", "gpu_memory", metavar="SIZE", help=memory)(command)
    command = click.option("--gpus", is_flag=True, help=gpus)(command)
    command = click.option("--strategy", type=names, default="auto", show_default=True, help=strategy)(command)
    command = click.option("--scheduler", metavar="ADDRESS", help=scheduler)(command)
    return click.option("--workers", type=click.IntRange(min=1), metavar="N", help=workers)(command)


def run_on_cluster(
    job: ForestJob, workers: int | None, scheduler: str | None, strategy: str, gpus: bool, gpu_memory: str | None
) -> None:
    """Read, solve and write on a cluster, then tell."""
    _check(job, workers, scheduler)
    if gpu_memory is not None and (not gpus or scheduler is not None):
        raise click.UsageError("--memory needs --gpus, and no --scheduler.")
    job.require_memory("--workers and --scheduler")
    columns_by_option(job.source, job.target, job.weight)
    check_inputs(job.inputs)
    check_report(job, job.output, True)
    watch = Stopwatch()
    with _interrupted_in_words(job):
        with watch.step("import"):
            import dfmst.dask
            from dfmst.cli.streamed import memory_bytes
        assert job.output is not None
        with Progress() as progress, watch.step("solve"), warnings.catch_warnings():
            warnings.simplefilter("default", UserWarning)  # each once
            warnings.showwarning = lambda message, *_: progress.note(str(message))
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
                gpu_memory=None if gpu_memory is None else memory_bytes(gpu_memory, "--memory"),
                progress=progress.bar() or progress.show,
                on_checkpoint=progress.note,
            )
        if job.report is not None:
            with Progress() as progress:
                write_report(job, job.output, _happened(job, written, workers, strategy, watch.seconds()), progress)
    _tell(job, written, watch.seconds())


def _happened(
    job: ForestJob, written: WrittenForest, workers: int | None, strategy: str, seconds: dict[str, float]
) -> dict[str, Any]:
    """What a report says of a run: what was planned for it, and what happened."""
    taken, rows = (strategy, written.strategy), (written.input_rows, written.rows)
    plan = beside_plan(job, taken, rows, workers=workers or 1, moved=written.bytes_moved, peak=written.peak_memory)
    return {"kind": job.kind, **written._asdict(), "seconds": seconds, "peak_memory": None, "plan": plan}


@contextmanager
def _interrupted_in_words(job: ForestJob) -> Iterator[None]:
    """Say what an interrupt leaves."""
    try:
        yield
    except KeyboardInterrupt:
        kept = "nothing is kept (with --checkpoint DIR, what is finished would be)"
        if job.checkpoint is not None:
            kept = f"what is finished is kept in {job.checkpoint}: give the same command again to go on"
        note(f"Interrupted: {kept}")
        raise


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
