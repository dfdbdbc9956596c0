"""Ids and weights of frames that stay in their engine: checked and aligned by expressions, nothing read out.

The counterpart of :mod:`dfmst._edges.check` with the same promises. The ids stay what they are, so that both columns
must be of one type: integers of any width, text of any kind, or twice the same type.
"""

from __future__ import annotations

import operator
from functools import reduce
from typing import Any

import narwhals.stable.v2 as nw
import pyarrow as pa

from dfmst._edges.check import check_ends, flagged_columns, invalid_rows
from dfmst._edges.ids import different_ids, float_ids, no_common_integer, unsuitable_ids
from dfmst._edges.lazy_frame import LazyView
from dfmst._edges.read import EdgeColumns
from dfmst._edges.tables import as_lazy
from dfmst._edges.to_arrow import to_arrow
from dfmst._edges.unify import common_id_type
from dfmst._edges.weights import unsupported_weights

_TEXT = (nw.String, nw.Categorical, nw.Enum)
_IDS = (nw.Boolean, nw.Date, nw.Datetime, nw.Time, nw.Duration, nw.Decimal, nw.Binary)
_SIGNED = (nw.Int8, nw.Int16, nw.Int32, nw.Int64)
_UNSIGNED = (nw.UInt8, nw.UInt16, nw.UInt32)
_LARGEST = (1 << 63) - 1


def lazy_edges(view: LazyView, columns: EdgeColumns) -> nw.LazyFrame[Any]:
    """Read the edges of a frame that stays in its engine."""
    check_ends(columns.source, columns.target)
    names = [name for name in columns.names if name is not None]
    rows = _typed_objects(view.columns(names), columns)
    types = _types(rows)
    ids = _common_ids(rows, columns, types)
    missing = {"source": nw.col("source").is_null(), "target": nw.col("target").is_null()}
    weight: Any = nw.lit(0)
    if columns.weight is not None:
        weight, missing["weight"] = _weight(columns.weight, types["weight"], columns.maximum)
    rows = _without_missing(rows, columns, missing)
    return rows.select("row", *ids, weight=weight)


def _typed_objects(rows: nw.LazyFrame[Any], columns: EdgeColumns) -> nw.LazyFrame[Any]:
    """Give Python objects in a Dask frame their Arrow type: as text, 1 and "1" would be one id."""
    native: Any = nw.to_native(rows)
    if not rows.implementation.is_dask():
        return rows
    objects = {column for column, kind in native.dtypes.items() if str(kind) == "object"}
    if objects & {"source", "target"}:
        objects |= {"source", "target"}
    kinds: dict[str, pa.DataType] = {}
    for column, name in zip(("source", "target", "weight"), columns.names, strict=True):
        if column not in objects:
            continue
        for kind in native[column].map_partitions(_object_kind, name, meta=(column, object)).compute():
            known = kinds.setdefault(column, kind)
            common = common_id_type(known, kind)
            if common is None and column == "weight":
                raise unsupported_weights(name, f"both {known} and {kind}")
            if common is None:
                raise different_ids((name, known), (name, kind))
            kinds[column] = common
    if not kinds:
        return rows
    both = common_id_type(kinds["source"], kinds["target"]) if "source" in kinds else None
    kinds |= dict.fromkeys(("source", "target"), both) if both is not None else {}
    return as_lazy(native.map_partitions(_with_types, kinds, meta=_with_types(native._meta, kinds)))


def _types(rows: nw.LazyFrame[Any]) -> dict[str, Any]:
    """Types of the columns; Narwhals has none for decimals of 256 bits."""
    types = dict(rows.collect_schema())
    if rows.implementation.is_dask():
        native: Any = nw.to_native(rows)
        types |= {name: nw.Decimal() for name, kind in native.dtypes.items() if str(kind).startswith("decimal256")}
    return types


def _object_kind(series: Any, name: Any) -> Any:
    """The Arrow type of a partition's ids, as a series of one row."""
    return type(series)([to_arrow(name, series.to_numpy()).type], dtype=object)


def _with_types(part: Any, kinds: dict[str, pa.DataType]) -> Any:
    """A partition with its columns of objects as columns of Arrow."""
    import pandas as pd

    typed = {end: to_arrow(end, part[end].to_numpy()).cast(kind) for end, kind in kinds.items()}
    return part.assign(**{end: pd.arrays.ArrowExtensionArray(values) for end, values in typed.items()})


def _common_ids(rows: nw.LazyFrame[Any], columns: EdgeColumns, types: Any) -> list[nw.Expr]:
    """Both id columns in one type."""
    ends = nw.col("source", "target")
    common: Any = None
    first, second = types["source"], types["target"]
    for name, kind in ((columns.source, first), (columns.target, second)):
        if kind.is_float():
            raise float_ids(name, str(kind))
        if not (kind.is_integer() or isinstance(kind, (*_TEXT, *_IDS))):
            raise unsuitable_ids(name, str(kind))
    if isinstance(first, _TEXT) and isinstance(second, _TEXT):
        common = nw.String
    elif first != second and first.is_integer() and second.is_integer():
        _check_range(rows, columns, types)
        common = nw.Int64
    elif first != second:
        raise different_ids((columns.source, first), (columns.target, second))
    return [ends if common is None else ends.cast(common)]


#: Weights that are compared as they are.
_MEASURED = (nw.Decimal, nw.Duration, nw.Datetime, nw.Date, nw.Time)


def _check_range(rows: nw.LazyFrame[Any], columns: EdgeColumns, types: Any) -> None:
    """Raise where an integer column beside one of another type does not fit 64 bits with a sign."""
    for end in ("source", "target"):
        if isinstance(types[end], (*_SIGNED, *_UNSIGNED)):
            continue
        largest = rows.select(nw.col(end).max()).collect().item()
        if not isinstance(types[end], nw.UInt64) or (largest is not None and int(largest) > _LARGEST):
            raise no_common_integer((columns.source, types["source"]), (columns.target, types["target"]))


def _weight(name: Any, kind: Any, maximum: bool) -> tuple[nw.Expr, nw.Expr]:
    """The weight such that the least comes first, and where there is none."""
    weight = nw.col("weight")
    missing = weight.is_null()
    if kind.is_float():
        # Engines differ on whether -0.0 comes before 0.0.
        plain = nw.when(weight == 0).then(nw.lit(0.0)).otherwise(weight)
        return (0.0 - plain if maximum else plain), missing | weight.is_nan()
    if isinstance(kind, nw.Boolean):
        return (1 - weight.cast(nw.Int64) if maximum else weight.cast(nw.Int64)), missing
    if not (kind.is_integer() or isinstance(kind, _MEASURED)):
        raise unsupported_weights(name, str(kind))
    if not maximum:
        return weight, missing
    if isinstance(kind, (*_SIGNED, *_UNSIGNED)):
        return -1 - weight.cast(nw.Int64), missing  # the complement: the least integer has no negative
    return weight.rank("min", descending=True), missing


def _without_missing(rows: nw.LazyFrame[Any], columns: EdgeColumns, missing: dict[str, nw.Expr]) -> nw.LazyFrame[Any]:
    """Leave out rows without an id or a weight, or raise for the first such column."""
    if columns.invalid == "drop":
        return rows.filter(~reduce(operator.or_, missing.values()))
    counts = {f"{end}_count": mask.cast(nw.Int64).sum() for end, mask in missing.items()}
    firsts = {f"{end}_first": nw.when(mask).then(nw.col("row")).min() for end, mask in missing.items()}
    told = rows.select(**counts, **firsts).collect().to_dict(as_series=False)
    for end, text in zip(missing, flagged_columns(columns.names), strict=False):
        count = told[f"{end}_count"][0]
        if count:  # of no rows it is null in some engines
            raise invalid_rows(text, int(count), int(told[f"{end}_first"][0]))
    return rows
