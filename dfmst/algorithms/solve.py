"""The one pipeline: read a table, choose an algorithm, run it."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from functools import cache
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

import numpy as np

from dfmst._common.types import ROW_LIMIT, Array
from dfmst._edges.edge_table import ChecksFailed, EdgeTable, Input, move_table
from dfmst._edges.vertices import check_capacity
from dfmst._engines import Engine, host_engine, release_memory
from dfmst.algorithms import REGISTRY, Algorithm, FilterKruskal
from dfmst.algorithms.base import Trace
from dfmst.errors import CapacityError, did_you_mean

if TYPE_CHECKING:
    from dfmst._edges.read import EdgeColumns
    from dfmst._edges.view import View

_SLICE = 1 << 31  # rows of a table that has more of them than positions of 32 bits number
_LEAST_SLICE = 1 << 16  # rows of a table that a GPU has no memory for: fewer would save nothing
_LEFT = 7 / 8  # share of rows in the forests of slices above which slices do not help

#: Gives a context manager for each step of the pipeline by its name, to time it for example.
Step: TypeAlias = Callable[[str], AbstractContextManager[object]]


class Solved(NamedTuple):
    """A table and its forest.

    ``rows`` are the table's rows in the forest, ascending ``int64``; ``algorithm`` is the object that found them.
    """

    input: Input
    rows: Array
    algorithm: Algorithm


def solve_table(engine: Engine, table: EdgeTable, algorithm: str | Algorithm = "auto") -> Array:
    """Return a table's rows in the forest, ascending ``int64``.

    On the host, whose callers account for each column, the engine's scratch memory is not used.
    """
    return resolve(algorithm, engine).run(engine if engine.on_host else engine.in_scratch(), table, Trace(counts=False))


def solve(
    engine: Engine,
    read: Callable[[bool], Input],
    algorithm: str | Algorithm = "auto",
    trace: Trace | None = None,
    step: Step = nullcontext,
) -> Solved:
    """Read a table and find its forest.

    To check all ids and weights of a large table before the first step would cost as much as that step. So the checks
    are deferred to the passes of the algorithm. If one fails, the table is read again and checked first, for an error
    that names the fault.
    """
    trace = Trace(counts=False) if trace is None else trace
    scratch = engine.in_scratch()
    with step("prepare"):
        chosen = resolve(algorithm, engine)
        input = read(isinstance(chosen, FilterKruskal))  # it checks the columns itself
    with step("solve"):
        try:
            return _run(scratch, input, chosen, trace)
        except ChecksFailed:  # checks are only deferred without a trace
            input = read(False)
        return _run(scratch, input, chosen, trace)


def _run(engine: Engine, input: Input, algorithm: Algorithm, trace: Trace) -> Solved:
    rows = _find_rows(engine, input.table, algorithm, trace)
    engine = host_engine(engine) if _is_away(engine, rows) else engine
    if input.forced is not None and len(input.forced):
        rows = engine.xp.sort(engine.xp.concatenate([rows, engine.from_host(input.forced)]))
    return Solved(input, rows, algorithm)


def _find_rows(engine: Engine, table: EdgeTable, algorithm: Algorithm, trace: Trace) -> Array:
    """Return the forest's rows, in the memory of the table.

    If positions of 32 bits do not number all rows, or if a GPU lacks memory for them, slices of the table are solved
    first. A row that is not in the forest of its slice is in no forest of the table, and the rows of all slices are
    still in the order of the table. A table on the host goes to a GPU slice by slice.
    """
    rows, size, lack = len(table), _SLICE, None
    away = _is_away(engine, table.source)
    if rows <= ROW_LIMIT:
        recorded = len(trace.records)
        try:
            with engine.guard():
                found = algorithm.run(engine, move_table(engine, table) if away else table, trace)
                return engine.to_host(found) if away else found
        except CapacityError as error:
            if engine.on_host or rows <= _LEAST_SLICE:
                raise
            lack, size = error.with_traceback(None), -(-rows // 128) * 64  # half; slices begin at whole words of flags
            lack.__cause__ = lack.__context__ = None  # the frames of their tracebacks hold columns
            del trace.records[recorded:]
        release_memory()
    begins = range(0, rows, size)
    slices = [_find_rows(engine, table.part(begin, begin + size), algorithm, trace) + begin for begin in begins]
    left: Array = (np if away else engine.xp).concatenate(slices)
    if lack is not None and len(left) > _LEFT * rows:
        raise lack
    if len(left) == rows:
        check_capacity(rows)
    return left[_find_rows(engine, table.take(left), algorithm, trace)]


def _is_away(engine: Engine, column: Array) -> bool:
    """Whether a column is on the host and the engine on a GPU."""
    return not (engine.on_host or isinstance(column, engine.xp.ndarray))


def solve_frame(
    engine: Engine,
    view: View,
    columns: EdgeColumns,
    algorithm: str | Algorithm = "auto",
    trace: Trace | None = None,
    step: Step = nullcontext,
) -> Solved:
    """Find the forest of a frame; with a `trace`, vertices are counted first, so that it begins with their number."""
    from dfmst._edges.read import read_table  # it loads PyArrow, which takes 40 ms

    exact = trace is not None

    def read(defer_checks: bool) -> Input:
        return read_table(engine, view, columns, defer_checks=defer_checks and not exact, any_length=True)

    return solve(engine, read, algorithm, trace, step)


@cache
def _default(name: str) -> Algorithm:
    return REGISTRY[name]()


def name_of(algorithm: Algorithm) -> str:
    """Return the name of an algorithm: that of its module, with hyphens."""
    return type(algorithm).__module__.rpartition(".")[2].replace("_", "-")


def resolve(algorithm: str | Algorithm, engine: Engine) -> Algorithm:
    """Return the algorithm that a name or an object stands for."""
    if isinstance(algorithm, str):
        if algorithm == "auto":  # Kruskal's scan is sequential: fast on a CPU, and slow on a GPU
            algorithm = "filter-kruskal" if engine.on_host else "filter-boruvka"
        if algorithm not in REGISTRY:
            message = f"unknown algorithm {algorithm!r}; known: 'auto', {', '.join(map(repr, REGISTRY))}"
            suggestion = did_you_mean(algorithm, ("auto", *REGISTRY))
            raise ValueError(f"{message}; {suggestion}" if suggestion else message)
        return _default(algorithm)
    if isinstance(algorithm, tuple(REGISTRY.values())):
        return algorithm
    raise TypeError(f"algorithm is a {type(algorithm).__name__}; it must be a name or an object of dfmst.algorithms")
