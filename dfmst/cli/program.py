"""The command group: turn errors and interrupts into messages and exit statuses."""

from __future__ import annotations

import errno
import os
import re
import shlex
import signal
import sys
import threading
import traceback
from ast import literal_eval
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path
from types import FrameType
from typing import Any, NoReturn

import click

from dfmst.cli.console import note
from dfmst.cli.options import DEBUG, debug_option, storage_option
from dfmst.errors import (
    CapacityError,
    ClusterError,
    DeviceError,
    DfmstError,
    EngineUnavailableError,
    InvalidEdgesError,
    did_you_mean,
    machine_fault,
    meant_option,
    no_space,
    printable,
)

#: Former names of commands and options -> new ones, for a version.
FORMER = {
    **{"dedupe": "linked-rows", "neighbors": "knn-edges", "points": "points-forest"},
    **{"--clusters": "--n-clusters", "--column": "--columns", "--id": "--ids", "--key": "--on", "-k": "--on"},
}

OK, FAILURE, BAD_INPUT, INTERRUPTED = 0, 1, 2, 130

_ENDING = [getattr(signal, name) for name in ("SIGTERM", "SIGHUP") if hasattr(signal, name)]

#: The context's ``obj`` if the process runs one command and ends with it.
OWN_PROCESS = "dfmst.own_process"

_NOT_THE_INPUT = (CapacityError, ClusterError, DeviceError, EngineUnavailableError)


class Program(click.Group):
    """A group whose commands end with a one-line message and an exit status, never with a traceback."""

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Run as the program: the process ends with the command."""
        return super().__call__(*args, obj=OWN_PROCESS, **kwargs)

    def make_context(self, *args: Any, **kwargs: Any) -> click.Context:
        """Read the arguments of the program; an error shows their control characters."""
        with _shown_safely():
            return super().make_context(*args, **kwargs)

    def add_command(self, cmd: click.Command, name: str | None = None) -> None:
        """Add a command, which takes ``--storage-option`` and ``--debug`` as well."""
        super().add_command(debug_option(storage_option(cmd)), name)

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Find a command by its name; suggest the most similar name otherwise, as later versions of click do."""
        args = self._in_new_words(ctx, args)
        try:
            name, command, rest = super().resolve_command(ctx, args)
        except click.UsageError as error:
            suggestion = did_you_mean(args[0], self.commands)
            if not suggestion or "Did you mean" in error.format_message():
                raise
            raise click.UsageError(f"{error.format_message()} {suggestion.capitalize()}", ctx) from None
        if command is not None:
            _refuse_two_names(click.Context(command, ctx, name), rest)
        return name, command, rest

    def _in_new_words(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Replace former names of a command and its options; a note names the new ones when the command has ended."""
        name, former = FORMER.get(args[0], args[0]), {}
        params = [] if name not in self.commands else self.commands[name].params
        known = {option for param in params for option in param.opts}
        if name != args[0]:
            former[args[0]] = name
        words = list[str]()
        for at, word in enumerate(args[1:], 1):
            if word == "--":
                words += args[at:]
                break
            option, value = word.partition("=")[::2] if word.startswith("--") else (word[:2], word[2:])
            new = FORMER.get(option, option)
            if option in known or new not in known:
                words.append(word)
            else:
                former[option] = new
                words.append(f"{new}={value}" if value else new)
        for old, new in former.items():
            ctx.call_on_close(partial(note, f"Note: {old} is now named {new}; the next version has the new name only."))
        return [name, *words]

    def invoke(self, ctx: click.Context) -> Any:
        """Run a command; turn its errors into messages and exit statuses."""
        try:
            with _shown_safely(), _terminated_in_order():
                return super().invoke(ctx)
        except (click.exceptions.Exit, click.Abort, click.ClickException):
            raise
        except KeyboardInterrupt:
            ctx.exit(INTERRUPTED)
        except Exception as error:
            if isinstance(error, OSError) and error.errno == errno.EPIPE:
                raise  # click ends quietly: the reader of our output has gone
            _fail(ctx, error)


#: What options name that may be given once, by their words in the help.
_NAMED_ONCE = {"COLUMN": "column", "OUT": "file", "FILE": "file"}


def _refuse_two_names(ctx: click.Context, args: list[str]) -> None:
    """Raise an error if an option that names one column or file is given twice: click would take the last."""
    given: list[Any] = []
    with suppress(click.UsageError):  # the command reports it
        given = ctx.command.make_parser(ctx).parse_args(list(args))[2]
    for option in given:
        times = given.count(option)
        if option.metavar in _NAMED_ONCE and not option.multiple and times > 1:
            named = _NAMED_ONCE[option.metavar]
            raise click.UsageError(f"{option.opts[-1]} is given {times} times, and names one {named}.", ctx)


@contextmanager
def _shown_safely() -> Iterator[None]:
    """Show control characters of names and arguments in the errors of click, and options of other libraries as ours."""
    try:
        yield
    except click.NoSuchOption as error:
        params = [] if error.ctx is None else error.ctx.command.params
        names = {name.lstrip("-").replace("-", "_"): name for param in params for name in param.opts}
        other, meant = meant_option(error.option_name.lstrip("-").replace("-", "_"), names)
        command = {"minimum_spanning_forest": "forest"}.get(other, other).replace("_", "-")
        option = f"dfmst {command} --{meant.replace('_', '-')}" if other else names.get(meant, "")
        option = f"dfmst.{other}({meant}=)" if "." in other else option
        hint = f" Did you mean {option!r}?" if option else ""
        raise click.UsageError(printable(error.message) + hint, error.ctx) from None
    except click.ClickException as error:
        error.message = printable(error.message)  # type: ignore[misc]
        raise


def _fail(ctx: click.Context, error: Exception) -> NoReturn:
    if ctx.meta.get(DEBUG) or os.environ.get("DFMST_DEBUG", "") not in ("", "0"):
        note(*traceback.format_exc().splitlines())
    error = machine_fault(error) or error
    message, hint = _words(error)
    if isinstance(error, InvalidEdgesError) and error.row is not None:
        message += _line_of_row(ctx, error.row)
    note(f"Error: {message}", *([f"Hint: {hint}"] if hint else []))
    full = no_space("", error) is not None
    expected = isinstance(error, DfmstError) and not full and not isinstance(error, _NOT_THE_INPUT)
    ctx.exit(BAD_INPUT if expected else FAILURE)


def _words(error: Exception) -> tuple[str, str]:
    """Return an error's message and hint for the command line."""
    if isinstance(error, DfmstError):
        argument, option = error.option or ("", "")
        parts = error.hint.split(argument) if argument else [error.hint]  # an option may name a column "text='a'"
        arguments = rf"{_ARGUMENT}(?:, {_ARGUMENT})*"
        return error.message, option.join(re.sub(arguments, _as_options, part) for part in parts)
    if isinstance(error, OSError) and error.strerror:
        place = "" if error.filename is None else f"{os.fsdecode(error.filename)}: "
        return f"{place}{error.strerror[0].lower()}{error.strerror[1:]}", ""
    first = next((line for line in str(error).splitlines() if line.strip()), "")
    message = f"{type(error).__name__}: {first}" if first else type(error).__name__
    return message, "this should not happen; run again with --debug for the traceback, and please report it"


_STRING = r"""(?:'(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*")"""
#: An argument of functions that read files, and its value; names of columns in it may hold brackets and quotes.
_ARGUMENT = (
    r"(?<!\S)(?:counts|decimal|format|labels|sep|text|thousands)="
    rf"(?:{_STRING}|\[{_STRING}(?:, {_STRING})*\]|True|False)?"
)
#: Arguments whose options have other names.
_OPTIONS = {
    "counts='ignore'": "--ignore-counts",
    "labels=True": "--labels (of linkage: --node-labels)",
    "labels=False": "--no-labels",
}


def _as_options(arguments: re.Match[str]) -> str:
    """Write arguments of Python as options."""
    words = []
    for argument in re.findall(_ARGUMENT, arguments[0]):
        name, _, text = argument.partition("=")
        value = literal_eval(text) if text else []
        options = [f"--{name} {shlex.quote(str(one))}" for one in (value if isinstance(value, list) else [value])]
        words.append(_OPTIONS.get(argument) or " ".join(options) or f"--{name}")
    return " ".join(words)


@contextmanager
def _terminated_in_order() -> Iterator[None]:
    """Let SIGTERM, and SIGHUP of a terminal that closes, unwind the stack, so that no temporary file stays behind."""
    main = threading.current_thread() is threading.main_thread()
    numbers = [number for number in _ENDING if main and signal.getsignal(number) == signal.SIG_DFL]

    def leave(number: int, frame: FrameType | None) -> None:
        for other in numbers:
            signal.signal(other, signal.SIG_IGN)  # another one must not end the cleaning
        sys.exit(128 + number)

    for number in numbers:
        signal.signal(number, leave)
    try:
        yield
    finally:
        for number in numbers:
            signal.signal(number, signal.SIG_DFL)


_READ = "dfmst.read"  #: key of the context's ``meta``: the file that was read, and its number of rows
_TEXT = (".csv", ".tsv")
_BLOCK = 1 << 20


def remember_rows(paths: Sequence[Path], rows: int) -> None:
    """Note that one file was read, and how many rows it has."""
    ctx = click.get_current_context(silent=True)
    if ctx is not None and len(paths) == 1 and paths[0].suffix in _TEXT:
        ctx.meta[_READ] = paths[0], rows


def _line_of_row(ctx: click.Context, row: int) -> str:
    """Name the line of the file that holds a row, if every row is one line."""
    path, rows = ctx.meta.get(_READ, (None, 0))
    if path is None or not path.is_file():  # a named pipe would wait for a second writer
        return ""
    # Other counts: blank lines, values of several lines, or no header.
    return f" ({path}, line {row + 2:,})" if _count_lines(path) == rows + 1 else ""


def _count_lines(path: Path) -> int:
    count, last = 0, b"\n"
    with path.open("rb") as file:
        while block := file.read(_BLOCK):
            count += block.count(b"\n")
            last = block[-1:]
    return count + (last != b"\n")
