"""The job of a command: its options, the files that it reads and writes, and what it prints about its run."""

from __future__ import annotations

import os
import re
import sys
import warnings
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import wraps
from importlib import import_module
from inspect import signature
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, TypeAlias

import click

import dfmst
from dfmst.cli.console import Progress, Stopwatch, counted, note, print_json, standard_output
from dfmst.cli.options import DIRECTORIES, GroupedCommand, several
from dfmst.cli.program import OWN_PROCESS, remember_rows
from dfmst.errors import DfmstError, InvalidEdgesError, OutputError, did_you_mean

if TYPE_CHECKING:
    import pyarrow as pa

#: Columns that options name, by argument.
Columns: TypeAlias = Mapping[str, str | Sequence[str] | None]
#: Figures of a result for JSON, and the same in words.
Summary: TypeAlias = tuple[dict[str, Any], str]


#: Parameters that name files to write, and their options.
_OUTPUTS = {"output": "-o", "trace": "--trace", "report": "--report", "labels": "--labels"}


class Job(SimpleNamespace):
    """The options of a command, by name."""

    # How files are read, also by a command without these options.
    format: str | None = None
    sep: str | None = None
    decimal: str | None = None
    thousands: str | None = None
    text: list[str] | None = None
    ignore_counts: bool = False
    node_labels: bool | None = None

    def pick(self, *names: str) -> dict[str, Any]:
        """Return some of the options, those that the command has."""
        return {name: vars(self)[name] for name in names if name in vars(self)}

    def arguments(self, function: Callable[..., Any]) -> dict[str, Any]:
        """Return the options that are arguments of a function, by their names there."""
        return self.pick(*signature(function).parameters)

    def edge_columns(self, *more: str) -> dict[str, Any]:
        """Return the columns that the command needs by the argument that names them; `more` are other arguments."""
        if self.source == self.target:
            raise click.UsageError(f"--source and --target both name the column {self.source!r}.")
        return self.pick("source", "target", "weight", *more)

    def open(
        self, columns: Columns, progress: Progress | None = None, lines: str = "", other: Path | None = None
    ) -> pa.RecordBatchReader:
        """Open the inputs, files of equal columns, as one stream; the columns are those that options name.

        With `lines`, rows of text keep their lines for the output. An `other` file, such as a forest, has its own
        format and separator.
        """
        from dfmst.formats import Roles, open_table

        paths, format_, sep = (self.inputs, self.format, self.sep) if other is None else ((other,), None, None)
        check_inputs(paths)
        decimal = self.decimal or "."
        if decimal == self.thousands:
            raise click.UsageError(f"--decimal and --thousands are both {decimal!r}.")
        roles = Roles.of({**columns, "text": self.text}, decimal, self.thousands, sep)
        counts: Any = "ignore" if self.ignore_counts else "check"
        shown: dict[str, Any] = {} if progress is None else {"progress": progress.bar(), "note": progress.note}
        reader = open_table(paths, format_, roles, counts, self.node_labels, lines=lines, **shown)
        for name, count in Counter(reader.schema.names).items():
            if count > 1:
                message = f"{paths[0]} has {count} columns named {name!r}"
                raise InvalidEdgesError(message, "rename them, so that each column has its own name")
        return reader

    def read(self, columns: Columns, progress: Progress, lines: str = "", other: Path | None = None) -> pa.Table:
        """Read the inputs, or another file, into one table."""
        from dfmst.formats import read_all

        paths = self.inputs if other is None else (other,)
        table = read_all(self.open(columns, progress, lines, other), paths, solve=True)
        remember_rows(paths, table.num_rows)
        return table

    def check_outputs(self) -> None:
        """Raise if two options name one file, of which the first would be lost."""
        options: dict[str, str] = {}
        for name, path in self.pick(*_OUTPUTS).items():
            if path is not None and options.setdefault(os.path.realpath(path), _OUTPUTS[name]) != _OUTPUTS[name]:
                first = options[os.path.realpath(path)]
                raise click.UsageError(f"{first} and {_OUTPUTS[name]} name the same file.")

    @contextmanager
    def running(self, *modules: str) -> Iterator[CommandRun]:
        """Check the output and load the libraries, before any file is read; in the end, print the run's figures."""
        run = CommandRun(self)
        run.path = output_path(self)
        self.check_outputs()
        with run.step("import"):
            check_output(run.path, self.to, self.inputs)
            load_libraries(*modules)
        with run.progress:
            yield run
        print_run(self.json, {**self.about, **run.figures}, run.text, run)

    @property
    def about(self) -> dict[str, Any]:
        """The files of the job, as figures of its run."""
        return {**self.pick("forest"), "input": self.inputs, "output": self.output}

    def run(
        self,
        columns: Columns,
        doing: str,
        compute: Callable[[pa.Table], Any],
        summarize: Callable[[Any], Summary],
        write: Callable[[Any, Path | None, str | None], None] | None = None,
    ) -> None:
        """Read the inputs as one table, compute the result, write it, and print its figures."""
        with self.running() as run:
            with run.step("read"):
                table = self.read(columns, run.progress)
            run.progress.show(f"{doing} {counted(table.num_rows, 'row')}")
            with run.step("solve"):
                result = _noting(compute, table, run.progress)
            run.write(self, result, write)
            figures, run.text = summarize(result)
            run.figures = {"input_rows": table.num_rows, **figures}


class CommandRun(Stopwatch):
    """One run of a job: its output, its figures, the seconds of its steps, and the events of its checkpoint."""

    def __init__(self, job: Job, *, saved: bool = False) -> None:
        super().__init__()
        self.progress = Progress()
        self.figures: dict[str, Any] = {}
        self.text = ""
        self.reason = ""  # why rows are read in batches, if nobody asked for it
        self.path: Path | None = None
        self._folder = job.pick("checkpoint").get("checkpoint")
        self._saved = saved
        self._announced = False  # whether the directory was printed

    def write(self, job: Job, result: Any, write: Callable[[Any, Path | None, str | None], None] | None = None) -> None:
        """Write a result, unless there is nothing but its figures to print."""
        self.progress.show("writing")
        with self.step("write"):
            if self.path or not job.json:
                (write or write_rows)(result, self.path, job.to)

    @contextmanager
    def show(self, name: str, rows: int) -> Iterator[None]:
        """Show a step and time it."""
        self.progress.show(f"{_STEPS[name]} {counted(rows, 'row')}")
        with self.step(name):
            yield

    def show_checkpoint(self, event: str, rows: int) -> None:
        """Print the rows that are skipped, or at the first save the directory."""
        self._saved = True
        if event == "resumed":
            self.progress.note(f"continuing after {counted(rows, 'row')} of an earlier run ({self._folder})")
        elif not self._announced:
            self._announced = True
            again = "after an interruption, give the same command again to continue"
            self.progress.note(f"saving finished work in {self._folder}: {again}")

    @contextmanager
    def explained(self) -> Iterator[None]:
        """Print the progress that an interrupted run has saved."""
        try:
            yield
        except KeyboardInterrupt:
            text = "nothing is saved (--checkpoint DIR saves finished work)"
            if self._folder is not None:
                text = f"nothing was saved in {self._folder} yet"
            if self._folder is not None and self._saved:
                text = f"finished work is saved in {self._folder}: give the same command again to continue"
            self.progress.note(f"Interrupted: {text}")
            raise


#: Step of a run -> its words in the progress line.
_STEPS = {
    "prepare": "preparing",
    "solve": "finding the forest of",
    "verify": "verifying the forest of",
    "gather": "gathering",
    "write": "writing the forest of",
}


def command(
    summary: str, *options: Callable[[Any], Any], cls: type[click.Command] = GroupedCommand
) -> Callable[[Callable[[Job], None]], click.Command]:
    """Make a command of a function of its job; the help lists the options in this order."""

    def decorate(function: Callable[[Job], None]) -> click.Command:
        @wraps(function)
        def run(**values: Any) -> None:
            function(Job(**values))

        return click.command(cls=cls, short_help=summary)(several(*options)(run))

    return decorate


def print_run(as_json: bool, figures: dict[str, Any], text: str, run: CommandRun) -> None:
    """Print the figures of a run: one JSON object, or a line of text."""
    seconds = run.seconds()
    if as_json:
        print_json({**figures, "seconds": seconds})
    else:
        note(f"{text}, {seconds['total']:.2f} s" + ("" if run.path is None else f" -> {run.path}"))


def load_libraries(*modules: str) -> None:
    """Load the libraries for reading, so that the steps' seconds do not include imports."""
    import pyarrow as pa

    for module in modules or ("dfmst.formats", "dfmst.forest"):
        import_module(module)
    # PyArrow imports pandas, if it is installed, at its first array. No command needs it, and a small run would take
    # 1.7 times the CPU-seconds (bench/results/cpu/small_calls.json, "dfmst forest and pandas"). PyArrow tries the
    # import once only, so it is prevented only if the process ends with the command.
    if click.get_current_context().find_root().obj == OWN_PROCESS and "pandas" not in sys.modules:
        finder: Any = SimpleNamespace(find_spec=_refuse_pandas)
        sys.meta_path.insert(0, finder)
        pa.array([0])
        sys.meta_path.remove(finder)


def _refuse_pandas(name: str, path: object, target: object = None) -> None:
    if name == "pandas":
        raise ModuleNotFoundError(name)


def check_inputs(paths: Sequence[Path]) -> None:
    """Raise if a file does not exist."""
    for path in paths:
        if not path.exists():
            raise DfmstError(f"{path}: no such file or directory", "check the name, and the directory you are in")


def lines_for(job: Job) -> str:
    """Return the separator of the output if it is text, whose rows are then lines of the input."""
    from dfmst.formats import format_of_suffix

    if job.output is None and (job.json or "title" in vars(job)):
        return ""
    written = job.to or ("csv" if str(job.output or "-") == "-" else format_of_suffix(job.output))
    return {"csv": ",", "tsv": "\t"}.get(written or "", "")


def output_path(job: Job) -> Path | None:
    """Return the file to write, or ``None`` for standard output."""
    if job.json and str(job.output) == "-":
        raise click.UsageError("--json and -o - both write to standard output; name a file with -o, or leave it out.")
    path: Path | None = None if str(job.output) == "-" else job.output
    if job.json or path is None:
        standard_output()
    return path


def check_output(path: Path | None, format_: str | None, inputs: Sequence[Path]) -> None:
    """Raise before any file is read if the output cannot be written."""
    if path in click.get_current_context().meta.get(DIRECTORIES, ()):
        raise OutputError(f"cannot write {path}{os.sep}: that names a directory", "name a file in it")
    from dfmst.formats import WRITABLE_FORMATS, check_file, check_page, format_of_suffix

    known = ", ".join(WRITABLE_FORMATS)
    is_page = format_ == "html"
    if format_ is not None and not is_page and format_ not in WRITABLE_FORMATS:
        hint = did_you_mean(format_, WRITABLE_FORMATS, f"these can be: {known}")
        raise OutputError(f"the format {format_!r} cannot be written", hint)
    if path is None:
        return
    if format_ is None and format_of_suffix(path) not in WRITABLE_FORMATS:
        message = f"cannot write {path}: no format to write follows from the name"
        raise OutputError(message, f"end it in .csv, .tsv, .parquet or .arrow, or choose one with --to: {known}")
    check_file(path, inputs)
    if is_page:
        check_page(path)


def write_rows(rows: pa.Table, path: Path | None, format_: str | None) -> None:
    """Write rows to a file, or to standard output (as CSV unless a format is given)."""
    from dfmst.formats import write_edges

    if path is None:
        write_edges(rows, standard_output(), format_ or "csv")
    else:
        write_edges(rows, path, format_)


def named_after(inputs: Sequence[Path]) -> str:
    """Name files on a page, without the directories of this machine."""
    others = len({*inputs}) - 1
    more = f" and {counted(others, 'file')} more" if others else ""
    return f"{inputs[0].name}{more}"


def _noting(compute: Callable[[pa.Table], Any], table: pa.Table, progress: Progress) -> Any:
    """Compute a result; warnings for users become notes that name options of the command line."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", UserWarning)
        result = compute(table)
    for warning in caught:
        progress.note("Note: " + re.sub(r'(\w+)="(\w+)"', r"--\1 \2", str(warning.message)))
    return result


def call(function: str, job: Job, **options: Any) -> Callable[[pa.Table], Any]:
    """Return a function of a table that calls one of dfmst's functions with the options of a job, and others."""

    def compute(table: pa.Table) -> Any:
        called = getattr(dfmst, function)
        return called(table, **{**job.arguments(called), **options})

    return compute


def weight_name(job: Job, maximum: bool = False) -> str | None:
    """Return the weight column's name, or ``None`` if all weights are equal."""
    if not job.unweighted:
        return "weight" if job.weight is None else str(job.weight)
    if job.weight is not None or maximum:
        option = "--maximum" if job.weight is None else "--weight"
        raise click.UsageError(f"--unweighted and {option} cannot be combined.")
    return None
