"""The one pipeline: read a table, choose an algorithm, run it."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from functools import cache
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

from dfmst._common.types import ROW_LIMIT, Array
from dfmst._edges.edge_table import ChecksFailed, EdgeTable, Input
from dfmst._edges.vertices import check_capacity
from dfmst._engines import Engine
from dfmst.algorithms import REGISTRY, Algorithm, FilterKruskal
from dfmst.algorithms.base import Trace
from dfmst.errors import did_you_mean

if TYPE_CHECKING:
    from dfmst._edges.read import EdgeColumns
    from dfmst._edges.view import View

_SLICE = 1 << 31  # rows of a table that has more of them than positions of 32 bits number

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
        except ChecksFailed:
            trace.records.clear()
        return _run(scratch, read(False), chosen, trace)


def _run(engine: Engine, input: Input, algorithm: Algorithm, trace: Trace) -> Solved:
    rows = _find_rows(engine, input.table, algorithm, trace)
    if input.forced is not None and len(input.forced):
        rows = engine.xp.sort(engine.xp.concatenate([rows, engine.from_host(input.forced)]))
    return Solved(input, rows, algorithm)


def _find_rows(engine: Engine, table: EdgeTable, algorithm: Algorithm, trace: Trace) -> Array:
    """Return the forest's rows; if positions of 32 bits do not number all rows, by the forests of slices of the table.

    A row that is not in the forest of its slice is in no forest of the table, and the rows of all slices are still in
    the order of the table.
    """
    rows = len(table)
    if rows <= ROW_LIMIT:
        return algorithm.run(engine, table, trace)
    begins = range(0, rows, _SLICE)
    found = [algorithm.run(engine, table.part(begin, begin + _SLICE), trace) + begin for begin in begins]
    left: Array = engine.xp.concatenate(found)
    if len(left) == rows:
        check_capacity(rows)
    return left[_find_rows(engine, table.take(left), algorithm, trace)]


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
    """The object that a name selects."""
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
