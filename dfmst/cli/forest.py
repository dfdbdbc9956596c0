"""``dfmst forest``, ``report``, ``verify``, ``update`` and ``plan``: commands about forests."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing, nullcontext
from dataclasses import asdict, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

import click
from click.core import ParameterSource

import dfmst
from dfmst.cli import options as shared
from dfmst.cli.console import (
    Progress,
    aligned,
    counted,
    figure,
    note,
    on_terminal,
    print_json,
    print_text,
    standard_output,
)
from dfmst.cli.drivers import (
    cluster_option,
    deliver_forest,
    find_in_memory,
    finder_of,
    forest_columns,
    in_batches,
    memory_bytes,
    summary_of,
)
from dfmst.cli.job import (
    CommandRun,
    Job,
    check_inputs,
    check_output,
    command,
    load_libraries,
    named_after,
    output_path,
    print_run,
    weight_name,
)
from dfmst.cli.options import GroupedCommand, choice, path_option, several
from dfmst.cli.program import FAILURE
from dfmst.errors import InvalidEdgesError

if TYPE_CHECKING:
    import pyarrow as pa

    from dfmst.forest import Forest
    from dfmst.formats import Provenance

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
      dfmst forest roads/ -w km -o forest/ --gpus --gpu-memory-limit 40GiB

    Files that exceed --memory-limit, or --gpu-memory-limit with --engine cuda, are read in batches, twice: first the
    three columns, then the other columns of the forest's rows. A line says so if nobody asked for a limit. With
    --checkpoint, the same command resumes a run that was interrupted. With --spill-dir, rows are spilled to that
    directory, which should be on a local disk; a limit of 300 MiB and 10 bytes a vertex is then enough. Integer
    ids that are not numbered from 0 need 64 MiB and 27 bytes a vertex more, and strings their length.

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
    run = CommandRun(job, saved=cluster is not None)  # a cluster saves every finished task
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
    find = finder_of(job)
    with run.progress as progress:
        points = None
        if job.points is not None:
            ordered = [*(job.coordinates or ()), *filter(None, [job.color])]
            points = job.read({"ids": job.ids, "ordered": ordered}, progress, other=job.points)
        explained = nullcontext() if find is find_in_memory else run.explained()
        with explained, closing(find(job, run)) as found:
            if found.driver != "cluster":
                deliver_forest(job, found, run.path or (None if page_only or job.json else standard_output()), run)
            summary = summary_of(job, found, run)
            if job.report is not None:
                progress.show("drawing the report")
                _write_report(job, found, points, summary)
                if not page_only:
                    progress.note(f"report -> {job.report}")
    _print_summary(job, job.report if page_only and str(job.report) != "-" else run.path, summary)


def _check_driver(job: Job, option: str | None) -> None:
    """Raise if options exclude each other, or two of them name the same column."""
    forest_columns(job)
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
        for option in ("--points", "--ids", "--coordinates", "--color"):
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
    title = named_after(job.inputs)
    drawn = forest.report(
        points=points,
        **job.pick("ids", "color"),
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
        inputs = str(job.inputs[0]) if len(job.inputs) == 1 else counted(len(job.inputs), "file")
        note(f"{kind}: {inputs}{written}", *(f"  {line}" for line in aligned([row for row, _ in facts], right=(1,))))
    else:
        note(f"{kind}: {', '.join(words for _, words in facts)}{written}")


def _facts(job: Job, summary: dict[str, Any]) -> Iterator[tuple[tuple[str, str, str], str]]:
    """Yield each fact as the row of a table, and as words of a sentence."""
    rows, trees, time = f"{summary['rows']:,}", summary["components"], f"{summary['seconds']['total']:.2f}"
    yield ("rows", rows, f"of {summary['input_rows']:,}"), f"{rows} of {counted(summary['input_rows'], 'row')}"
    if summary["files"] is not None:
        yield ("files", f"{summary['files']:,}", "Parquet"), counted(summary["files"], "file")
    if summary["dropped_rows"]:
        dropped = summary["dropped_rows"]
        yield ("dropped", f"{dropped:,}", "invalid rows"), f"{counted(dropped, 'invalid row')} dropped"
    if summary["total_weight"] is not None:
        total = figure(summary["total_weight"])
        yield (str(job.weight), total, "in all"), f"total weight {total}"
    if trees is not None:
        vertices = counted(summary["vertices"], "vertex")
        yield ("trees", f"{trees:,}", f"of {vertices}"), f"{counted(trees, 'component')} of {vertices}"
    if summary["verified"]:
        yield ("verified", "yes", "every other row is the last of a cycle"), "verified"
    yield ("time", time, "s"), f"{time} s"


_CONDITIONS = ("by", "keep", "drop")


@command(
    "Check that a file holds the minimum spanning forest of another.",
    shared.path_argument("edges", metavar="EDGES"),
    shared.path_argument("forest", metavar="FOREST"),
    shared.format_option,
    shared.vertex_options,
    shared.weight_options,
    shared.condition_options,
    shared.engine_options,
    shared.invalid_option,
    shared.memory_option,
    shared.json_option,
)
def verify(job: Job) -> None:
    """Check that FOREST, made by any program, is the minimum spanning forest of EDGES.

    Exit status 0 if it does, 1 if not; the first violation goes to standard error. EDGES that exceed
    --memory-limit are read in batches if FOREST is a Parquet file of dfmst, which says which rows it holds.
    A file of dfmst also says which columns, conditions and order it was made with; options come first.

    \b
      dfmst verify roads.parquet forest.parquet
      dfmst verify roads.parquet forest.csv -w km
    """  # noqa: D301 - click's mark for lines that stay as they are
    edges, forest = job.edges, job.forest
    given = vars(job).copy()
    job.weight, job.inputs = weight_name(job, job.maximum), (edges,)
    run = CommandRun(job)
    check_inputs((edges, forest))
    with run.step("import"):
        load_libraries()
        from dfmst.formats import detect_format, open_edges, read_provenance
    with run.progress as progress:
        with run.step("read"):
            kind = detect_format(forest)
            record = read_provenance(open_edges(forest).schema, None) if kind in ("arrow", "parquet") else None
        if record is not None:
            _use_record(job, record, given)
        columns = job.edge_columns(*_CONDITIONS)
        batches = in_batches(job)
        says_rows = kind == "parquet" and record is not None and record.locator is not None
        if batches is not None and (says_rows or not batches.reason):
            with run.step("verify"):
                certificate = batches.run(dfmst.stream.verify, job, run)
        else:
            with run.step("read"):
                table = job.read(columns, progress)
                claimed = job.read(_roles(columns, table.schema), progress, other=forest)
                claimed = _with_texts(claimed, table.schema)
            progress.show("verifying")
            with run.step("verify"):
                certificate = dfmst.verify(**{**job.arguments(dfmst.verify), "edges": table, "forest": claimed})
    violation = None if certificate.first_violation is None else certificate.first_violation.message
    if job.json or violation is None:
        total = certificate.total_weight
        figures = {"edges": edges, "forest": forest, **asdict(certificate), "first_violation": violation}
        kind = "spanning" if job.weight is None else "maximum spanning" if job.maximum else "minimum spanning"
        weight = "" if total is None else f"total weight {figure(total)}, "
        rows, parts = counted(certificate.rows, "row"), counted(certificate.components, "component")
        print_run(job.json, figures, f"{forest} is a {kind} forest of {edges}: {rows}, {weight}{parts}", run)
    if violation is not None:
        note(f"{forest} is wrong: {violation}")
        click.get_current_context().exit(FAILURE)


def _with_texts(table: pa.Table, schema: pa.Schema) -> pa.Table:
    """Return a table with texts again where all texts of a file were written as numbers are."""
    import pyarrow as pa

    for at, field in enumerate(table.schema):
        kind = schema.field(field.name).type if field.name in schema.names else pa.null()
        kind = kind.value_type if pa.types.is_dictionary(kind) else kind
        if (pa.types.is_string(kind) or pa.types.is_large_string(kind)) and pa.types.is_primitive(field.type):
            table = table.set_column(at, field.name, table.column(at).cast(kind))
    return table


def _roles(columns: dict[str, Any], schema: pa.Schema) -> dict[str, Any]:
    """Return the columns that a forest is read with: weights of text only if the edges' are no numbers."""
    import pyarrow as pa

    weights = [columns.get("weight")] if isinstance(columns.get("weight"), str) else columns.get("weight") or []
    kinds = [schema.field(name).type for name in weights if name in schema.names]
    numbers = all(
        pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_decimal(kind) for kind in kinds
    )
    return columns if numbers else {name: value for name, value in columns.items() if name != "weight"}


def _use_record(job: Job, record: Provenance, given: dict[str, Any]) -> None:
    """Take the columns and conditions that the forest's file names, if no option names others."""
    source_of = click.get_current_context().get_parameter_source
    for end, name in zip(("source", "target"), record.names, strict=False):
        if source_of(end) != ParameterSource.COMMANDLINE:
            setattr(job, end, name)
    if given["weight"] is None and not given["unweighted"]:
        job.weight = record.names[2]
    if not any(given[name] for name in _CONDITIONS):
        vars(job).update(record.condition_columns())
    job.maximum = job.maximum or record.maximum


@command(
    "Add new rows to a forest.",
    shared.path_argument("forest", metavar="FOREST"),
    shared.path_argument("inputs", nargs=-1, required=True, metavar="NEW..."),
    shared.output_options,
    shared.format_option,
    shared.algorithm_option,
    shared.engine_options,
    shared.invalid_option,
    shared.memory_option,
    shared.spill_option,
    shared.json_option,
)
def update(job: Job) -> None:
    """Write the forest of all rows, old and new, from FOREST and the rows of NEW alone.

    FOREST is a Parquet or Arrow file that dfmst has written. It says which columns it was made with, whether it is a
    minimum or a maximum spanning forest, and which rows it holds; the new rows come after all of them. A Parquet file
    that exceeds the limit of memory is read in batches; the new rows must fit.

    \b
      dfmst forest monday.parquet -w km -o forest.parquet
      dfmst update forest.parquet tuesday.parquet -o forest.parquet
    """  # noqa: D301 - click's mark for lines that stay as they are
    forest, inputs = job.forest, job.inputs
    check_inputs((forest, *inputs))
    with job.running() as run:  # OUT may be FOREST, which is read first
        from dfmst.forest import total_weight
        from dfmst.formats import check_same_columns, read_provenance

        # In memory, its rows are copied next to the new ones.
        batches = in_batches(Job(**{**vars(job), "inputs": (forest, forest), "format": None}))
        with run.step("read"):
            old: Any = job.open({}, run.progress, other=forest)
            old = old if batches else job.read({}, run.progress, other=forest)
            record = read_provenance(old.schema, None)
            if record is None:
                message = f"{forest} does not say how it was made"
                raise InvalidEdgesError(message, "use a Parquet or Arrow file that dfmst forest has written")
            columns = dict(zip(("source", "target", "weight"), record.names, strict=True))
            new = _with_texts(job.read(_roles(columns, old.schema), run.progress), old.schema)
            if {*old.schema.names} != {*new.column_names}:
                check_same_columns(forest, old.schema, inputs[0], new.schema)
        run.progress.show(f"adding {counted(new.num_rows, 'row')} to {forest}")
        given = columns | {"maximum": record.maximum}
        with run.step("solve"):
            if batches is None:
                rows: Any = dfmst.update(**{**job.arguments(dfmst.update), **given, "forest": old, "new_edges": new})
                weights = rows[record.names[2]] if isinstance(record.names[2], str) else None
                sizes, total = (old.num_rows, rows.num_rows), None if weights is None else total_weight(weights)
            else:
                update_file = partial(dfmst.stream.fold_update, forest)
                rows = replace(batches, edges=new).run(update_file, job, run, **given)
                sizes, total = (rows.source_rows - new.num_rows, rows.rows), rows.total_weight
        run.write(job, rows, _write_found if batches else None)
        order, all_rows = "maximum" if record.maximum else "minimum", record.rows + new.num_rows
        counts = {"old_rows": sizes[0], "new_rows": new.num_rows, "rows": sizes[1], "all_rows": all_rows}
        run.figures = {"order": order, **counts, "total_weight": total}
        run.text = f"{order} spanning forest: {counted(sizes[1], 'row')} of {all_rows:,}"
        run.text += "" if total is None else f", total weight {figure(total)}"


def _write_found(found: Forest, path: Path | None, format: str | None) -> None:
    found.write(path or standard_output(), format or (None if path else "csv"))


_STREAMS = ("stream", "spill", "components", "clusters")
_count = partial(click.option, type=click.IntRange(1, (1 << 63) - 1))


class _Plan(GroupedCommand):
    """The command, whose limits are those of the workers."""

    groups: ClassVar[dict[str, str]] = {
        "Graph": "n_vertices n_edges partitions largest_partition id_bytes exact source target weight",
        "Cluster": "workers memory_limit disk_limit gpus gpu_memory_limit strategy",
    }
    rarely = ""


@command(
    "Say what a forest takes on a cluster, or streamed.",
    shared.path_argument("inputs", nargs=-1, metavar="[IN]..."),
    _count("--n-vertices", metavar="N", help="Number of vertices (of IN: from its footers)."),
    _count("--n-edges", metavar="M", help="Number of rows (of IN: from its footers)."),
    _count("--partitions", metavar="P", help="Number of partitions (default: the files of IN)."),
    _count("--largest-partition", metavar="ROWS", help="Rows of the largest partition (of IN: from its footers)."),
    _count("--workers", metavar="W", help="Number of processes (default: 2; of a stream 1)."),
    click.option(
        "--memory-limit",
        metavar="SIZE",
        help="Limit of memory for each worker (default: 4GiB; with GPUs twice a GPU's).",
    ),
    click.option("--disk-limit", metavar="SIZE", help="Space on the disk of each worker (default: enough)."),
    _count("--gpus", metavar="G", help="Workers with a GPU each, in place of --workers."),
    click.option("--gpu-memory-limit", metavar="SIZE", help="Memory of each GPU."),
    choice(
        "--strategy",
        *("auto", "merge", "shuffle", "labels", *_STREAMS),
        help="Strategy to plan; of one process: stream, spill (rows on disk), components, clusters.",
    ),
    _count(
        "--id-bytes",
        metavar="B",
        help="Bytes of an id: 4 if numbered from 0, 8 for other integers, 8 + length for strings.",
    ),
    click.option("--details", is_flag=True, help="Show all quantities, with their formulas."),
    click.option("--exact", is_flag=True, help="Count vertices without error, in all rows of IN."),
    shared.vertex_options,
    click.option("-w", "--weight", metavar="COLUMN", help="Column with the weight; IN must have it."),
    shared.json_option,
    cls=_Plan,
)
def plan(job: Job) -> None:
    """Say whether a forest fits a cluster or a stream, and predict peak memory, disk and CPU time.

    A quantity that passes its limit comes first. --details shows all quantities with their formulas.

    The size comes from --n-vertices, --n-edges and --partitions, or from the footers of Parquet files. The exit status
    is 1 if it does not fit.

    \b
      dfmst plan --n-vertices 17_000_000 --n-edges 620_000_000 --partitions 800
      dfmst plan edges/ --workers 4 --memory-limit 8GiB
      dfmst plan edges/ --gpus 8 --gpu-memory-limit 141GB
    """  # noqa: D301 - click's mark for lines that stay as they are
    if not job.inputs and None in (job.n_vertices, job.n_edges):
        raise click.UsageError("Name Parquet files, or give --n-vertices and --n-edges.")
    streams = job.strategy in _STREAMS
    if (job.gpus is None) != (job.gpu_memory_limit is None) or (job.gpus and streams):
        raise click.UsageError("--gpus and --gpu-memory-limit go together, and with a strategy of a cluster.")
    job.workers = job.workers or (1 if streams else 2)
    if job.workers > 1 and job.strategy in ("stream", "spill"):
        raise click.UsageError(f"--strategy {job.strategy} is one process: leave --workers out.")
    job.memory_limit = memory_bytes(job, "memory_limit", auto=streams)
    job.disk_limit = memory_bytes(job, "disk_limit")
    job.gpu_memory_limit = memory_bytes(job, "gpu_memory_limit")
    check_inputs(job.inputs)
    options = {name: value for name, value in vars(job).items() if name not in ("inputs", "weight", "json")}
    prediction = dfmst.plan(files=job.inputs, **options)
    if job.weight is not None and job.inputs:
        with Progress() as progress:
            job.open(job.pick("weight"), progress).close()
    if job.json:
        print_json(prediction.to_dict())
    else:
        print_text(repr(prediction))
    if not prediction.fits:
        fix = "raise --memory-limit" if job.workers == 1 and streams else "take more or larger workers"
        note(f"it does not fit: {fix}{', or plan --strategy spill' if job.strategy == 'stream' else ''}")
        click.get_current_context().exit(FAILURE)
