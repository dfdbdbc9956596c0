"""Columns of a frame as an edge table: read by name, checked for nulls and NaNs, numbered densely.

On the host, the algorithm may check a long table (:class:`dfmst._edges.edge_table.DeferredChecks`). On a GPU, one pass
computes the statistics of all rows.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import partial, reduce, wraps
from typing import Any, TypeVar, cast

import numpy as np
import pyarrow as pa

from dfmst._common.arguments import check_choice, check_column_name, one_name, yes_or_no
from dfmst._common.types import Array, Column, EdgeNames, Invalid
from dfmst._edges.conditions import NO_CONDITIONS, Conditions, apply_conditions
from dfmst._edges.edge_table import (
    CheckedColumns,
    ColumnOf,
    Input,
    Missing,
    Readers,
    find_missing,
    make_table,
    move_table,
)
from dfmst._edges.vertices import IdColumns, check_capacity
from dfmst._edges.view import View
from dfmst._edges.weights import WeightColumn, constant_weights
from dfmst._engines import Engine
from dfmst.errors import CapacityError, ColumnNotFoundError, InvalidEdgesError, UnsupportedFrameError, missing_columns

_ENDS = "source", "target"
Function = TypeVar("Function", bound=Callable[..., Any])


@dataclass(frozen=True, slots=True)
class EdgeColumns:
    """Names of a frame's columns that are its edges, and options to read them."""

    source: Any = "source"
    target: Any = "target"
    weight: Any = "weight"  # None: all weights are equal
    maximum: bool = False  # whether heavier edges come first
    invalid: Invalid = "raise"  # "drop" leaves out rows with null ids, or with null or NaN weights
    conditions: Conditions = NO_CONDITIONS
    keys: tuple[Any, Any, Any] | None = None  # source, target and weight of the call, if one is a list of names
    types: dict[Any, pa.DataType] = field(default_factory=dict)  # by column, in which partitions are compared

    def __post_init__(self) -> None:
        for argument in ("source", "target", "weight"):
            given = getattr(self, argument)
            if type(given) is str:
                continue
            name = one_name(given)
            object.__setattr__(self, argument, name)
            if isinstance(name, list) and name and all(isinstance(part, str) for part in name):
                message = f"{argument} names {len(name)} columns; keys of several columns are for the forest functions"
                raise InvalidEdgesError(message, "make one column of them, for example by joining them into a string")
            check_column_name(argument, name)
        object.__setattr__(self, "maximum", yes_or_no("maximum", self.maximum))
        check_choice(self.invalid, ("raise", "drop"), f"invalid is {self.invalid!r}; it must be 'raise' or 'drop'")

    @property
    def names(self) -> tuple[Any, Any, Any]:
        return self.source, self.target, self.weight

    @property
    def given(self) -> tuple[Any, Any, Any]:
        """Source, target and weight as the call has them: names, or lists of names."""
        return self.keys or self.names

    @property
    def end_parts(self) -> list[tuple[Any, Any]]:
        """Names of the columns of an id: of the source and of the target."""
        if self.keys is None or not isinstance(self.keys[0], list):
            return [(self.source, self.target)]
        return list(zip(*self.keys[:2], strict=True))

    @property
    def weights(self) -> list[Any]:
        if self.has_joint_weight:
            return list(self.keys[2])  # type: ignore[index]
        return [] if self.weight is None else [self.weight]

    @property
    def id_names(self) -> list[Any]:
        """Columns that ids are made of."""
        return list(dict.fromkeys([*(name for pair in self.end_parts for name in pair), *self.conditions.by]))

    @property
    def read_names(self) -> list[Any]:
        """All columns that are read, each once."""
        return list(dict.fromkeys([*self.id_names, *self.weights, *self.conditions.columns]))

    @property
    def arguments(self) -> list[tuple[str, Any]]:
        """The arguments of a call, and the columns that they name."""
        ends = [(argument, name) for pair in self.end_parts for argument, name in zip(_ENDS, pair, strict=True)]
        weights = [("weight", name) for name in self.weights]
        conditions = self.conditions
        groups = [("by", name) for name in conditions.by]
        flags = [("keep", conditions.keep), ("drop", conditions.drop)]
        return [*ends, *weights, *groups, *(flag for flag in flags if flag[1] is not None)]

    @property
    def plain_ends(self) -> tuple[Any, ...]:
        """Source and target if each is one column without a group, else no names."""
        return () if self.joint_ids else self.names[:2]

    @property
    def has_joint_weight(self) -> bool:
        return self.keys is not None and isinstance(self.keys[2], list)

    @property
    def joint_ids(self) -> bool:
        """Whether an id has several columns, or a group."""
        return bool(self.conditions.by) or len(self.end_parts) > 1 or self.end_parts[0] != self.names[:2]

    @property
    def keyed(self) -> bool:
        """Whether batches have keys in place of weights (:func:`dfmst._edges.composite.check_composite`)."""
        return self.conditions.keep is not None or self.has_joint_weight

    @property
    def heavy_first(self) -> bool:
        """Whether heavier values of a batch's weights come first; keys ascend."""
        return self.maximum and not self.keyed

    @property
    def joint(self) -> bool:
        return bool(self.conditions) or self.keys is not None


def names_missing_columns(function: Function) -> Function:
    """Decorate a function of an engine, a view and columns, so that its error names all columns that are missing."""

    @wraps(function)
    def call(engine: Engine, view: View, columns: EdgeColumns, *more: object, **options: object) -> Any:
        try:
            return function(engine, view, columns, *more, **options)
        except ColumnNotFoundError as error:
            kinds = {name: view.kind(name) for name in view.names}
            raise (missing_columns(columns.arguments, view.names, kinds=kinds) or error) from None

    return cast("Function", call)


@names_missing_columns
def read_table(
    engine: Engine,
    view: View,
    columns: EdgeColumns,
    *,
    in_order: bool = False,
    defer_checks: bool = False,
    any_length: bool = False,
) -> Input:
    """Read a frame's columns into an edge table in the engine's memory, whose rows have positions of 32 bits.

    With `any_length` the rows may be more, and the table stays on the host if a GPU lacks memory for it.
    """
    if not any_length or columns.conditions:
        check_capacity(len(view))
    if view.on_device and engine.on_host:
        hint = "leave engine='auto', or copy the frame yourself: edges.to_pandas() or edges.to_arrow()"
        raise UnsupportedFrameError("the frame is on a GPU, and engine='cpu' works on the host", hint)
    reader, conditions = view.engine(engine), columns.conditions
    defer = defer_checks and reader.on_host and engine.on_host and not conditions
    names, invalid = columns.names, columns.invalid
    ids, weights = _read_columns(reader, view.readers, view.column, len(view), names, invalid)
    without = partial(_without, reader, names, invalid)
    input = make_table(reader, ids, weights, columns.maximum, without, defer_checks=defer, in_order=in_order)
    if conditions:
        input = apply_conditions(reader, view, conditions, input)
    if reader.on_host == engine.on_host:
        return input
    try:
        with engine.guard():
            return replace(input, table=move_table(engine, input.table), moved_by=engine)
    except CapacityError:
        if not any_length:
            raise
        return input


def edge_columns(source: Any, target: Any, weight: Any, *options: Any) -> EdgeColumns:
    """Name the columns of a call; the name of a key of several columns is its text, ``"['country', 'city']"``."""
    keys = source, target, weight = one_name(source), one_name(target), one_name(weight)
    if not (isinstance(source, list) or isinstance(target, list) or isinstance(weight, list)):
        return EdgeColumns(source, target, weight, *options)
    lists = isinstance(source, list), isinstance(target, list)
    if any(lists) and not (all(lists) and len(source) == len(target) > 0):
        message = f"source is {source!r} and target is {target!r}: they must name equally many columns"
        raise InvalidEdgesError(message, "name the columns of both ends in the same order")
    if isinstance(weight, list) and not weight:
        raise InvalidEdgesError("weight is an empty list", "name a column, or pass weight=None")
    source, target, weight = (str(key) if isinstance(key, list) else key for key in keys)
    return replace(EdgeColumns(source, target, weight, *options), keys=keys)


def on_gpu(columns: EdgeColumns) -> UnsupportedFrameError:
    """Return the error for conditions, or keys of several columns, of batches on a GPU."""
    needs = "a key of several columns needs" if columns.keys else f"{' and '.join(columns.conditions.words)} needs"
    return UnsupportedFrameError(f"{needs} a frame on the host, and this frame is on a GPU", "pass edges.to_arrow()")


def check_ends(source: object, target: object) -> None:
    if source == target:
        raise InvalidEdgesError(f"source and target both name the column {source!r}", "name the columns of both ends")


def check_columns(
    reader: Engine, read: Readers, column: ColumnOf, rows: int, names: EdgeNames, invalid: Invalid = "raise"
) -> CheckedColumns:
    """Read a batch, and leave out the rows that lack an id or a weight, or raise."""
    ids, weights = _read_columns(reader, read, column, rows, names, invalid)
    missing = find_missing(reader, ids, weights)
    return _without(reader, names, invalid, ids, weights, missing) if missing else CheckedColumns(ids, weights, None)


def _read_columns(
    reader: Engine, read: Readers, column: ColumnOf, rows: int, names: EdgeNames, invalid: Invalid
) -> tuple[IdColumns, WeightColumn]:
    check_ends(*names[:2])
    source, target, weight = names
    columns = [(name, column(name)) for name in (source, target)]
    if not rows:
        # An empty column may have any type, such as float64.
        columns = [(name, reader.xp.zeros(0, np.int64)) for name in (source, target)]
    ids = read.ids(*columns, invalid=invalid)
    named = None if weight is None else column(weight)
    return ids, constant_weights(rows, reader.xp) if named is None or not rows else read.weights(weight, named)


def _without(
    engine: Engine, names: EdgeNames, invalid: Invalid, ids: IdColumns, weights: WeightColumn, missing: Missing
) -> CheckedColumns:
    if invalid == "raise":
        end, mask = missing[0]
        raise invalid_rows(names, end, int(mask.sum()), int(mask.argmax()))
    kept = engine.xp.flatnonzero(~reduce(operator.or_, [mask for _, mask in missing]))
    return CheckedColumns(*take_rows(engine, ids, weights, kept), kept)


def take_rows(engine: Engine, ids: IdColumns, weights: WeightColumn, rows: Array) -> tuple[IdColumns, WeightColumn]:

    def take(column: Column) -> Any:
        if isinstance(column, engine.xp.ndarray):
            return column[rows]
        return column.take(pa.array(rows) if isinstance(column, pa.Array) else rows)

    return IdColumns(take(ids.source), take(ids.target), None, None), WeightColumn(take(weights.values), None)


def invalid_rows(names: EdgeNames, end: int, count: int, first: int) -> InvalidEdgesError:
    """Return the error for `count` nulls or NaNs in the source (`end` is 0), the target (1) or the weight (2)."""
    plural, verb = ("", "is") if count == 1 else ("s", "are")
    invalid = f"weight{plural} that {verb} NaN or null" if end == 2 else f"null id{plural}"
    place = "in row" if count == 1 else "the first in row"
    message = f"column {names[end]!r} has {count:,} {invalid}, {place} {first}"
    hint = "fill or remove those rows, or leave them out with invalid='drop'"
    return InvalidEdgesError(message, hint, row=first, option=("invalid='drop'", "--invalid drop"))
