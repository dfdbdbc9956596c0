"""``import dfmst.polars`` registers ``DataFrame.mst`` and ``LazyFrame.mst``.

Of a ``LazyFrame``, ``minimum``, ``maximum``, ``spanning``, ``path``, ``bridges`` and ``steiner_tree`` return rows of
the frame: they are steps of its query, and run when it is collected. They look for their columns at the call. All other
methods, whose columns depend on the values, and ``return_trace=True`` run the query at the call.

Examples
--------
>>> import polars as pl
>>> import dfmst.polars
>>> roads = pl.DataFrame({"a": ["x", "y", "x"], "b": ["y", "z", "z"], "km": [3, 1, 2]})
>>> roads.mst.minimum("a", "b", "km").rows()
[('y', 'z', 1), ('x', 'z', 2)]
>>> roads.with_columns(dfmst.polars.in_forest("a", "b", "km"))["in_forest"].to_list()
[False, True, True]
"""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from inspect import signature
from typing import Any, TypeVar

import polars as pl
from polars.api import register_dataframe_namespace, register_lazyframe_namespace

import dfmst
from dfmst.accessor import ForestAccessor, _Method

__all__ = ["in_forest", "mst"]

FrameT = TypeVar("FrameT", pl.DataFrame, pl.LazyFrame)

#: Options of a step that needs all rows and columns: nothing that follows it in the query may come before it.
_ALL_ROWS: Any = dict.fromkeys(("predicate_pushdown", "projection_pushdown", "slice_pushdown"), False)
_CHECKED = ("source", "target", "weight", "by", "keep", "drop", "invalid")  # arguments that an empty table checks


def _step(function: Callable[..., Any]) -> Callable[..., Any]:
    """Make a method that adds a function, which returns rows of its frame, to a query."""
    known = signature(function)

    @wraps(function)
    def method(self: _LazyForestAccessor, *values: Any, **named: Any) -> Any:
        from dfmst._common.arguments import is_several  # it loads NumPy

        given = known.bind(self._frame, *values, **named).arguments
        if given.get("return_trace"):
            return function(self._frame, *values, **named)
        flags = [argument for argument in ("keep", "drop") if is_several(given.get(argument))]
        checked = {argument: given[argument] for argument in _CHECKED if argument in given and argument not in flags}
        checked = checked if "weight" in known.parameters else {**checked, "weight": None}
        dfmst.minimum_spanning_forest(pl.DataFrame(schema=self._frame.collect_schema()), **checked)
        return self._frame.map_batches(lambda rows: function(rows, *values, **named), **_ALL_ROWS)

    return method


class _LazyForestAccessor(ForestAccessor[pl.LazyFrame]):
    """Functions of :mod:`dfmst` on a query of polars: those that return rows of the frame are steps of the query."""

    minimum = _Method("minimum_spanning_forest", _step)
    maximum = _Method("maximum_spanning_forest", _step)
    spanning = _Method("spanning_forest", _step)
    path = _Method("path", _step)
    bridges = _Method("bridges", _step)
    steiner_tree = _Method("steiner_tree", _step)


register_dataframe_namespace("mst")(ForestAccessor)
register_lazyframe_namespace("mst")(_LazyForestAccessor)


def mst(frame: FrameT) -> ForestAccessor[FrameT]:
    """Return ``frame.mst``: type checkers know its methods, but not the attribute of the frame.

    Examples
    --------
    >>> import polars as pl
    >>> from dfmst.polars import mst
    >>> mst(pl.DataFrame({"source": [0, 1, 0], "target": [1, 2, 2], "weight": [3, 1, 2]})).minimum().rows()
    [(1, 2, 1), (0, 2, 2)]
    """
    return frame.mst  # type: ignore[attr-defined, no-any-return]


def in_forest(
    source: Any = "source", target: Any = "target", weight: Any = "weight", *, layers: int = 1, **options: Any
) -> pl.Expr:
    """Return an expression for :func:`dfmst.in_forest`, to use in polars' queries, also with ``.over("window")``.

    Parameters
    ----------
    source, target, weight
        Names of columns or expressions; lists of names as for :func:`dfmst.minimum_spanning_forest`.
    layers, **options
        As for :func:`dfmst.in_forest`. One call with ``by="window"`` is faster than ``.over("window")``, which calls
        the function for each group.

    Returns
    -------
    expression : polars.Expr
        ``in_forest``, boolean; or ``layer``, an unsigned integer, with several layers.

    Examples
    --------
    >>> import polars as pl
    >>> import dfmst.polars
    >>> calls = pl.DataFrame({"a": [0, 0, 1, 0, 0], "b": [1, 2, 2, 1, 1], "w": [3, 1, 2, 2, 1], "day": [1, 1, 1, 2, 2]})
    >>> calls.filter(dfmst.polars.in_forest("a", "b", "w").over("day")).rows()
    [(0, 2, 1, 1), (1, 2, 2, 1), (0, 1, 1, 2)]
    """
    named: list[Any] = [_named(given) for given in (source, target, weight)]
    conditions = [options[name] for name in ("by", "keep", "drop") if options.get(name) is not None]
    columns: dict[str, pl.Expr] = {}
    for given in (source, target, weight, *conditions):
        for part in given if isinstance(given, list) else [] if given is None else [given]:
            columns[_named(part)] = pl.col(part) if isinstance(part, str) else part

    def mark(rows: pl.Series) -> pl.Series:
        marks: pl.Series = dfmst.in_forest(rows.struct.unnest(), *named, layers=layers, **options)
        return marks

    kind = pl.Boolean if layers == 1 else pl.UInt8 if layers < 1 << 8 else pl.UInt16 if layers < 1 << 16 else pl.UInt32
    marked = pl.struct(list(columns.values())).map_batches(mark, return_dtype=kind)
    return marked.alias("in_forest" if layers == 1 else "layer")


def _named(column: object) -> Any:
    """Return the name of a column or an expression."""
    return column.meta.output_name() if isinstance(column, pl.Expr) else column
