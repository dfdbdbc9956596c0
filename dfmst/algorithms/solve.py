"""From columns to chosen rows: a table is checked in the passes that solve it, where that saves passes."""

from __future__ import annotations

from collections.abc import Callable

from dfmst._columns.edge_table import ChecksFailed
from dfmst._columns.read import Input
from dfmst._engines import Engine
from dfmst.algorithms import Algorithm, FilterKruskal, resolve
from dfmst.algorithms.trace import Trace
from dfmst.typing import Array

__all__ = ["solve"]


def solve(
    engine: Engine, read: Callable[[bool], Input], algorithm: str | Algorithm, trace: Trace
) -> tuple[Input, Array]:
    """Read a table and find its forest.

    Every column of a large table is read from memory as often as it is looked at: a check of all ids and weights before
    the first step would cost as much as the step. So the table is trusted first. What is wrong with it shows in the
    passes of the algorithm that read it anyway, and then it is read again with all checks, which say what it is.

    Parameters
    ----------
    read
        Reads the table; given ``True`` it may leave the checks of its columns to the algorithm (``deferred``).
    trace
        Receives the records of the run that counts.

    Returns
    -------
    given
        The table.
    rows
        The table's rows in the forest, ascending ``int64``.

    Raises
    ------
    InvalidEdgesError, CapacityError
        What `read` raises when it checks.
    """
    given, on = read(True), engine.in_scratch()
    chosen = resolve(algorithm, engine, given.table)
    if given.table.deferred is not None:
        if isinstance(chosen, FilterKruskal):
            try:
                return given, chosen.run(on, given.table, trace)
            except ChecksFailed:
                trace.records.clear()
        given = read(False)
    return given, chosen.run(on, given.table, trace)
