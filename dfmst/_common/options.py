"""The decorator of public functions, and the table of the options that a kind of data lacks.

A function of :mod:`dfmst` may have versions for streams and for Dask frames. An option of one version that another one
lacks has an entry here, with the reason; a test compares the entries with the signatures.
"""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable, Collection, Iterable, Mapping
from functools import wraps
from importlib import import_module
from inspect import Parameter, signature
from typing import Any, NamedTuple, ParamSpec, TypeAlias, TypeVar, overload

from dfmst._common.arguments import is_several, real_number, whole_number, yes_or_no
from dfmst.errors import ColumnNotFoundError, DfmstError, InvalidEdgesError, UnsupportedFrameError, meant_option

_Check: TypeAlias = Callable[[str, Any], object]
_P = ParamSpec("_P")
_R = TypeVar("_R")
_Function = TypeVar("_Function", bound=Callable[..., Any])


#: Kinds of data, and their names in an error.
WORLDS = {"memory": "frame in memory", "gpu": "frame on a GPU", "stream": "stream", "dask": "Dask frame"}


class Driver(NamedTuple):
    """A dataframe library, and the module of dfmst that has functions of the same names for its frames."""

    world: str
    library: str
    module: str


#: A new driver is one line.
_DRIVERS = (Driver("dask", "dask.dataframe", "dfmst.dask"),)

_NO_LIMIT = "a frame in memory is not read in parts: call dfmst.stream"
_NO_FILE = {"memory dask": "a frame is no file"}
_NO_TASKS = {"memory stream": "it plans the tasks of a cluster"}
_ALL_ROWS = "it needs all rows in one process: pass edges.compute()"
_NO_REMOVAL = "a row may replace a removed one from any layer: read the forest, and call dfmst.update"
_IN_MEMORY = "conditions need all rows in memory: call dfmst.clusters"

#: Option -> kinds of data, or functions of them, that do not take it -> the reason.
LACKING: dict[str, dict[str, str]] = {
    "memory_limit": {"memory": _NO_LIMIT, "dask.verify": "the rows are computed: dfmst.stream.verify reads files"},
    "gpu_memory_limit": {
        "memory": _NO_LIMIT,
        "stream.verify": "a check has one limit, memory_limit",
        "dask": "a worker's GPU has its pool: dfmst.dask.forest_of_files has this option",
    },
    "spill_dir": {
        "memory": _NO_LIMIT,
        "stream.verify": "the forest is linked in memory, 100 bytes a vertex",
        "dask": "workers spill to their own directories: strategy='shuffle'",
    },
    "checkpoint": {
        "memory": "a call in memory is not continued: call dfmst.stream or dfmst.dask",
        "stream.verify": "a check is not continued: it reads the rows once",
        "stream.update stream.fold_update": "new rows may be a frame; the forest is read once",
    },
    "output": {
        "memory": "the frame is returned: write it by dfmst.formats.write_edges",
        "dask": "write the result: .to_parquet(path)",
    },
    "progress": {
        "memory": "a call in memory reports rounds: return_trace=True",
        "dask": "Dask's own dashboard and dask.distributed.progress show the tasks",
    },
    "return_trace": {"stream": "a stream is solved many times, in parts: progress=True reports them"},
    "strategy": _NO_TASKS,
    "split_every": _NO_TASKS,
    "n_vertices": _NO_TASKS,
    "labels": {"gpu stream.connected_components": "join the components to the edges yourself"},
    "storage_options": _NO_FILE,
    "filesystem": _NO_FILE,
    "engine": {
        "dask": "a task uses the GPU if its partition is a frame of cuDF",
        "stream.linked_rows": "records of a stream are linked on the CPU",
    },
    "threads": {"dask": "a task takes the threads of its worker"},
    "algorithm": {
        "stream.connected_components": "a stream has one, disjoint sets",
        "memory.verify stream.verify": "a forest is checked, not found",
        "dask.clusters dask.single_linkage dask.path dask.rooted dask.update": "tasks choose it",
    },
    "max_size": {"stream.clusters": _IN_MEMORY, "dask.clusters": _ALL_ROWS},
    "one_per": {"stream.clusters": _IN_MEMORY, "dask.clusters": _ALL_ROWS},
    "previous": {
        "gpu.clusters": "clusters are compared on the host: pass .to_arrow() of both to dfmst.relabel",
        "stream.clusters": "names are kept in memory: pass both tables to dfmst.relabel",
    },
    "layers": {"dask.in_forest dask.update": _ALL_ROWS, "stream.update": _NO_REMOVAL},
    **{option: {"dask.update": _ALL_ROWS, "stream.update": _NO_REMOVAL} for option in ("removed", "edges")},
    **{option: {"dask.hdbscan": _ALL_ROWS} for option in ("columns", "ids", "box", "min_samples")},
    "metric": {"dask.hdbscan": _ALL_ROWS, "memory.euclidean_forest": "it is euclidean: call dfmst.points_forest"},
}


def reason(world: str, function: str, option: str) -> str | None:
    """Return why a function does not take an option for a kind of data; ``None`` if the table does not say so."""
    for kinds, why in LACKING.get(option, {}).items():
        if {world, f"{world}.{function}"}.intersection(kinds.split()):
            return why
    return None


def _refusal(world: str, function: str, option: str) -> str:
    """Return the message of the error for an option that a function does not take for a kind of data."""
    why = reason(world, function, option)
    return f"dfmst.{function} takes no {option}= for a {WORLDS[world]}" + (f": {why}" if why else "")


def _unknown(world: str, function: str, option: str, known: Iterable[str]) -> TypeError:
    """Return the error for an argument that a function does not have, with the reason or the name that was meant."""
    other, meant = meant_option(option, tuple(known))
    for name in (option, meant):
        if reason(world, function, name):
            return TypeError(_refusal(world, function, name))
    call = f"dfmst.{other}({meant}=)" if other else repr(meant)
    hint = f"; did you mean {call}?" if meant else ""
    return TypeError(f"{function}() got an unexpected keyword argument {option!r}{hint}")


#: Former names of options -> new ones, for a version.
FORMER = {"id": "ids"}


def _in_new_words(function: str, named: Mapping[str, Any], known: Collection[str]) -> dict[str, Any]:
    """Replace former names of options, with a warning that names the new ones."""
    words = dict(named)
    for name, new in FORMER.items():
        if name in named and name not in known and new in known and new not in named:
            message = f"{function}({name}=) is now named {new}=; the next version has the new name only"
            warnings.warn(message, FutureWarning, stacklevel=3)
            words[new] = words.pop(name)
    return words


def driver_of(*frames: object) -> Driver | None:
    """Return the driver of one of these frames; ``None`` if they are other objects."""
    for driver in _DRIVERS:
        library = sys.modules.get(driver.library)  # a frame of it exists only if it is imported
        if library is not None:
            kind = getattr(library, "DataFrame", ())  # it may be half imported by another thread
            if any(isinstance(frame, kind) for frame in frames):
                return driver
    return None


#: Annotation of an argument -> its check. ``None`` passes if it is the default.
_CHECKS: dict[str, _Check] = {
    "int": whole_number,
    "float": lambda name, value: value if type(value) is int else real_number(name, value),
    "bool": yes_or_no,
}
_PLACED = Parameter.POSITIONAL_ONLY, Parameter.POSITIONAL_OR_KEYWORD


class Decorator:
    """Decorates public functions, whose ``**options`` are those of a typed dictionary or of another function.

    The signature then shows each option with type and default. Numbers and flags are checked by their annotations. A
    call with another option is an error that names the option that is meant, or the reason why there is none. If an
    argument is a driver's frame, the driver's function of the same name is called.
    """

    def __init__(
        self,
        options: Mapping[str, Parameter] | None = None,
        explain: Callable[[DfmstError, Mapping[str, Any]], DfmstError | None] = lambda error, arguments: None,
    ) -> None:
        """Take the options of all functions, and a function that returns a clearer error than one of a call."""
        self._options, self._explain = options or {}, explain

    @overload
    def __call__(
        self, world: str = ..., *frames: str, like: None = ..., typed: None = ..., **defaults: object
    ) -> Callable[[_Function], _Function]: ...
    @overload
    def __call__(
        self, world: str = ..., *frames: str, typed: _Function
    ) -> Callable[[Callable[..., Any]], _Function]: ...
    @overload
    def __call__(
        self, world: str = ..., *frames: str, like: Callable[_P, object]
    ) -> Callable[[Callable[..., _R]], Callable[_P, _R]]: ...
    def __call__(
        self,
        world: str = "",
        *frames: str,
        like: Callable[..., object] | None = None,
        typed: Callable[..., object] | None = None,
        **defaults: object,
    ) -> Any:
        """Decorate a function.

        Parameters
        ----------
        world
            The kind of data of a function that may have versions for other kinds.
        *frames
            Arguments that may be a driver's frames: the first ones.
        like
            A function whose parameters are those of this one, except those that the table says it lacks.
        typed
            A function that type checkers take this one for.
        **defaults
            Options, and their defaults in this function.
        """

        def decorate(function: Callable[..., Any]) -> Callable[..., Any]:
            if like is not None:
                return self._checked(function, _shown_like(function, world, like), world, frames, defaults)
            return self._checked(function, _shown(function, world, self._options, defaults), world, frames, defaults)

        return decorate

    def _checked(
        self,
        function: Callable[..., Any],
        shown: Mapping[str, Parameter],
        world: str,
        frames: tuple[str, ...],
        defaults: Mapping[str, object],
    ) -> Callable[..., Any]:
        """Return the function with a signature, checks, and versions for drivers' frames."""
        known = frozenset(shown)
        checks = {name: check for name, each in shown.items() if (check := _check_of(each)) is not None}
        places = [(at, name) for at, name in enumerate(shown) if name in checks and shown[name].kind in _PLACED]

        @wraps(function)
        def call(*values: Any, **named: Any) -> Any:
            if frames:
                given = *values[: len(frames)], *[named[name] for name in frames if name in named]
                if (driver := driver_of(*given)) is not None:
                    return _call_version(call, driver, values, named)
            if not known.issuperset(named):
                named = _in_new_words(function.__name__, named, known)
            if not known.issuperset(named):
                raise _unknown(world, function.__name__, next(name for name in named if name not in known), shown)
            for name in checks.keys() & named if named else ():
                named[name] = checks[name](name, named[name])
            if world in ("stream", "dask") and "drop" in known:
                for name in ("keep", "drop"):
                    if is_several(named.get(name)) and not isinstance(named[name], tuple):
                        raise TypeError(f"{name} must be the name of a column for a {WORLDS[world]}, not a column")
            for at, name in places:
                if at < len(values):
                    values = (*values[:at], checks[name](name, values[at]), *values[at + 1 :])
            try:
                return function(*values, **{**defaults, **named} if defaults else named)
            except (ColumnNotFoundError, InvalidEdgesError) as error:
                clearer = self._explain(error, {**dict(zip(shown, values, strict=False)), **named})
                if clearer is None:
                    raise
                raise clearer from None

        declared = signature(function)
        call.__signature__ = declared.replace(parameters=list(shown.values()))  # type: ignore[attr-defined]
        return call


def _shown(
    function: Callable[..., Any], world: str, options: Mapping[str, Parameter], defaults: Mapping[str, object]
) -> dict[str, Parameter]:
    """Return the parameters of a function, and in place of ``**options`` those that its typed dictionary names.

    The typed dictionary of a function with versions has the options of all versions.
    """
    shown, named = _own(function), dict[str, Parameter]()
    for each in signature(function).parameters.values():
        kind = str(each.annotation).removeprefix("Unpack[").removesuffix("]")
        if each.kind is Parameter.VAR_KEYWORD and kind in function.__globals__:
            taken = function.__globals__[kind].__annotations__
            named = {name: options[name] for name in options if name in taken}
    named = {
        name: each.replace(kind=Parameter.KEYWORD_ONLY, default=defaults.get(name, each.default))
        for name, each in named.items()
        if not reason(world, function.__name__, name)
    }
    last = {name: shown.pop(name) for name in ("return_trace",) if name in shown}
    return shown | named | last


def _shown_like(function: Callable[..., Any], world: str, like: Callable[..., Any]) -> dict[str, Parameter]:
    """Return the parameters of another function that this one has, and its own."""
    others = {name: each for name, each in _own(like).items() if not reason(world, function.__name__, name)}
    return others | _own(function)


def _own(function: Callable[..., Any]) -> dict[str, Parameter]:
    shown = *_PLACED, Parameter.KEYWORD_ONLY
    return {name: each for name, each in signature(function).parameters.items() if each.kind in shown}


def _check_of(parameter: Parameter) -> _Check | None:
    """Return the check of an argument of this annotation, if it has one."""
    check = _CHECKS.get(str(parameter.annotation).removesuffix(" | None"))
    if check is None or parameter.default is not None:
        return check
    return lambda name, value: None if value is None else check(name, value)


def _call_version(
    function: Callable[..., Any], driver: Driver, values: tuple[Any, ...], named: Mapping[str, Any]
) -> Any:
    """Call the driver's function of the same name; an option that it lacks may have the default of the function."""
    name, module = function.__name__, import_module(driver.module)
    if name not in module.__all__:
        message = f"dfmst.{name} takes no {WORLDS[driver.world]}"
        raise UnsupportedFrameError(message, "pass the frame in memory: edges.compute()")
    version = getattr(module, name)
    own, known = signature(function).parameters, signature(version).parameters
    taken = {}
    for option, value in named.items():
        if option in known or option not in own:
            taken[option] = value
        elif value is not own[option].default and not (isinstance(value, str) and value == own[option].default):
            raise ValueError(_refusal(driver.world, name, option))
    return version(*values, **taken)


#: The decorator of functions without the options of a run; the others have that of ``dfmst._trees.request``.
with_options = Decorator()
