"""The command line: ``dfmst forest`` and the other commands.

Data goes to files or to standard output, notes and progress to standard error. The exit status is 0, or
2 if the input or the command is wrong, 1 if something failed, 130 after an interrupt.

Commands import what they need when they run, so that ``dfmst --help`` answers at once.
"""

from __future__ import annotations

import click

import dfmst
from dfmst.cli.demo import demo
from dfmst.cli.forest import forest, plan, report, update, verify
from dfmst.cli.options import debug_option
from dfmst.cli.program import Program
from dfmst.cli.tables import (
    clusters,
    components,
    convert,
    hdbscan,
    knn_edges,
    linkage,
    linked_rows,
    newick,
    points_forest,
)

__all__ = ["main"]


@click.group(cls=Program, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(dfmst.__version__, prog_name="dfmst", message="%(prog)s %(version)s")
@debug_option
def main() -> None:
    """Minimum spanning forests of edge tables in files.

    Reads Parquet, Arrow, CSV and the usual graph formats; `dfmst demo` shows it at work.

    Data goes to the file named with -o or to standard output, notes to standard error. Exit status: 0 done,
    2 wrong input or command, 1 failure (for verify: not a minimum spanning forest), 130 interrupted.
    """


_TABLES = (forest, components, clusters, linked_rows, linkage, newick, hdbscan, points_forest, knn_edges)
for command in (*_TABLES, verify, update, convert, plan, report, demo):
    main.add_command(command)
