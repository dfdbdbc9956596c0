"""``dfmst plan``."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Any

import click

from dfmst.cli.console import note, print_json
from dfmst.cli.inputs import check_inputs
from dfmst.cli.options import debug_option, json_option, to_path, vertex_options

__all__ = ["plan"]


@click.command(short_help="Say what a forest takes on a cluster.")
@click.argument("inputs", nargs=-1, metavar="[IN]...", callback=to_path)
@click.option("--vertices", type=click.IntRange(min=1), metavar="N", help="Vertices (of IN: from its footers).")
@click.option("--edges", type=click.IntRange(min=1), metavar="M", help="Rows (of IN: from its footers).")
@click.option("--partitions", type=click.IntRange(min=1), metavar="P", help="Files (of IN: as many as there are).")
@click.option("--workers", type=click.IntRange(min=1), default=2, show_default=True, metavar="W", help="Processes.")
@click.option("--memory", default="4GiB", show_default=True, metavar="SIZE", help="What each worker may use.")
@click.option(
    "--strategy",
    type=click.Choice(["auto", "two-pass", "merge", "shuffle"]),
    default="auto",
    show_default=True,
    help="For which strategy.",
)
@vertex_options
@json_option
@debug_option
def plan(**options: Any) -> None:
    """Predict strategy, bytes moved and peak memory of a forest on a cluster, and show the formulas.

    The size comes from --vertices, --edges and --partitions, or from the footers of Parquet files.

    \b
      dfmst plan --vertices 1_700_000_000 --edges 62_000_000_000 --partitions 8000 --workers 8 --memory 256GiB
      dfmst plan edges/ --workers 4 --memory 8GiB
    """  # noqa: D301 - click's mark for lines that stay as they are
    from dfmst._cluster.plan import plan as predict
    from dfmst.stream.memory import parse_memory

    vertices, edges, partitions = _size(options)
    try:
        memory = parse_memory(options["memory"])
    except ValueError:
        raise click.UsageError(f"--memory {options['memory']}: write it as 8GiB, 700MB or a number of bytes.") from None
    workers, strategy = options["workers"], options["strategy"]
    found = predict(vertices, edges, partitions=partitions, workers=workers, memory=memory, strategy=strategy)
    if options["json"]:
        size = {"vertices": vertices, "edges": edges, "partitions": partitions, "workers": workers}
        print_json({**size, **asdict(found)})
        return
    click.echo(f"n = {vertices:,} vertices, m = {edges:,} edges, P = {partitions:,} partitions")
    click.echo(f"W = {workers:,} workers, M = {memory / 1e9:,.1f} GB each")
    click.echo(f"strategy     {found.strategy}")
    click.echo(f"reads        {found.reads}, and one to write the rows")
    if found.strategy == "shuffle":
        click.echo(f"rounds       {found.rounds} = {found.formulas['rounds']}")
    click.echo(f"bytes moved  {found.bytes_moved / 1e9:,.2f} GB = {found.formulas['bytes_moved']}")
    click.echo(f"peak memory  {found.peak_memory / 1e9:,.2f} GB a worker = {found.formulas['peak_memory']}")
    if not found.fits:
        note("it does not fit: take more or larger workers")


def _size(options: dict[str, Any]) -> tuple[int, int, int]:
    inputs: tuple[Path, ...] = options["inputs"]
    given = options["vertices"], options["edges"], options["partitions"] or 1
    if not inputs:
        if None in given:
            raise click.UsageError("Name Parquet files, or give --vertices and --edges.")
        return given
    check_inputs(inputs)
    from dfmst._cluster.partitions import FileRows, file_size
    from dfmst.formats.parquet import parquet_files

    files = [file for path in inputs for file in (parquet_files(path) if path.is_dir() else [path])]
    size = file_size([FileRows(str(file)) for file in files], (options["source"], options["target"]))
    if size is None or (size.vertices is None and given[0] is None):
        raise click.UsageError("the files do not tell how many vertices there are; give --vertices.")
    return given[0] or size.vertices or 1, given[1] or max(size.rows, 1), options["partitions"] or len(files)
