"""The options that several commands share."""

from __future__ import annotations

import errno
import os
import shutil
import sys
import tempfile
from collections.abc import Callable
from contextlib import nullcontext
from functools import partial
from pathlib import Path
from typing import Any, ClassVar

import click
from click.shell_completion import CompletionItem

import dfmst
from dfmst.cli.console import naming_full_output
from dfmst.errors import DfmstError, did_you_mean

#: Key of the context's ``meta``: the paths that were written with a separator at their end.
DIRECTORIES = "dfmst.directories"


#: Key of the context's ``meta``: whether the help lists all options.
_ALL = "dfmst.help_all"
#: Key of the context's ``meta``: the pipes that were read.
PIPES = "dfmst.pipes"
#: Names of standard input.
STANDARD_INPUTS = ("-", "/dev/stdin", "/dev/fd/0", "/proc/self/fd/0")
#: Parameters that name files to read.
_READ = ("inputs", "edges", "forest", "points")


def to_path(ctx: click.Context, param: click.Parameter, value: Any) -> Any:
    """Turn names into paths; an empty name, as from a variable that is not set, must not mean this directory."""
    if value is None:
        return None
    if isinstance(value, tuple):
        return tuple(to_path(ctx, param, name) for name in value)
    if not value:
        raise click.BadParameter("the name is empty.", ctx, param)
    if "://" in value:
        return _address(ctx, param, value)
    if param.name in _READ and value in STANDARD_INPUTS:
        return _copied(ctx, param, value)
    if param.name in ("inputs", "edges", "points") and value.startswith(DEMO) and not Path(value).exists():
        return demo_path(value)
    try:
        Path(value).lstat()
        if param.name in _READ and Path(value).is_fifo():
            return _copied(ctx, param, value)
    except (OSError, ValueError) as error:
        # The command itself reports other faults, which depend on whether it reads or writes the file.
        if isinstance(error, ValueError) or error.errno == errno.ENAMETOOLONG:
            reason = "it is too long" if isinstance(error, OSError) else "it holds a zero byte or no text"
            raise click.BadParameter(f"{value[:40]!r} is no name of a file: {reason}.", ctx, param) from error
    if value.endswith((os.sep, os.altsep or os.sep)):
        ctx.meta.setdefault(DIRECTORIES, set()).add(Path(value))
    return Path("-" if value == "/dev/stdout" and param.name == "output" else value)


def _address(ctx: click.Context, param: click.Parameter, value: str) -> Path:
    """Return the address of a file on another machine, which is opened with the command's storage options."""
    from dfmst.formats import Access

    try:
        path = Access(ctx.meta.get("dfmst.storage_options")).path(value)
    except ValueError as error:
        raise click.BadParameter(f"{error}.", ctx, param) from None
    if value.endswith("/"):
        ctx.meta.setdefault(DIRECTORIES, set()).add(path)
    return path


def _storage_options(ctx: click.Context, param: click.Parameter, value: tuple[str, ...]) -> None:
    pairs = [text.partition("=") for text in value]
    if not all(name and sign for name, sign, _ in pairs):
        raise click.BadParameter("write it as KEY=VALUE.", ctx, param)
    ctx.meta["dfmst.storage_options"] = {name: text for name, _, text in pairs} or None


def _copied(ctx: click.Context, param: click.Parameter, name: str) -> Path:
    """Copy standard input, or a named pipe, to a file, as readers look at its first bytes and may read it twice."""
    is_input = name in STANDARD_INPUTS
    title = "standard input" if is_input else name
    read: set[str] = ctx.meta.setdefault(PIPES, set())
    closed = is_input and sys.stdin is None
    if title in read or closed or (is_input and sys.stdin.buffer.isatty()):
        reason = "it can be read once" if title in read else "it is closed" if closed else "it is a terminal"
        raise click.BadParameter(f"{title} cannot be read: {reason}. Name a file.", ctx, param)
    read.add(title)
    folder: str = ctx.find_root().with_resource(tempfile.TemporaryDirectory(prefix="dfmst-"))
    path = Path(folder) / (Path(name).name if not is_input else "standard-input")
    with (
        naming_full_output(f"temporary files in {folder}"),
        path.open("wb") as file,
        nullcontext(sys.stdin.buffer) if is_input else Path(name).open("rb") as stream,
    ):
        shutil.copyfileobj(stream, file, 1 << 20)
    return path


def _known_algorithm(ctx: click.Context, param: click.Parameter, value: str) -> str:
    """Refuse an unknown name. The known ones are loaded, with NumPy, only if a name is given."""
    if value == "auto":
        return value
    names = dfmst.algorithms.REGISTRY
    if value not in names:
        known = ", ".join(map(repr, ("auto", *names)))
        suggestion = did_you_mean(value, ("auto", *names)).capitalize()
        raise click.BadParameter(f"{value!r} is not one of {known}. {suggestion}".rstrip(), ctx, param)
    return value


#: Key of the context's ``meta``: whether errors show their traceback.
DEBUG = "dfmst.debug"


def _debug(ctx: click.Context, param: click.Parameter, value: bool) -> None:
    ctx.meta[DEBUG] = value or ctx.meta.get(DEBUG, False)


def several(*options: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """Join options to one decorator; the help lists them in this order."""

    def decorate(command: Any) -> Any:
        for option in reversed(options):
            command = option(command)
        return command

    return decorate


def _listed(ctx: click.Context, param: click.Parameter, value: tuple[Any, ...]) -> list[Any] | None:
    """Return the values of an option that may be repeated; ``None`` if it is not given."""
    return list(value) or None


def _files(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """Let the shell complete the names of files."""
    return [CompletionItem(incomplete, type="file")]


def _algorithms(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[str]:
    return [name for name in ("auto", *dfmst.algorithms.REGISTRY) if name.startswith(incomplete)]


_column = partial(click.option, metavar="COLUMN")
_columns = partial(_column, multiple=True, callback=_listed)
_flag = partial(click.option, is_flag=True)
path_option = partial(click.option, callback=to_path, shell_complete=_files)
path_argument = partial(click.argument, callback=to_path, shell_complete=_files)
count_option = partial(click.option, type=click.IntRange(min=1))


class _Choice(click.Choice):  # type: ignore[type-arg]  # click 8.1 has no type argument
    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        if value == "two-pass" and "merge" in self.choices:
            self.fail("'two-pass' was removed: merge is faster. Give --strategy merge.", param, ctx)
        return super().convert(value, param, ctx)


def choice(name: str, *values: str, help: str) -> Callable[[Any], Any]:
    """Make an option of fixed values; the first is the default."""
    return click.option(name, type=_Choice(values), default=values[0], show_default=True, help=help)


debug_option = _flag(
    "--debug", expose_value=False, callback=_debug, help="Show the traceback of an error (so does DFMST_DEBUG=1)."
)
storage_option = click.option(
    "--storage-option",
    "storage_options",
    multiple=True,
    metavar="KEY=VALUE",
    expose_value=False,
    is_eager=True,  # before the addresses, which are opened with it
    callback=_storage_options,
    help="Option of the store of s3://, gs:// and az:// addresses: region=…, endpoint_url=…, key=…, secret=…",
)
inputs_argument = path_argument("inputs", nargs=-1, required=True, metavar="IN...")
json_option = _flag(
    "--json", help="Print one JSON object about the run to standard output; without -o the rows are then not written."
)
memory_option = click.option(
    "--memory-limit",
    metavar="SIZE",
    default="auto",
    show_default=True,
    help="Limit of memory, such as 2GiB or 700MB (a plain number: bytes); larger files are read in batches. "
    "auto: a quarter of what is free.",
)
checkpoint_option = path_option("--checkpoint", metavar="DIR", help="Resume from here after an interruption.")
spill_option = path_option("--spill-dir", metavar="DIR", help="Put rows here if vertices do not fit in memory.")
distance_option = _column("-w", "--weight", default="weight", show_default=True, help="Column with the distance.")
threads_option = count_option("--threads", metavar="N", help="Threads to use on the CPU (default: every processor).")
engine_options = several(choice("--engine", "auto", "cpu", "cuda", help="Device to run on."), threads_option)
invalid_option = choice(
    "--invalid", "raise", "drop", help="Refuse or drop rows whose ids are null or whose weight is null or NaN."
)
algorithm_option = click.option(
    "--algorithm",
    default="auto",
    show_default=True,
    metavar="NAME",
    callback=_known_algorithm,
    shell_complete=_algorithms,
    help="Name of the algorithm; all give the same rows.",
)


def _labels_option(command: Any) -> Any:
    """Add --labels, or --node-labels if the command has an option of that name."""
    taken = any(param.name == "labels" for param in getattr(command, "__click_params__", ()))
    option = click.option(
        "node_labels",
        "--node-labels/--no-node-labels" if taken else "--labels/--no-labels",
        default=None,
        help="Take labels, not ids, as the vertices of GML, GraphML, Pajek and JSON (default: ids, of one file).",
    )
    return option(command)


format_option = several(
    click.option(
        "--format",
        "--from",
        "format",
        metavar="FORMAT",
        help="Format of IN (default: from its name and first bytes); IN may be - for standard input.",
    ),
    _flag("--ignore-counts", help="Read files whose number of rows differs from their header."),
    _labels_option,
    _columns("--text", help="Column of a text file that is text as it stands, digits too."),
    click.option("--decimal", type=click.Choice((".", ",")), help="Decimal sign of weights and coordinates in text."),
    click.option(
        "--thousands",
        metavar="SIGN",
        type=click.Choice((",", ".", " ", "'", "_", "\u00a0", "\u202f")),
        help="Sign between thousands in weights and coordinates in text: , . ' _ or a blank, also one without a break.",
    ),
    click.option(
        "--sep",
        metavar="SIGN",
        type=click.Choice((",", ";", "|", " ", "\t", r"\t", "comma", "semicolon", "bar", "blank", "tab")),
        help="Separator of values in text: , ; | tab or blank (default: the one that all rows have equally often).",
    ),
)
output_options = several(
    path_option("-o", "--output", metavar="OUT", help="File to write (default, and -: CSV to standard output)."),
    click.option(
        "--to", metavar="FORMAT", help="Format of OUT: csv, tsv, parquet or arrow (default: from its suffix)."
    ),
)
table_options = several(inputs_argument, output_options, json_option, format_option)
vertex_options = several(
    _column("-s", "--source", default="source", show_default=True, help="Column with the vertex at one end."),
    _column("-t", "--target", default="target", show_default=True, help="Column with the vertex at the other end."),
)
column_options = several(
    _column("-s", "--source", help="Column with the vertex at one end."),
    _column("-t", "--target", help="Column with the vertex at the other end."),
    _column("-w", "--weight", help="Column with the weight."),
    _columns("--by", help="Column of groups or keys."),
)
weight_options = several(
    _column("-w", "--weight", help="Column with the weight.  [default: weight]"),
    _flag("--unweighted", help="Give all rows the same weight; earlier rows first."),
    _flag("--maximum", help="Maximum instead of minimum: heavier rows first."),
)
condition_options = several(
    _columns("--by", help="Column of groups, each with its own forest; several columns form one key."),
    _column("--keep", help="Boolean column of the rows that must be in the forest."),
    _column("--drop", help="Boolean column of the rows that must not be in the forest."),
)
picture_options = several(
    path_option("--points", metavar="FILE", help="Coordinates of the vertices, for a map: any format, or GeoParquet."),
    _column("--ids", help="Column of FILE with the vertices (default: its first)."),
    click.option(
        "--coordinates",
        nargs=2,
        metavar="X Y",
        help="Columns with longitude and latitude, or x and y: of FILE, or of the edges (a_X, b_X for ends a and b).",
    ),
    _column("--color", help="Column that gives the colors: of FILE, or of the edges (also a_COLUMN, b_COLUMN)."),
)
_axes = "Column with coordinates, one for each axis (default: all but that of --ids)."
point_options = several(
    _columns("-c", "--columns", help=_axes),
    _columns(
        "--ids", help="Column that names the points; several name them together (default: the number of the row)."
    ),
    click.option(
        "--metric",
        type=click.Choice(("euclidean", "haversine", "cosine", "correlation", "manhattan", "chebyshev")),
        help="Distance; haversine takes latitude and longitude in degrees, and gives meters.  [default: euclidean; "
        "haversine for geometries in degrees]",
    ),
    _columns("--box", type=float, metavar="LENGTH", help="Length of a periodic box, one an axis."),
)


DEMO = "demo:"  #: prefix of the demo's files
_DATASETS = {"cities": "links", "points": "cities"}


def demo_path(name: str) -> Path:
    """Return the path of a demo file: links between the world's cities, or the cities' coordinates."""
    known = name.removeprefix(DEMO)
    if known not in _DATASETS:
        raise DfmstError(f"unknown demo file {name}", f"choose {' and '.join(DEMO + one for one in _DATASETS)}")
    from dfmst.datasets import path

    return path(_DATASETS[known])


class GroupedCommand(click.Command):
    """A command that lists its options in groups: by ``--help`` those used often, by ``--help-all`` all."""

    #: Title of a group -> names of its parameters; other options come last.
    groups: ClassVar[dict[str, str]] = {
        "Input": "format ignore_counts node_labels source target weight unweighted invalid by keep drop text decimal "
        "thousands sep storage_options",
        "Output": "output to json trace report",
        "Picture of the report": "points ids coordinates color title",
        "Algorithm": "maximum algorithm engine threads verify",
        "Files larger than memory": "memory_limit gpu_memory_limit checkpoint spill_dir",
        "Cluster": "workers scheduler gpus strategy",
    }
    #: Names of parameters that only ``--help-all`` lists.
    rarely: ClassVar[str] = (
        "ignore_counts node_labels unweighted invalid keep drop text decimal thousands sep storage_options to trace "
        "id coordinates color algorithm engine threads gpu_memory_limit scheduler strategy"
    )
    _large: ClassVar[str] = "memory_limit checkpoint spill_dir workers gpus"

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        help = "Show all options, with those used rarely."
        option = click.Option(
            ["--help-all"], is_flag=True, is_eager=True, expose_value=False, callback=self._show, help=help
        )
        self.params.append(option)

    def _show(self, ctx: click.Context, param: click.Parameter, value: bool) -> None:
        if value:
            ctx.meta[_ALL] = True
            click.echo(self.get_help(ctx), color=ctx.color)
            ctx.exit()

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the options, group by group."""
        options = [param for param in self.get_params(ctx) if isinstance(param, click.Option)]
        entries = {param.name or "": param.get_help_record(ctx) for param in options}
        groups = {title: names.split() for title, names in self.groups.items()}
        last = "Other"
        rare = set(self.rarely.split()) & set(entries)
        if ctx.meta.get(_ALL) or not rare:
            entries.pop("help_all")
        else:
            # Versions of click call their own option in different ways.
            closing = [name for name in entries if name == "debug" or "help" in name]
            groups, last = {"Large tables": self._large.split(), "Other": closing}, "Used often"
            entries = {name: record for name, record in entries.items() if name not in rare}
        named = {name for names in groups.values() for name in names}
        rest = {last: [name for name in entries if name not in named]}
        for title, names in (groups | rest if last == "Other" else rest | groups).items():
            if rows := [record for name in names if (record := entries.get(name)) is not None]:
                with formatter.section(title):
                    formatter.write_dl(rows)
