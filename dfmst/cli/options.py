"""The options that several commands share."""

from __future__ import annotations

import errno
import os
from pathlib import Path
from typing import Any

import click

from dfmst.cli.program import DEBUG
from dfmst.errors import DfmstError, did_you_mean

#: Where the flag of ``--ignore-counts`` stands in the context's ``meta``.
IGNORE_COUNTS = "dfmst.ignore_counts"

#: Where the context's ``meta`` has the paths that were written with a separator at their end.
DIRECTORIES = "dfmst.directories"


def to_path(ctx: click.Context, param: click.Parameter, value: Any) -> Any:
    """Turn names into paths; an empty name, as from a variable that is not set, must not mean this directory."""
    if value is None:
        return None
    if isinstance(value, tuple):
        return tuple(to_path(ctx, param, name) for name in value)
    if not value:
        raise click.BadParameter("the name is empty.", ctx, param)
    if param.name in ("inputs", "edges", "points") and is_demo(value):
        return demo_path(value)
    try:
        Path(value).lstat()
    except (OSError, ValueError) as error:
        # What else may be wrong with it, the command says: that depends on whether the file is read or written.
        if isinstance(error, ValueError) or error.errno == errno.ENAMETOOLONG:
            reason = "it is too long" if isinstance(error, OSError) else "it holds a zero byte or no text"
            raise click.BadParameter(f"{value[:40]!r} is no name of a file: {reason}.", ctx, param) from error
    if value.endswith((os.sep, os.altsep or os.sep)):
        ctx.meta.setdefault(DIRECTORIES, set()).add(Path(value))
    return Path("-" if value == "/dev/stdout" and param.name == "output" else value)


def _known_algorithm(ctx: click.Context, param: click.Parameter, value: str) -> str:
    """Refuse an unknown name; the names are looked up only when one is given, because that loads NumPy."""
    if value == "auto":
        return value
    from dfmst.algorithms import REGISTRY

    if value not in REGISTRY:
        known = ", ".join(map(repr, ("auto", *REGISTRY)))
        suggestion = did_you_mean(value, ("auto", *REGISTRY)).capitalize()
        raise click.BadParameter(f"{value!r} is not one of {known}. {suggestion}".rstrip(), ctx, param)
    return value


def algorithm_option(command: Any) -> Any:
    """``--algorithm``."""
    help_ = "Name of the algorithm; all give the same rows."
    return click.option(
        "--algorithm", default="auto", show_default=True, metavar="NAME", callback=_known_algorithm, help=help_
    )(command)


def counts_ignored() -> bool:
    """Whether the command that runs was called with ``--ignore-counts``."""
    ctx = click.get_current_context(silent=True)
    return ctx is not None and bool(ctx.meta.get(IGNORE_COUNTS))


def _remember_counts(ctx: click.Context, param: click.Parameter, value: bool) -> None:
    ctx.meta[IGNORE_COUNTS] = value


def _remember_debug(ctx: click.Context, param: click.Parameter, value: bool) -> None:
    if value:
        ctx.meta[DEBUG] = True


def debug_option(command: Any) -> Any:
    """``--debug``, before or after the command's name."""
    help_ = "Show the traceback of an error (so does DFMST_DEBUG=1)."
    return click.option("--debug", is_flag=True, expose_value=False, callback=_remember_debug, help=help_)(command)


def inputs_argument(command: Any) -> Any:
    """``IN...``, one or more files."""
    return click.argument("inputs", nargs=-1, required=True, metavar="IN...", callback=to_path)(command)


def output_options(command: Any) -> Any:
    """``-o`` and ``--to``."""
    where = "File to write; without it, or with -, the rows go to standard output as CSV."
    kind = "Format to write: csv, tsv, parquet or arrow (default: from OUT's suffix)."
    command = click.option("--to", metavar="FORMAT", help=kind)(command)
    return click.option("-o", "--output", metavar="OUT", callback=to_path, help=where)(command)


def format_option(command: Any) -> Any:
    """``--format`` and ``--ignore-counts``, those of the input."""
    counts = "Read files that have other rows than their header counts."
    command = click.option("--ignore-counts", is_flag=True, expose_value=False, callback=_remember_counts, help=counts)(
        command
    )
    help_ = "Format of IN (default: from its name and its first bytes)."
    return click.option("--format", "--from", "format", metavar="FORMAT", help=help_)(command)


def vertex_options(command: Any) -> Any:
    """``-s`` and ``-t``."""
    for letter, name, end in (("-t", "target", "the other"), ("-s", "source", "one")):
        help_ = f"Column with the vertex at {end} end."
        command = click.option(letter, f"--{name}", default=name, show_default=True, metavar="COLUMN", help=help_)(
            command
        )
    return command


def weight_options(command: Any) -> Any:
    """``-w``, ``--unweighted`` and ``--maximum``."""
    maximum = "Maximum instead of minimum: heavier rows first."
    unweighted = "Give all rows the same weight; earlier rows first."
    weight = "Column with the weight.  [default: weight]"
    command = click.option("--maximum", is_flag=True, help=maximum)(command)
    command = click.option("--unweighted", is_flag=True, help=unweighted)(command)
    return click.option("-w", "--weight", metavar="COLUMN", help=weight)(command)


def condition_options(command: Any) -> Any:
    """``--by``, ``--keep`` and ``--drop``."""
    drop = "Boolean column of the rows that must not be in the forest."
    keep = "Boolean column of the rows that must be in the forest."
    by = "Column that names groups, each with a forest of its own; several together name one."
    command = click.option("--drop", metavar="COLUMN", help=drop)(command)
    command = click.option("--keep", metavar="COLUMN", help=keep)(command)
    return click.option("--by", multiple=True, metavar="COLUMN", help=by)(command)


def picture_options(command: Any) -> Any:
    """``--points``, ``--id`` and ``--coordinates``."""
    two = "Columns with longitude and latitude, or x and y: of FILE, or of the edges (a_X, b_X for ends a and b)."
    command = click.option("--coordinates", nargs=2, metavar="X Y", help=two)(command)
    command = click.option("--id", metavar="COLUMN", help="Column of FILE with the vertices (default: its first).")(
        command
    )
    where = "Coordinates of the vertices, for a map: any format that is read, or GeoParquet."
    return click.option("--points", metavar="FILE", callback=to_path, help=where)(command)


def point_options(command: Any) -> Any:
    """``-c`` and ``--id``."""
    name = "Column that names the points (default: their row does)."
    which = "Column with coordinates, once an axis (default: all but that of --id)."
    command = click.option("--id", "ids", metavar="COLUMN", help=name)(command)
    return click.option("-c", "--column", "columns", multiple=True, metavar="COLUMN", help=which)(command)


def threads_option(command: Any) -> Any:
    """``--threads``."""
    help_ = "Threads to use on the CPU (default: every processor)."
    return click.option("--threads", type=click.IntRange(min=1), metavar="N", help=help_)(command)


def engine_options(command: Any) -> Any:
    """``--engine`` and ``--threads``."""
    engines = click.Choice(["auto", "cpu", "cuda"])
    option = click.option("--engine", type=engines, default="auto", show_default=True, help="Where to run.")
    return option(threads_option(command))


def invalid_option(command: Any) -> Any:
    """``--invalid``."""
    choice = click.Choice(["raise", "drop"])
    help_ = "What to do with rows whose ids are null or whose weight is null or NaN."
    return click.option("--invalid", type=choice, default="raise", show_default=True, help=help_)(command)


def json_option(command: Any) -> Any:
    """``--json``."""
    help_ = "Print one JSON object about the run to standard output; without -o the rows are then not written."
    return click.option("--json", is_flag=True, help=help_)(command)


def memory_option(command: Any) -> Any:
    """``--memory-limit``."""
    help_ = "Limit of memory; larger Parquet files are read in batches: 2GiB, 700MB."
    return click.option("--memory-limit", metavar="SIZE", help=help_)(command)


#: What stands before the name of a file of the demo's.
DEMO = "demo:"

_FILES = {"cities": "cities.parquet", "points": "city_points.parquet"}


def is_demo(name: str) -> bool:
    """Return whether a name is a demo file and no local file has that name."""
    return name.startswith(DEMO) and not Path(name).exists()


def demo_path(name: str) -> Path:
    """Return the path of a demo file: links between the world's cities, or the cities' coordinates."""
    known = name.removeprefix(DEMO)
    if known not in _FILES:
        raise DfmstError(f"unknown demo file {name}", f"choose {' and '.join(DEMO + one for one in _FILES)}")
    package = Path(__file__).parents[1]
    # An editable installation reads the files of the source tree.
    places = [folder / _FILES[known] for folder in (package / "data", package.parent / "examples" / "data")]
    for place in places:
        if place.is_file():
            return place
    raise DfmstError(f"the demo data is missing: {places[0]}", "install dfmst again")


#: Title of a group -> names of its parameters; what is in none of them comes last.
GROUPS = {
    "Input": ("format", "ignore_counts", "source", "target", "weight", "unweighted", "invalid", "by", "keep", "drop"),
    "Output": ("output", "to", "json", "trace", "report"),
    "Picture of the report": ("points", "id", "coordinates", "title"),
    "Algorithm": ("maximum", "algorithm", "engine", "threads", "verify"),
    "Files larger than memory": ("memory_limit", "checkpoint", "spill_dir"),
    "Cluster": ("workers", "scheduler", "strategy"),
}


class GroupedCommand(click.Command):
    """A command that lists its options by what they are for."""

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the options, group by group."""
        options = [param for param in self.get_params(ctx) if isinstance(param, click.Option)]
        entries = {param.name: param.get_help_record(ctx) for param in options}
        named = {name for names in GROUPS.values() for name in names}
        groups = {**GROUPS, "Other": tuple(name or "" for name in entries if name not in named)}
        for title, names in groups.items():
            rows = [record for name in names if (record := entries.get(name)) is not None]
            if rows:
                with formatter.section(title):
                    formatter.write_dl(rows)
