"""``dfmst forest`` and ``dfmst report``."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing, nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from dfmst.cli import options as shared
from dfmst.cli.console import aligned, figure, note, on_terminal, plural, print_json, standard_output
from dfmst.cli.drivers import cluster_option, columns_of, deliver, driver_of, find_in_memory, summary_of
from dfmst.cli.job import (
    Job,
    Run,
    check_inputs,
    check_output,
    command,
    load_libraries,
    named_after,
    output_path,
    read_inputs,
    weight_name,
)
from dfmst.cli.options import GroupedCommand, choice, path_option, several

if TYPE_CHECKING:
    from dfmst.forest import Forest

graph_options = several(
    shared.format_option,
    shared.vertex_options,
    shared.weight_options,
    shared.algorithm_option,
    shared.engine_options,
    shared.invalid_option,
    shared.picture_options,
)
run_options = several(
    click.option("--verify", is_flag=True, help="Prove the forest minimal before it is written."),
    path_option("--trace", metavar="FILE", help="Write a table with a row each round."),
    path_option("--report", metavar="FILE", help="Write a page about graph, run and forest (HTML)."),
    shared.memory_option,
    click.option("--gpu-memory-limit", metavar="SIZE", help="Limit of GPU memory, of each worker on a cluster: 40GiB."),
    shared.checkpoint_option,
    shared.spill_option,
)
cluster_options = several(
    click.option(
        "--workers",
        type=click.IntRange(min=1),
        metavar="N",
        help="Number of worker processes to start; IN must be Parquet, OUT becomes a directory of Parquet.",
    ),
    click.option(
        "--scheduler",
        metavar="ADDRESS",
        help="Address of a Dask scheduler (tcp://host:8786); its workers must be able to read IN and write OUT.",
    ),
    choice("--strategy", "auto", "merge", "shuffle", help="How to find the forest on a cluster."),
    click.option(
        "--gpus", is_flag=True, help="Give each worker a GPU (dask-cuda); without --workers, one worker for each GPU."
    ),
)


@command(
    "Write the minimum spanning forest of edge tables.",
    shared.inputs_argument,
    shared.output_options,
    graph_options,
    shared.condition_options,
    run_options,
    cluster_options,
    shared.json_option,
    cls=GroupedCommand,
)
def forest(job: Job) -> None:
    """Write the rows of IN that form its minimum spanning forest.

    Every row of IN is an edge. The forest keeps the rows' columns and their order; of equal weights the
    earlier row counts as lighter, so there is exactly one forest. Several IN are read as one table.

    \b
      dfmst forest roads.parquet -w km -o forest.parquet
      dfmst forest part-*.csv -s from -t to -w cost -o forest.csv --verify
      dfmst forest roads.parquet -w km --json
      dfmst forest roads/ -w km -o forest/ --workers 4
      dfmst forest roads/ -w km -o forest/ --workers 4 --gpus --gpu-memory-limit 40GiB

    Files that exceed --memory-limit, or --gpu-memory-limit with --engine cuda, are read in batches, twice: first the
    three columns, then the other columns of the forest's rows. A line says so if nobody asked for a limit. With
    --checkpoint, the same command resumes a run that was interrupted. With --spill-dir, rows are spilled to that
    directory, which should be on a local disk; a limit of 300 MiB and 10 bytes a vertex is then enough. Ids that are
    not dense integers need 64 MiB and 27 bytes a vertex more, and strings their length.

    OUT appears whole or not at all: the rows are written to a hidden directory next to it, .OUT.*.part, and then
    renamed. If a run is killed, that directory may remain; the next run that writes OUT removes it.
    """  # noqa: D301 - click's mark for lines that stay as they are
    _run(job)


@command(
    "Draw graph, run and forest on one page.",
    shared.inputs_argument,
    path_option("-o", "--output", metavar="OUT", help="File to write (default: IN with .html)."),
    graph_options,
    click.option("--verify", is_flag=True, help="Prove the forest minimal, and say so on the page."),
    click.option("--title", metavar="TEXT", help="Name of the graph (default: that of IN)."),
    cls=GroupedCommand,
)
def report(job: Job) -> None:
    """Find the forest of IN, and write a page about graph, run and forest.

    The page is one HTML file that needs no network: key figures, a picture of the forest, weights, degrees, trees, the
    heaviest edges, and the time of each step. With coordinates of the vertices the picture is a map; they come from a
    file of points (a column of ids and two of coordinates, or GeoParquet), or from columns of the edges.

    \b
      dfmst report roads.parquet -w km
      dfmst report roads.csv -s a -t b -w km --points towns.csv --coordinates lon lat
      dfmst report stocks.csv -w distance --points sectors.csv --color sector
      dfmst report demo:cities -w km -o cities.html
    """  # noqa: D301 - click's mark for lines that stay as they are
    page = job.output or Path(f"{job.inputs[0].name.split('.')[0].removeprefix('demo:') or 'report'}.html")
    others = dict.fromkeys(param.name or "" for param in forest.params)  # of the forest, not given
    _run(Job(**{**others, "memory_limit": "auto", "strategy": "auto", **vars(job), "output": None, "report": page}))


def _run(job: Job) -> None:
    """Find the forest, write it and its page, and print a summary; a job with a title writes the page alone."""
    page_only = "title" in vars(job)
    job.weight = weight_name(job, job.maximum)
    cluster = cluster_option(job)
    _check_driver(job, cluster)
    job.check_outputs()
    run = Run(job, saved=cluster is not None)  # a cluster saves every finished task
    if cluster is not None:
        check_inputs(job.inputs)
        run.path = job.output
    else:
        run.path = None if page_only else output_path(job)
        with run.step("import"):
            check_output(run.path, job.to, _read_files(job))
            check_output(job.trace, None, _read_files(job))
            load_libraries()
    _check_report(job)
    find = driver_of(job)
    with run.progress as progress:
        points = None
        if job.points is not None:
            ordered = [*(job.coordinates or ()), *filter(None, [job.color])]
            points = read_inputs((job.points,), None, progress, {"ids": job.id, "ordered": ordered}, sep=False)
        explained = nullcontext() if find is find_in_memory else run.explained()
        with explained, closing(find(job, run)) as found:
            if found.driver != "cluster":
                deliver(job, found, run.path or (None if page_only or job.json else standard_output()), run)
            summary = summary_of(job, found, run)
            if job.report is not None:
                progress.show("drawing the report")
                _write_report(job, found, points, summary)
                if not page_only:
                    progress.note(f"report -> {job.report}")
    _print_summary(job, job.report if page_only and str(job.report) != "-" else run.path, summary)


def _check_driver(job: Job, option: str | None) -> None:
    """Raise if options exclude each other, or two of them name the same column."""
    columns_of(job)
    if job.gpu_memory_limit is not None and option is None and job.engine != "cuda":
        raise click.UsageError("--gpu-memory-limit needs --engine cuda, or --gpus on a cluster.")
    if option is None:
        if job.strategy != "auto":
            raise click.UsageError("--strategy is for a cluster: give --workers, --scheduler or --gpus, too.")
        return
    if job.workers is not None and job.scheduler is not None:
        raise click.UsageError("--workers and --scheduler cannot be combined.")
    if job.output is None or str(job.output) == "-":
        raise click.UsageError(f"{option} needs a directory to write to: name it with -o.")
    for name in ("trace", "to", "format", "engine", "threads", "memory_limit", "spill_dir"):
        if getattr(job, name) not in (None, False, "auto"):
            raise click.UsageError(f"{option} and --{name.replace('_', '-')} cannot be combined.")
    if job.gpu_memory_limit is not None and (not job.gpus or job.scheduler is not None):
        raise click.UsageError("--gpu-memory-limit needs --gpus, and no --scheduler.")


def _read_files(job: Job) -> list[Path]:
    """Return the files that are read, which no output may replace."""
    return [*job.inputs, *filter(None, [job.points])]


def _check_report(job: Job) -> None:
    """Raise before any file is read if the report cannot be made."""
    if job.report is None:
        for option in ("--points", "--id", "--coordinates", "--color"):
            if getattr(job, option[2:]):
                raise click.UsageError(f"{option} is for the picture of a report: name its page with --report.")
        return
    if job.by:
        raise click.UsageError("--report is of one forest, and --by makes one of every group.")
    if str(job.report) != "-":
        check_output(job.report, "html", _read_files(job))
    elif "title" not in vars(job):
        raise click.UsageError("--report - would mix the page with other output: name a file.")


def _write_report(job: Job, forest: Forest, points: Any, summary: dict[str, Any]) -> None:
    """Draw the page of a forest, and write it."""
    import dfmst

    title = named_after(job.inputs)
    drawn = forest.report(
        points=points,
        **job.pick("id", "color"),
        coordinates=job.coordinates or None,
        title=job.pick("title").get("title") or title,
        note=f"Made by dfmst {dfmst.__version__} from {title}",
        run=summary,
    )
    if str(job.report) == "-":
        standard_output().write(drawn.html.encode())  # the page says that it is UTF-8
    else:
        drawn.save(job.report)


def _print_summary(job: Job, target: Path | None, summary: dict[str, Any]) -> None:
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


def _facts(job: Job, summary: dict[str, Any]) -> Iterator[tuple[tuple[str, str, str], str]]:
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
