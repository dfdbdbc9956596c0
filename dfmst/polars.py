"""``import dfmst.polars`` registers ``DataFrame.mst`` and ``LazyFrame.mst``.

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

from typing import Any

import polars as pl
from polars.api import register_dataframe_namespace, register_lazyframe_namespace

import dfmst
from dfmst.accessor import ForestAccessor

__all__ = ["in_forest"]

register_dataframe_namespace("mst")(ForestAccessor)
register_lazyframe_namespace("mst")(ForestAccessor)


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


def _named(column: Any) -> Any:
    """Return the name of a column or an expression."""
    return column.meta.output_name() if isinstance(column, pl.Expr) else column
