"""A call as one value: columns of the edges, how rows are solved, and limits. The public functions make it.

The signature of `Request.of` defines every option of a run once, with its type and default. The typed dictionaries say
which of them a function has, for type checkers and for `with_options`, which makes the function's signature.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import wraps
from inspect import Parameter, signature
from typing import Any, Literal, TypeAlias, TypedDict, TypeVar, get_args

from dfmst._common.arguments import check_strategy, whole_number, yes_or_no
from dfmst._common.machine import Tell
from dfmst._common.options import driver_of, unknown_option, version_for
from dfmst._common.types import ColumnName, Columns, Invalid, PathName
from dfmst._edges.conditions import NO_CONDITIONS, Conditions
from dfmst._edges.read import EdgeColumns, edge_columns
from dfmst.algorithms import Algorithm
from dfmst.errors import ColumnNotFoundError, DfmstError, InvalidEdgesError
from dfmst.formats.stores import Access, Located, local_folder, scheme_of

#: How a forest is found on a cluster.
Strategy: TypeAlias = Literal["auto", "merge", "shuffle"]

#: Memory in bytes, or as a text such as ``"2GiB"``.
Memory: TypeAlias = int | str

#: Memory of a stream, of this process and of its GPU, unless the call has another one.
STREAM_MEMORY = "2GiB"

#: True for a bar; or a function that is called with the rows done and all rows, or with the name of a step.
Progress: TypeAlias = bool | Tell | Callable[[str], object] | None


class Reading(TypedDict, total=False):
    """How rows are read; see :func:`dfmst.minimum_spanning_forest`."""

    invalid: Invalid
    threads: int | None


class Algorithmic(TypedDict, total=False):
    """Which algorithm finds a forest."""

    algorithm: str | Algorithm


class Running(TypedDict, total=False):
    """Where a function runs, and whether it leaves out invalid rows."""

    engine: str
    invalid: Invalid
    threads: int | None


class Solving(Algorithmic, Running, total=False):
    """How rows are solved; see :func:`dfmst.minimum_spanning_forest`."""


class Conditioned(TypedDict, total=False):
    """Conditions on a forest; see :func:`dfmst.minimum_spanning_forest`."""

    by: Columns | None
    keep: ColumnName | None
    drop: ColumnName | None


class Verifying(Conditioned, Running, total=False):
    """How rows are compared with a forest; see :func:`dfmst.verify`."""


class Options(Conditioned, Solving, total=False):
    """How a forest is found; see :func:`dfmst.minimum_spanning_forest`."""


class Limited(Located, total=False):
    """Memory and progress of a stream; see :func:`dfmst.stream.minimum_spanning_forest`."""

    memory_limit: Memory
    progress: bool | Tell | None


class Streaming(Limited, total=False):
    """Limits of a stream; see :func:`dfmst.stream.minimum_spanning_forest`."""

    gpu_memory_limit: Memory | None
    checkpoint: PathName | None
    spill_dir: PathName | None


class StreamRunning(Running, Streaming, total=False):
    """Options of a stream without a forest."""


class StreamSolving(Solving, Streaming, total=False):
    """Options of a stream whose forest is found."""


class StreamOptions(Options, Streaming, total=False):
    """Options of a stream's forest; see :func:`dfmst.stream.minimum_spanning_forest`."""


class StreamVerifying(Verifying, Limited, total=False):
    """Options of a stream whose rows are compared with a forest; see :func:`dfmst.stream.verify`."""


class Planned(TypedDict, total=False):
    """How tasks of a cluster find a forest; see :func:`dfmst.dask.minimum_spanning_forest`."""

    strategy: Strategy
    checkpoint: PathName | None
    memory_limit: Memory | None
    invalid: Invalid


class Tasks(Algorithmic, Planned, total=False):
    """The same, with the sizes of tasks."""

    split_every: int
    n_vertices: int | None


class ClusterOptions(Conditioned, Tasks, total=False):
    """Options of a forest on a cluster; see :func:`dfmst.dask.minimum_spanning_forest`."""


class DrivenOptions(ClusterOptions, Options, total=False):
    """Options of a forest for any frame, of a cluster or not."""


@dataclass(frozen=True, slots=True)
class Solver:
    """How rows are solved."""

    algorithm: str | Algorithm = "auto"
    engine: str = "auto"
    threads: int | None = None


@dataclass(frozen=True, slots=True)
class Limits:
    """Memory that a run may use, its directories, and whom it tells about its progress."""

    memory: Memory | None = None
    gpu_memory: Memory | None = None
    spill_dir: PathName | None = None
    checkpoint: PathName | None = None
    progress: Progress = None
    on_checkpoint: Callable[..., object] | None = None
    access: Access | None = field(default=None, repr=False)  # to addresses of files

    def __post_init__(self) -> None:
        for argument in ("checkpoint", "spill_dir"):
            folder = getattr(self, argument)
            if folder is not None and scheme_of(folder) is not None:
                object.__setattr__(self, argument, local_folder(folder, argument))


@dataclass(frozen=True, slots=True)
class Clustered:
    """How tasks of a cluster find a forest."""

    strategy: Strategy = "auto"
    split_every: int = 2
    n_vertices: int | None = None

    def __post_init__(self) -> None:
        check_strategy(self.strategy, get_args(Strategy))
        for name, least in (("split_every", 2), ("n_vertices", 1)):
            value = getattr(self, name)
            if value is not None and whole_number(name, value) < least:
                raise ValueError(f"{name} is {value!r}; it must be at least {least}")


_UNLIMITED, _ALONE = Limits(), Clustered()


@dataclass(frozen=True, slots=True)
class Request:
    """Columns and conditions of a call, how it is solved, and its limits."""

    columns: EdgeColumns
    solver: Solver = Solver()
    limits: Limits = _UNLIMITED
    cluster: Clustered = _ALONE

    @classmethod
    def of(
        cls,
        source: Columns = "source",
        target: Columns = "target",
        weight: Columns | None = "weight",
        *,
        maximum: bool = False,
        by: Columns | None = None,
        keep: ColumnName | None = None,
        drop: ColumnName | None = None,
        algorithm: str | Algorithm = "auto",
        engine: str = "auto",
        invalid: Invalid = "raise",
        threads: int | None = None,
        memory_limit: Memory | None = None,
        gpu_memory_limit: Memory | None = None,
        checkpoint: PathName | None = None,
        spill_dir: PathName | None = None,
        storage_options: Mapping[str, Any] | None = None,
        filesystem: Any = None,
        progress: Progress = None,
        on_checkpoint: Callable[..., object] | None = None,
        strategy: Strategy = "auto",
        split_every: int = 2,
        n_vertices: int | None = None,
        joint_keys: bool = True,
    ) -> Request:
        """Make the request of a call; without `joint_keys` an id or a weight of several columns is an error."""
        plain = by is None and keep is None and drop is None
        order = maximum, invalid, NO_CONDITIONS if plain else Conditions.of(by, keep, drop)
        columns = (edge_columns if joint_keys else EdgeColumns)(source, target, weight, *order)
        limits, cluster = _UNLIMITED, _ALONE
        bounded = memory_limit is not None or gpu_memory_limit is not None or progress is not None
        access = None if storage_options is None and filesystem is None else Access(storage_options, filesystem)
        directed = checkpoint is not None or spill_dir is not None or access is not None
        if bounded or directed or on_checkpoint is not None:
            limits = Limits(memory_limit, gpu_memory_limit, spill_dir, checkpoint, progress, on_checkpoint, access)
        if n_vertices is not None or strategy is not _ALONE.strategy or split_every is not _ALONE.split_every:
            cluster = Clustered(strategy, split_every, n_vertices)
        return cls(columns, Solver(algorithm, engine, threads), limits, cluster)


#: Option -> its type and default.
DEFINED = signature(Request.of).parameters
_Function = TypeVar("_Function", bound=Callable[..., Any])


def with_options(
    world: str, kind: type | None, *frames: str, defined: Mapping[str, Parameter] = DEFINED, **defaults: object
) -> Callable[[_Function], _Function]:
    """Decorate a public function of a kind of data, whose ``**options`` are those of a typed dictionary.

    Its signature shows each option with type and default: `defaults`, or those of :meth:`Request.of`. If one of the
    arguments `frames` is a driver's frame, the driver's function of the same name is called.
    """
    given = {name: defined[name] for name in (kind.__annotations__ if kind else ())}
    options = [
        each.replace(kind=Parameter.KEYWORD_ONLY, default=defaults.get(name, each.default))
        for name, each in given.items()
    ]

    def decorate(function: _Function) -> _Function:
        given = signature(function)
        own = [each for each in given.parameters.values() if each.kind is not Parameter.VAR_KEYWORD]
        last = [each for each in own if each.name == "return_trace"]
        shown = given.replace(parameters=[*(each for each in own if each not in last), *options, *last])
        known = frozenset(shown.parameters)
        flags = frozenset(name for name, each in shown.parameters.items() if type(each.default) is bool)

        @wraps(function)
        def call(*values: object, **named: object) -> Any:
            version = version_for(call, frames, values, named) if frames else None
            if version is not None:
                return version(*values)
            if not known.issuperset(named):
                name = next(name for name in named if name not in known)
                raise unknown_option(world, function.__name__, name, shown.parameters)
            for name in flags.intersection(named) if named else ():
                named[name] = yes_or_no(name, named[name])
            try:
                return function(*values, **{**defaults, **named} if defaults else named)
            except (ColumnNotFoundError, InvalidEdgesError) as error:
                fixed = _with_fix(error, {**dict(zip(shown.parameters, values, strict=False)), **named})
                if fixed is None:
                    raise
                raise fixed from None

        call.__signature__ = shown  # type: ignore[attr-defined]
        return call  # type: ignore[return-value]

    return decorate


def _with_fix(error: DfmstError, arguments: Mapping[str, Any]) -> ColumnNotFoundError | None:
    """Return the error for absent columns with the call that is meant, for levels of an index and for a matrix."""
    if not error.missing:
        return None
    for argument, frame in arguments.items():
        index = getattr(frame[0] if isinstance(frame, list) and frame else frame, "index", None)
        names = getattr(index, "names", [getattr(index, "name", None)])  # Dask's index has one name
        levels = [repr(name) for name in names if name in frozenset(error.missing)]
        if levels:
            message = f"{error.message}; {' and '.join(levels)} {'is a level' if len(levels) == 1 else 'are levels'}"
            return ColumnNotFoundError(f"{message} of the index", f"make columns of them: {argument}.reset_index()")
    edges = arguments.get("edges", arguments.get("forest"))
    if len(error.missing) > 1 and driver_of(edges) is None:
        from dfmst._trees.points.read import matrix_hint  # only messages need it

        hint = matrix_hint(edges, "edges" if "edges" in arguments else "forest")
        return None if hint is None else ColumnNotFoundError(error.message, hint)
    return None


def typed_as(function: _Function) -> Callable[[Callable[..., Any]], _Function]:
    """Decorate a function that has the parameters of another one: type checkers take it for that one."""
    return lambda like: like  # type: ignore[return-value]
