"""``dfmst forest --workers`` and ``--scheduler``."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import click

from dfmst.cli.console import Progress, Stopwatch, note, plural, print_json
from dfmst.cli.inputs import check_inputs, columns_by_option

if TYPE_CHECKING:
    from dfmst.cli.job import ForestJob

__all__ = ["cluster_options", "run_on_cluster"]


def cluster_options(command: Callable[..., Any]) -> Any:
    """``--workers``, ``--scheduler`` and ``--strategy``."""
    workers = "Start so many worker processes; IN is then Parquet, and OUT a directory of a file for each of IN."
    scheduler = "Use the Dask cluster whose scheduler is there (tcp://host:8786); its workers must see IN and OUT."
    strategy = "How to find the forest on a cluster."
    names = click.Choice(["auto", "two-pass", "merge", "shuffle"])
    command = click.option("--strategy", type=names, default="auto", show_default=True, help=strategy)(command)
    command = click.option("--scheduler", metavar="ADDRESS", help=scheduler)(command)
    return click.option("--workers", type=click.IntRange(min=1), metavar="N", help=workers)(command)


def run_on_cluster(job: ForestJob, workers: int | None, scheduler: str | None, strategy: str) -> None:
    """Read, solve and write on a cluster, then tell."""
    _check(job, workers, scheduler)
    columns_by_option(job.source, job.target, job.weight)
    check_inputs(job.inputs)
    watch = Stopwatch()
    with watch.step("import"):
        from dfmst._cluster.build import Options
        from dfmst._cluster.client import cluster_client
        from dfmst._cluster.directory import check_directory, forest_of_files
        from dfmst._cluster.tasks import Reading
    assert job.output is not None
    check_directory(job.output)
    reading = Reading((job.source, job.target, job.weight), job.maximum, job.invalid)
    options = Options(strategy=strategy, checkpoint=getattr(job, "checkpoint", None))  # type: ignore[arg-type]
    with Progress() as progress:
        progress.show("starting workers" if scheduler is None else f"connecting to {scheduler}")
        with watch.step("solve"), cluster_client(workers, scheduler) as client:
            progress.show("finding the forest")
            written = forest_of_files(client, job.inputs, job.output, reading, options)
    if job.json:
        summary = {"kind": job.kind, "input": [str(path) for path in job.inputs], "output": str(job.output)}
        print_json({**summary, **written._asdict(), "seconds": watch.seconds()})
        return
    parts = f"{job.kind}: {written.rows:,} of {plural(written.input_rows, 'row')}, {plural(written.files, 'file')}"
    note(f"{parts}, {watch.seconds()['total']:.2f} s -> {job.output}")


def _check(job: ForestJob, workers: int | None, scheduler: str | None) -> None:
    option = "--workers" if scheduler is None else "--scheduler"
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
        "--memory-limit": getattr(job, "memory_limit", None),
    }
    for name, given in clashes.items():
        if given:
            raise click.UsageError(f"{option} and {name} cannot be combined.")
