"""``dfmst newick``."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from dfmst.cli.console import Progress, Stopwatch, note, plural, standard_output
from dfmst.cli.inputs import columns_by_option, load_libraries, read_inputs
from dfmst.cli.job import weight_name
from dfmst.cli.options import (
    debug_option,
    format_option,
    inputs_argument,
    invalid_option,
    to_path,
    vertex_options,
    weight_options,
)
from dfmst.cli.outputs import check_output, output_path

__all__ = ["newick"]


@click.command(short_help="Write the trees, or a dendrogram, in the Newick format.")
@inputs_argument
@click.option(
    "-o", "--output", metavar="OUT", callback=to_path, help="File to write; without it, or with -, standard output."
)
@format_option
@vertex_options
@weight_options
@click.option("--linkage", is_flag=True, help="Write the dendrogram of the rows, not their forest.")
@invalid_option
@debug_option
def newick(
    inputs: tuple[Path, ...],
    output: Path | None,
    format: str | None,
    source: str,
    target: str,
    weight: str | None,
    unweighted: bool,
    maximum: bool,
    linkage: bool,
    invalid: Any,
) -> None:
    """Write the trees of IN's forest in the Newick format, one line a tree.

    A tree's root is its smallest vertex. With --linkage the vertices are leaves, and the text is the single-linkage
    dendrogram, which tools of phylogenetics draw.

    \b
      dfmst newick roads.parquet -o forest.nwk
      dfmst newick roads.parquet --linkage -o dendrogram.nwk
    """  # noqa: D301 - click's mark for lines that stay as they are
    column = weight_name(weight, unweighted, maximum)
    if linkage and (column is None or maximum):
        raise click.UsageError(f"--linkage and --{'maximum' if maximum else 'unweighted'} cannot be combined.")
    columns, path, watch = columns_by_option(source, target, column), output_path(output, False), Stopwatch()
    check_output(path, "csv", inputs)  # any name will do
    load_libraries()
    with Progress() as progress:
        table = read_inputs(inputs, format, progress, columns)
        progress.show(f"writing the trees of {plural(table.num_rows, 'row')}")
        text = _text(table, source, target, column, linkage, maximum=maximum, invalid=invalid)
        _write(text + "\n" if text else "", path)
    trees = plural(text.count(";\n") + text.endswith(";"), "tree")
    note(f"{trees}, {watch.seconds()['total']:.2f} s" + ("" if path is None else f" -> {path}"))


def _text(table: Any, source: str, target: str, weight: str | None, linkage: bool, **options: Any) -> str:
    import dfmst

    if not linkage:
        return dfmst.newick(table, source, target, weight, **options)
    merges = dfmst.single_linkage(table, source, target, weight, invalid=options["invalid"])
    vertices = dfmst.connected_components(table, source, target, invalid=options["invalid"])["vertex"]
    return dfmst.newick(merges, names=vertices)


def _write(text: str, path: Path | None) -> None:
    from dfmst.formats import atomic_path

    if path is None:
        standard_output().write(text.encode())
        standard_output().flush()
        return
    with atomic_path(path) as temporary:
        temporary.write_text(text, encoding="utf-8")
