"""``dfmst report``, and ``--report`` of ``dfmst forest``."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from dfmst.cli.console import Progress, Stopwatch, note, plural, standard_output
from dfmst.cli.inputs import (
    check_inputs,
    columns_by_option,
    load_libraries,
    read_inputs,
    read_text_table,
    text_delimiter,
)
from dfmst.cli.job import ForestJob, summary_of, weight_name
from dfmst.cli.options import (
    GroupedCommand,
    algorithm_option,
    debug_option,
    engine_options,
    format_option,
    inputs_argument,
    invalid_option,
    picture_options,
    to_path,
    vertex_options,
    weight_options,
)
from dfmst.cli.outputs import check_output

if TYPE_CHECKING:
    from dfmst import Report


@click.command(cls=GroupedCommand, short_help="Draw graph, run and forest on one page.")
@inputs_argument
@click.option("-o", "--output", metavar="OUT", callback=to_path, help="File to write (default: IN with .html).")
@format_option
@vertex_options
@weight_options
@picture_options
@algorithm_option
@engine_options
@invalid_option
@click.option("--verify", is_flag=True, help="Prove the forest minimal, and say so on the page.")
@click.option("--title", metavar="TEXT", help="Name of the graph (default: that of IN).")
@debug_option
def report(
    inputs: tuple[Path, ...],
    output: Path | None,
    weight: str | None,
    unweighted: bool,
    title: str | None,
    **options: Any,
) -> None:
    """Find the forest of IN, and write a page about graph, run and forest.

    The page is one HTML file that needs no network: key figures, a picture of the forest, weights, degrees, trees, the
    heaviest edges, and where the time went. With coordinates of the vertices the picture is a map; they come from a
    file of points (a column of ids and two of coordinates, or GeoParquet), or from columns beside both ends.

    \b
      dfmst report roads.parquet -w km
      dfmst report roads.csv -s a -t b -w km --points towns.csv --coordinates lon lat
      dfmst report demo:cities -w km -o cities.html
    """  # noqa: D301 - click's mark for lines that stay as they are
    page = output or Path(f"{inputs[0].name.split('.')[0].removeprefix('demo:') or 'report'}.html")
    check_page(page, inputs)
    job = ForestJob(
        inputs=inputs,
        output=None,
        to=None,
        weight=weight_name(weight, unweighted, options["maximum"]),
        trace=Path("-"),
        json=False,
        report=page,
        **options,
    )
    watch = Stopwatch()
    columns = columns_by_option(job.source, job.target, job.weight)
    check_inputs(inputs)
    with watch.step("import"):
        load_libraries()
        from dfmst.cli.forest import find_forest
    with Progress() as progress:
        points = read_points(job, progress)
        with watch.step("read"):
            table = read_inputs(inputs, job.format, progress, columns)
        solution = find_forest(job, table, watch, progress)
        progress.show("drawing")
        drawn = make_report(job, solution, summary_of(job, solution, watch), points, title)
        if str(page) == "-":
            standard_output().write(drawn.html.encode())  # the page says that it is UTF-8
            return
        drawn.save(page)
    rows, of = f"{solution.rows:,}", plural(solution.source_rows, "row")
    note(f"{job.kind}: {rows} of {of}, {watch.seconds()['total']:.2f} s -> {page}")


def check_page(page: Path, inputs: tuple[Path, ...]) -> None:
    """Raise, before anything is read, where a page could not be written in the end."""
    if str(page) != "-":
        check_output(page, "csv", inputs)  # the rules of any file; the format has no part in them


def check_report(job: ForestJob, target: Path | None, streamed: bool) -> None:
    """Raise, before anything is read, where a report could not be made in the end."""
    if job.report is None:
        for option, value in (("--points", job.points), ("--id", job.id), ("--coordinates", job.coordinates)):
            if value:
                raise click.UsageError(f"{option} is for the picture of a report: name its page with --report.")
        return
    if job.by:
        raise click.UsageError("--report is of one forest, and --by makes one of every group.")
    if streamed and target is None:
        raise click.UsageError("--report of a stream reads the forest from its file: name it with -o.")
    check_page(job.report, job.inputs)
    if str(job.report) == "-" or (target is not None and target.resolve() == job.report.resolve()):
        raise click.UsageError("--report names the file of the page, another one than -o.")


def read_points(job: ForestJob, progress: Progress) -> Any:
    """Read the table of coordinates that ``--points`` names; ``None`` where there is none."""
    if job.points is None:
        return None
    delimiter = text_delimiter(job.points)
    if delimiter is None:
        return read_inputs((job.points,), None, progress, {"--id": job.id})
    check_inputs((job.points,))
    return read_text_table(job.points, delimiter, job.id or 0)  # text is compared in the type of the edges' ids


def make_report(
    job: ForestJob, forest: Any, summary: Mapping[str, Any], points: Any = None, title: str | None = None
) -> Report:
    """Draw the page of a solution, or of a forest's rows that another run has found."""
    import dfmst

    more = "" if len(job.inputs) == 1 else f" and {plural(len(job.inputs) - 1, 'file')} more"
    inputs = " ".join(str(path) for path in job.inputs)
    return dfmst.report(
        forest,
        job.source,
        job.target,
        job.weight,
        maximum=job.maximum,
        points=points,
        id=job.id,
        coordinates=job.coordinates or None,
        title=title or f"{job.inputs[0].name}{more}",
        note=f"Made by dfmst {dfmst.__version__} from {inputs}",
        run=summary,
    )


def write_report(job: ForestJob, forest: Any, summary: Mapping[str, Any], progress: Progress) -> None:
    """Write the page that ``--report`` asks for."""
    if job.report is None:
        return
    progress.show("drawing the report")
    if isinstance(forest, Path):
        forest = read_inputs((forest,), None, progress, {})
    make_report(job, forest, summary, read_points(job, progress)).save(job.report)
    progress.note(f"report -> {job.report}")
