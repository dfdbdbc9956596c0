"""A call as one value: columns of the edges, how rows are solved, and limits. The public functions make it.

The signature of `Request.of` defines every option of a run once, with its type and default. The typed dictionaries say
which of them a function has, for type checkers and for `with_options`, which makes the function's signature.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from inspect import signature
from typing import Any, Literal, TypeAlias, TypedDict, get_args

from dfmst._common.arguments import check_strategy, whole_number
from dfmst._common.machine import Tell
from dfmst._common.options import Decorator, driver_of
from dfmst._common.types import Column, ColumnName, Columns, Invalid, PathName
from dfmst._edges.conditions import NO_CONDITIONS, Conditions
from dfmst._edges.read import EdgeColumns, edge_columns
from dfmst.algorithms import Algorithm
from dfmst.errors import ColumnNotFoundError, DfmstError
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


class Running(Reading, total=False):
    """The same, and where a function runs."""

    engine: str


class Solving(Running, total=False):
    """How rows are solved; see :func:`dfmst.minimum_spanning_forest`."""

    algorithm: str | Algorithm


class Options(Solving, total=False):
    """How a forest is found; see :func:`dfmst.minimum_spanning_forest`."""

    by: Columns | None
    keep: ColumnName | Column | None
    drop: ColumnName | Column | None


class Streaming(Located, Running, total=False):
    """Options of a stream; see :func:`dfmst.stream.minimum_spanning_forest`."""

    memory_limit: Memory
    gpu_memory_limit: Memory | None
    checkpoint: PathName | None
    spill_dir: PathName | None
    progress: bool | Tell | None


class StreamUpdating(Solving, Streaming, total=False):
    """Options of a forest that gets new rows."""


class StreamOptions(Options, Streaming, total=False):
    """Options of a stream's forest."""


class Planned(TypedDict, total=False):
    """How tasks of a cluster find a forest; see :func:`dfmst.dask.minimum_spanning_forest`."""

    invalid: Invalid
    memory_limit: Memory | None
    checkpoint: PathName | None
    strategy: Strategy


class ClusterOptions(Planned, total=False):
    """Options of a forest on a cluster."""

    by: Columns | None
    keep: ColumnName | Column | None
    drop: ColumnName | Column | None
    algorithm: str | Algorithm
    split_every: int
    n_vertices: int | None


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
        keep: ColumnName | Column | None = None,
        drop: ColumnName | Column | None = None,
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


#: The decorator of functions with options of a run, which :meth:`Request.of` defines.
with_options = Decorator(signature(Request.of).parameters, _with_fix)
