"""``dfmst forest`` and ``dfmst report``."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from dfmst.cli import options as shared
from dfmst.cli.drivers import run
from dfmst.cli.job import ForestJob, weight_name
from dfmst.cli.options import GroupedCommand, choice, path_option, several

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
    choice("--strategy", "auto", "two-pass", "merge", "shuffle", help="How to find the forest on a cluster."),
    click.option(
        "--gpus", is_flag=True, help="Give each worker a GPU (dask-cuda); without --workers, one worker for each GPU."
    ),
)


@click.command(cls=GroupedCommand, short_help="Write the minimum spanning forest of edge tables.")
@shared.inputs_argument
@shared.output_options
@graph_options
@shared.condition_options
@run_options
@cluster_options
@shared.json_option
def forest(weight: str | None, unweighted: bool, **options: Any) -> None:
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
    run(ForestJob(weight=weight_name(weight, unweighted, options["maximum"]), **options))


@click.command(cls=GroupedCommand, short_help="Draw graph, run and forest on one page.")
@shared.inputs_argument
@path_option("-o", "--output", metavar="OUT", help="File to write (default: IN with .html).")
@graph_options
@click.option("--verify", is_flag=True, help="Prove the forest minimal, and say so on the page.")
@click.option("--title", metavar="TEXT", help="Name of the graph (default: that of IN).")
def report(inputs: tuple[Path, ...], output: Path | None, weight: str | None, unweighted: bool, **options: Any) -> None:
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
    page = output or Path(f"{inputs[0].name.split('.')[0].removeprefix('demo:') or 'report'}.html")
    column = weight_name(weight, unweighted, options["maximum"])
    run(ForestJob(inputs=inputs, output=None, weight=column, report=page, **options), page_only=True)
