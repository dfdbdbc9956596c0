"""``dfmst forest``."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from dfmst.cli.clustered import cluster_options, run_on_cluster
from dfmst.cli.console import Progress, Stopwatch, plural
from dfmst.cli.inputs import columns_by_option, load_libraries, read_inputs, read_on_device
from dfmst.cli.job import ForestJob, summary_of, tell, weight_name
from dfmst.cli.options import (
    GroupedCommand,
    algorithm_option,
    condition_options,
    debug_option,
    engine_options,
    format_option,
    inputs_argument,
    invalid_option,
    json_option,
    memory_option,
    output_options,
    picture_options,
    to_path,
    vertex_options,
    weight_options,
)
from dfmst.cli.outputs import check_output, output_path, rows_on_host, write_rows
from dfmst.cli.report import check_report, write_report

if TYPE_CHECKING:
    from dfmst.forest import Forest

#: What each step of a run does to the rows.
_STEPS = {
    "prepare": "preparing",
    "solve": "finding the forest of",
    "verify": "verifying the forest of",
    "gather": "gathering",
}


@click.command(cls=GroupedCommand, short_help="Write the minimum spanning forest of edge tables.")
@inputs_argument
@output_options
@format_option
@vertex_options
@weight_options
@condition_options
@algorithm_option
@engine_options
@invalid_option
@click.option("--verify", is_flag=True, help="Prove the forest minimal before it is written.")
@click.option("--trace", metavar="FILE", callback=to_path, help="Write a table with a row each round.")
@click.option("--report", metavar="FILE", callback=to_path, help="Write a page about graph, run and forest (HTML).")
@picture_options
@memory_option
@click.option("--checkpoint", metavar="DIR", callback=to_path, help="Go on from here after an interruption.")
@click.option("--spill-dir", metavar="DIR", callback=to_path, help="Put rows here where the vertices do not fit.")
@cluster_options
@json_option
@debug_option
def forest(
    weight: str | None,
    unweighted: bool,
    workers: int | None,
    scheduler: str | None,
    strategy: str,
    gpus: bool,
    gpu_memory: str | None,
    **options: Any,
) -> None:
    """Write the rows of IN that form its minimum spanning forest.

    Every row of IN is an edge. The forest keeps the rows' columns and their order; of equal weights the
    earlier row counts as lighter, so there is exactly one forest. Several IN are read as one table.

    \b
      dfmst forest roads.parquet -w km -o forest.parquet
      dfmst forest part-*.csv -s from -t to -w cost -o forest.csv --verify
      dfmst forest roads.parquet -w km --json
      dfmst forest roads/ -w km -o forest/ --workers 4
      dfmst forest roads/ -w km -o forest/ --workers 4 --gpus --memory 40GiB

    With --memory-limit, Parquet that would not fit is read in batches: twice, in the first pass only the three
    columns, in the second what else the forest's rows hold. With --checkpoint, such a run that was interrupted goes on
    where it was when the same command is given again. With --spill-dir, rows wait in that directory, which should be
    on a local disk: a limit of 300 MiB and 10 bytes a vertex is then enough. Ids that are no dense integers stay in
    memory, and need 64 MiB and 27 bytes a vertex more, texts their length on top.

    OUT appears whole or not at all: the rows are written to a hidden directory next to it, .OUT.*.part, and then
    renamed. A run that is killed may leave that directory behind; the next run that writes OUT removes it.
    """  # noqa: D301 - click's mark for lines that stay as they are
    job = ForestJob(weight=weight_name(weight, unweighted, options["maximum"]), **options)
    if workers is None and scheduler is None and not gpus and gpu_memory is None:
        run(job)
    else:
        run_on_cluster(job, workers, scheduler, strategy, gpus, gpu_memory)


def run(job: ForestJob) -> None:
    """Read, solve, verify, write, tell."""
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
        from dfmst.cli.streamed import is_streamed, stream_forest
    streamed = is_streamed(job.inputs, job.memory_limit, job.checkpoint, job.spill_dir)
    if streamed:
        job.require_memory("--memory-limit, --spill-dir and --checkpoint")
    check_report(job, target, streamed)
    with Progress() as progress:
        if streamed:
            summary = stream_forest(job, target, watch, progress)
            write_report(job, target, summary, progress)
        else:
            summary = _run_in_memory(job, target, columns, watch, progress)
    tell(job, target, summary)


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
    """Read a table: a cuDF frame where the engine is CUDA, the files are Parquet and cuDF is there, else Arrow's."""
    table = read_on_device(job.inputs, job.format, progress, columns) if job.engine == "cuda" else None
    return read_inputs(job.inputs, job.format, progress, columns) if table is None else table


def find_forest(job: ForestJob, table: Any, watch: Stopwatch, progress: Progress) -> Forest:
    """Find the forest, certify it where that is asked for, and gather its rows."""
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
        # What the solution holds it computes when it is asked.
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
