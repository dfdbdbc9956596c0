"""The exceptions that dfmst raises.

::

    DfmstError
    ├── ColumnNotFoundError     (KeyError)
    ├── InvalidEdgesError       (ValueError)
    │   └── FormatError         a graph file that breaks its own format
    │       └── MissingFileError   (FileNotFoundError)
    ├── UnsupportedFrameError   (TypeError)
    ├── EngineUnavailableError  (ImportError)
    ├── CapacityError           (MemoryError)
    ├── ClusterError            (RuntimeError)
    ├── DeviceError             (RuntimeError)
    └── OutputError             (OSError)

Every message names the fault (the column, the number of rows, the first row) and ends with a hint: the fix.
"""

from __future__ import annotations

import errno
import re
import shlex
import unicodedata
from collections.abc import Collection, Hashable, Iterable, Mapping
from typing import Any, Self

__all__ = [
    "CapacityError",
    "ClusterError",
    "ColumnNotFoundError",
    "DeviceError",
    "DfmstError",
    "EngineUnavailableError",
    "FormatError",
    "InvalidEdgesError",
    "MissingFileError",
    "OutputError",
    "UnsupportedFrameError",
    "did_you_mean",
    "machine_fault",
    "meant_option",
    "missing_column",
    "missing_columns",
    "nearest",
    "no_space",
    "or_points",
    "printable",
]

_JOINERS = "\u200c\u200d"  # invisible, and part of Persian, of Indian scripts and of emoji
_NO_XML = "\ufffe\uffff"


def printable(text: str) -> str:
    r"""Return a text as one line that shows all its characters: on terminals, in logs and on pages.

    Control characters, halves of surrogates and invisible marks, such as those that turn the direction of writing, are
    shown as Python's escapes. A file could otherwise write anywhere on a terminal.

    >>> print(printable("km\x1b[2J\u202e"))
    km\x1b[2J\u202e
    """
    if text.isprintable():
        return text
    return "".join(letter.encode("unicode_escape").decode() if _disturbs(letter) else letter for letter in text)


def _disturbs(letter: str) -> bool:
    disturbs = unicodedata.category(letter) in ("Cc", "Cf", "Cs", "Zl", "Zp") or letter in _NO_XML
    return disturbs and letter not in _JOINERS


class DfmstError(Exception):
    """Base of every error that dfmst raises on purpose.

    Parameters
    ----------
    message
        The fault, as one sentence without a full stop.
    hint
        The fix; printed on a line of its own.
    row
        The first row of the input that the message names, if there is one.
    option
        Words of the hint that name an argument, and the option of the command line that replaces them in its messages.
    """

    missing: tuple[Any, ...] = ()  # names of columns that are absent

    def __init__(
        self, message: str, hint: str = "", *, row: int | None = None, option: tuple[str, str] | None = None
    ) -> None:
        self.message = message = printable(message)
        self.hint = hint = printable(hint)
        self.row = row
        self.option = None if option is None else (printable(option[0]), printable(option[1]))
        super().__init__(f"{message}\nHint: {hint}" if hint else message)

    def __reduce__(self) -> tuple[Any, ...]:
        # Errors come back from workers; those of two builtin classes have no safe __new__.
        number = getattr(self, "errno", None)
        more = {} if number is None else {"errno": number}
        return type(self), (self.message, self.hint), {"row": self.row, "option": self.option, **more}

    def __str__(self) -> str:
        # KeyError.__str__ would print the repr of the message; every leaf prints plainly.
        return str(self.args[0])

    def of(self, *names: object) -> Self:
        """Return the error with the names of the absent columns."""
        self.missing = names
        return self

    def at(self, place: object, first: int = 0) -> Self:
        """Return the error of a reader of some rows as one about the user's input.

        These rows begin at row `first` of a place, such as a file, and the message then names the row of that place.

        >>> InvalidEdgesError("column 'w' has 1 NaN, in row 2", row=2).at("b.csv", 100).message
        "b.csv: column 'w' has 1 NaN, in row 102"
        """
        start, named, rest = self.message.rpartition(f"row {self.row}")
        message = f"{start}row {self.row + first}{rest}" if named and self.row is not None else self.message
        return type(self)(f"{place}: {message}", self.hint, option=self.option)


class ColumnNotFoundError(DfmstError, KeyError):
    """A named column is absent, or several columns have the name."""


class InvalidEdgesError(DfmstError, ValueError):
    """The edge table has values that a forest cannot have: null ids, NaN weights, and so on."""


class FormatError(InvalidEdgesError):
    """A graph file breaks its format; the message names the file and the line."""


class MissingFileError(FormatError, FileNotFoundError):
    """The graph file does not exist."""


class UnsupportedFrameError(DfmstError, TypeError):
    """The object is not a frame that dfmst can read."""


class EngineUnavailableError(DfmstError, ImportError):
    """The engine cannot run on this machine, or a library that the call needs is not installed."""


class CapacityError(DfmstError, MemoryError):
    """The input is larger than the engine or its row ids can hold."""

    def __new__(cls, *args: object, **_: object) -> Self:
        """Make one as tblib does, by which Dask brings errors home: without arguments, which MemoryError refuses."""
        return Exception.__new__(cls, *args)


class ClusterError(DfmstError, RuntimeError):
    """The cluster failed, not the input: there is no scheduler, or it or its workers were lost."""


class DeviceError(DfmstError, RuntimeError):
    """The GPU, its driver or its compiler failed; the message names the kernel if it is known."""


class OutputError(DfmstError, OSError):
    """The output cannot be written at the path that the user named."""


_FULL = {
    errno.ENOSPC: ("no space left on device", "free some space"),
    errno.EDQUOT: ("disk quota exceeded", "free some space"),
    errno.EFBIG: ("file too large", "raise the limit, for example: ulimit -f unlimited"),
}


def no_space(target: object, error: BaseException, instead: str = "or write to another disk") -> OutputError | None:
    """Make the error for a file that can take no more bytes, with the same ``errno``; ``None``: another fault.

    >>> print(no_space("forest.csv", OSError(errno.ENOSPC, "No space left on device")))
    cannot write forest.csv: no space left on device
    Hint: free some space, or write to another disk
    """
    number = getattr(error, "errno", None)
    if number not in _FULL:
        return None
    reason, fix = _FULL[number]
    limit = _limit_of("RLIMIT_FSIZE", "f", "{:,} bytes") if number == errno.EFBIG else ""
    full = OutputError(f"cannot write {target}: {reason}{limit}", f"{fix}, {instead}")
    full.errno = number
    return full


_NO_THREAD = re.compile(r"can't start new thread|launch worker thread|std::system_error|pthread_create", re.IGNORECASE)
_NO_MEMORY = re.compile(r"malloc of size|cannot allocate memory|failed to map segment|std::bad_alloc", re.IGNORECASE)
_MALLOC = re.compile(r"(?:malloc|realloc|allocat\w*) .*?([\d,]{3,})", re.IGNORECASE)


def machine_fault(error: BaseException) -> CapacityError | None:
    """Return the error for a machine that gives no more memory, threads or open files; ``None``: another fault.

    >>> machine_fault(RuntimeError("can't start new thread")).message.partition(";")[0]
    'no thread can be started'
    """
    number = getattr(error, "errno", None)
    if isinstance(error, DfmstError):
        return None
    if number in (errno.EMFILE, errno.ENFILE) or "too many open files" in str(error).lower():
        limit = _limit_of("RLIMIT_NOFILE", "n", "{:,}")
        return CapacityError(f"too many files are open{limit}", "raise the limit, for example: ulimit -n 4096")
    if _NO_THREAD.search(str(error)) or (number == errno.EAGAIN and getattr(error, "filename", None) is None):
        limit = _limit_of("RLIMIT_NPROC", "u", "{:,}")
        return CapacityError(f"no thread can be started{limit}", "raise the limit of processes and threads: ulimit -u")
    if isinstance(error, MemoryError) or number == errno.ENOMEM or _NO_MEMORY.search(str(error)):
        asked = _MALLOC.search(str(error))
        size = f": {int(asked[1].replace(',', '')):,} more bytes were needed at once" if asked else ""
        limit = _limit_of("RLIMIT_AS", "v", "{:,} bytes")
        hint = "leave out columns that you do not need, or use a larger machine"
        return CapacityError(f"out of memory{size}{limit}", f"raise the limit, {hint}" if limit else hint)
    return None


def _limit_of(name: str, letter: str, form: str) -> str:
    """Name a limit of this process and its option of ``ulimit``, if there is a limit."""
    try:
        import resource

        limit = resource.getrlimit(getattr(resource, name))[0]
    except (ImportError, AttributeError, ValueError, OSError):
        return ""
    return "" if limit == resource.RLIM_INFINITY else f"; the limit is {form.format(limit)} (ulimit -{letter})"


_LISTED = 20  # columns that a message names
NAMES_OPTION = "source=, target= and weight=", "-s, -t and -w"


def missing_column(
    name: object, columns: Iterable[object], hint: str, place: object = None, option: tuple[str, str] | None = None
) -> ColumnNotFoundError:
    """Make the error for a column that a frame, or another `place`, does not have; a similar name is suggested.

    >>> print(missing_column("wieght", ["a", "b", "weight"], "name the column with weight="))
    column 'wieght' not found; the frame's columns: 'a', 'b', 'weight'
    Hint: did you mean 'weight'? Else name the column with weight=
    """
    names = list(columns)
    frame = f"column {name!r} not found; the frame's columns"
    start = frame if place is None else f"{place} has no column {name!r}; its columns"
    return ColumnNotFoundError(f"{start}: {_listed(names)}", did_you_mean(name, names, hint), option=option).of(name)


#: Argument -> names of columns, in small letters, that are known for it.
KNOWN_NAMES = {
    "source": ("source", "src", "from", "u", "start", "tail", "left", "node1", "node_1", "fromnodeid"),
    "target": ("target", "dst", "to", "v", "end", "head", "right", "node2", "node_2", "tonodeid"),
    "weight": ("weight", "weights", "w", "distance", "dist", "length", "cost"),
}
#: Argument -> option of the command line, if that is not its own name.
_OPTIONS = {"source": "-s", "target": "-t", "weight": "-w", "columns": "-c"}


def missing_columns(
    given: Iterable[tuple[str, Any]],
    columns: Iterable[object],
    place: object = None,
    kinds: Mapping[Any, object] | None = None,
) -> ColumnNotFoundError | None:
    """Make the error for all columns that a frame, or another `place`, does not have; ``None`` if it has all.

    `given` has the arguments and the columns that they name, `kinds` the types of columns, if known.

    >>> print(missing_columns([("source", "a"), ("target", "b"), ("weight", "km")], ["A", "B", "km"]))
    columns 'a' and 'b' not found; the frame's columns: 'A', 'B', 'km'
    Hint: did you mean source='A', target='B'?
    """
    names, arguments = list(columns), {name: argument for argument, name in given if isinstance(name, Hashable)}
    known = frozenset(names)  # pandas.NA compares to no yes or no
    missing = [name for name in arguments if name not in known]
    if not missing:
        return None
    unused = [name for name in names if name not in arguments]
    chosen, start = dict[Any, Any](), "did you mean {}?"
    for name in sorted(missing, key=lambda name: arguments[name] != "weight" or kinds is None):
        unlike = {
            other: _unlike(arguments[name], other, None if kinds is None else str(kinds.get(other, "")))
            for other in unused
            if other not in chosen.values()
        }
        free = [other for other, steps in unlike.items() if steps <= _BY_NAME_ONLY]
        usual = [other for other in free if str(other).lower() in KNOWN_NAMES.get(arguments[name], ())]
        near = nearest(name, free)
        suggested = usual[0] if usual else near
        start = start if near is not None and suggested == near else "name your columns, for example {}"
        if suggested is None:
            free = [other for other in free if unlike[other] < _BY_NAME_ONLY]
            free = free[::-1] if arguments[name] == "weight" and kinds is not None else free
            suggested = min(free, key=unlike.__getitem__, default=None)
        if suggested is not None:
            chosen[name] = suggested
    pairs = [(arguments[name], chosen[name]) for name in missing if name in chosen]
    call = ", ".join(f"{argument}={name!r}" for argument, name in pairs)
    command = " ".join(
        f"{_OPTIONS.get(argument, f'--{argument}')} {shlex.quote(str(name))}" for argument, name in pairs
    )
    if not pairs:  # no column is left to suggest
        start, call, command = "name your columns with {}", *NAMES_OPTION
        if not {"source", "target", "weight"} & {arguments[name] for name in missing}:
            call = ", ".join(f"{arguments[name]}=" for name in missing)
            command = ", ".join(_OPTIONS.get(arguments[name], f"--{arguments[name]}") for name in missing)
    weighted = "weight" in map(arguments.get, missing)
    equal = "; {} if all weights are equal" if weighted and start[-1] != "?" else ""
    hint, words = start.format(call) + equal.format("weight=None"), start.format(command) + equal.format("--unweighted")
    *first, last = map(repr, missing)
    wanted = f"columns {', '.join(first)} and {last}" if first else f"column {last}"
    frame = f"{wanted} not found; the frame's columns" if place is None else f"{place} has no {wanted}; its columns"
    return ColumnNotFoundError(f"{frame}: {_listed(names)}", hint, option=(hint, words)).of(*missing)


_CUT = ("threshold", "t", "cutoff", "cut", "eps", "height", "max_d", "max_dist", "max_distance", "distance_threshold")
_COUNT = ("k", "n", "n_clusters", "num_clusters", "maxclust", "n_parts", "parts")
#: Option -> its names, in small letters, in SciPy, scikit-learn, NetworkX, cuGraph and dataframe libraries.
_MEANT = {
    "epsilon": ("eps", "cluster_selection_epsilon"),
    "distance": (*_CUT, "epsilon"),
    **dict.fromkeys(("n_clusters", "clusters", "n"), _COUNT),
    "k": ("n", "neighbors", "n_neighbors", "num_neighbors"),
    "min_samples": ("min_pts", "minpts"),
    "threads": ("n_jobs", "jobs", "n_threads", "num_threads", "num_workers"),
    "by": ("group", "groups", "groupby", "group_by"),
    "layers": ("k", "depth"),
    "on": ("key", "keys", "subset", "left_on"),
    "vertices": ("nodes", "nodelist"),
    "terminals": ("nodes", "terminal_nodes"),
    "maximum": ("minimum", "largest", "descending", "reverse"),
    "invalid": ("nan", "dropna", "ignore_nan"),
    "engine": ("device", "backend"),
    "algorithm": ("method",),
    "source": (*KNOWN_NAMES["source"], "left_on"),
    "target": (*KNOWN_NAMES["target"], "right_on"),
    "weight": (*KNOWN_NAMES["weight"], "attr", "edge_attr", "edge_weight"),
    "seed": ("random_state", "random_seed", "rng"),
}
#: Option -> the function to call for it.
_HOMES = {
    **dict.fromkeys(("distance", "n_clusters"), "clusters"),
    **dict.fromkeys(("min_cluster_size", "epsilon"), "hdbscan"),
    **dict.fromkeys(("metric", "min_samples"), "points_forest"),
    **{"k": "knn_edges", "on": "linked_rows", "seed": "generate.rmat", "threads": "minimum_spanning_forest"},
}


def meant_option(name: str, known: Collection[str]) -> tuple[str, str]:
    """Return the option that is meant by an unknown one, and before it the function that has it, if it is another.

    It is the option that has this name in other libraries, else the most similar one; without either it is empty.

    >>> meant_option("threshold", ["distance", "threads"]), meant_option("eps", ["threads"])
    (('', 'distance'), ('hdbscan', 'epsilon'))
    """
    word = name.lower()
    usual = [option for option, words in _MEANT.items() if word in words]
    option = next((option for option in usual if option in known), None)
    elsewhere = next((option for option in (*usual, word) if option in _HOMES), None)
    if option is None and elsewhere is not None:
        return _HOMES[elsewhere], elsewhere
    return "", option or (not usual and nearest(name, map(str, known))) or ""


_WHOLE, _TEXT, _REAL = r"u?int\d", r"string|str\b|large_string|cat|enum|dict", "float|double|halffloat|decimal"
#: Argument -> patterns of types, the best first; columns of the last are meant only if their names are similar.
_KINDS = {
    **dict.fromkeys(("source", "target"), (f"{_WHOLE}|{_TEXT}", f"{_REAL}|bool|date", "object|binary|time|duration")),
    "weight": (f"{_REAL}|duration|timedelta", _WHOLE, "object|bool|date|time|null"),
    **dict.fromkeys(("keep", "drop"), ("bool", "(?!)", f"{_WHOLE}|{_TEXT}|object")),
    "by": (f"{_WHOLE}|{_TEXT}|bool|date", _REAL, "object|binary|time|duration"),
}
_BY_NAME_ONLY = 2  # steps from the best pattern to the last


def _unlike(argument: str, name: object, kind: str | None) -> int:
    """Return how far a column is from those that an argument may mean, by its known name and its type, if known."""
    known = [other for other, names in KNOWN_NAMES.items() if str(name).lower() in names]
    if argument in KNOWN_NAMES and known and argument not in known:
        return _BY_NAME_ONLY + 1
    patterns = _KINDS.get(argument, ("",)) if kind is not None else ("",)
    fitting = (at for at, pattern in enumerate(patterns) if re.match(pattern, kind or "", re.IGNORECASE))
    return next(fitting, _BY_NAME_ONLY + 1)


def or_points(error: ColumnNotFoundError, names: tuple[object, object, object]) -> ColumnNotFoundError:
    """Add how points are named to an error about the columns of an edge table, if the user named none of them."""
    if names != ("source", "target", "weight"):
        return error
    call, words = error.option or (error.hint, error.hint)
    points = "{}. For points, name the coordinates: {}".format
    hint = points(call, "columns=['x', 'y']")
    return ColumnNotFoundError(error.message, hint, option=(hint, points(words, "-c x -c y"))).of(*error.missing)


def nearest(name: object, known: Iterable[object]) -> Any:
    """Return the known name that is most similar, whatever its case; ``None`` if none is."""
    from difflib import get_close_matches  # only messages need it

    by_text = {str(other).casefold(): other for other in known}
    return next((by_text[text] for text in get_close_matches(str(name).casefold(), by_text, 1)), None)


def _listed(names: list[object]) -> str:
    known = ", ".join(map(repr, names[:_LISTED])) or "none"
    return known + (f" and {len(names) - _LISTED:,} more" if len(names) > _LISTED else "")


def did_you_mean(name: object, known: Iterable[object], hint: str = "") -> str:
    """Put the most similar known name before a hint, if there is one.

    >>> did_you_mean("boruvk", ["boruvka", "prim"])
    "did you mean 'boruvka'?"
    """
    close = nearest(name, map(str, known))
    if close is None:
        return hint
    return f"did you mean {close!r}?" + (f" Else {hint}" if hint else "")
