"""Groups, and rows that must or must not be in a forest: conditions that turn into another edge table.

The forest of each group is the forest of vertices that are pairs of a group and an id. A row that must be in the forest
makes one vertex of its two ends, and a row that must not becomes a self-loop, so that algorithms need no conditions.
"""

from __future__ import annotations

import math
import sys
from dataclasses import dataclass, replace
from functools import reduce
from typing import Any

import numpy as np
import pyarrow as pa

from dfmst._common.arguments import is_several, plural
from dfmst._common.deferred import nw, pc
from dfmst._common.types import VERTEX_LIMIT, Array, Column, ColumnName
from dfmst._edges.arrow_values import arrow_column, listed_values, no_groups, numbers_of_arrow, plain_ids
from dfmst._edges.device_frame import device_flags
from dfmst._edges.edge_table import ColumnOf, EdgeTable, Input
from dfmst._edges.unify import common_id_type, wide_integers
from dfmst._edges.vertices import Vertices, factorize
from dfmst._edges.view import View
from dfmst._engines import Engine
from dfmst._engines.primitives.contract import flatten
from dfmst.errors import InvalidEdgesError


@dataclass(frozen=True, slots=True, eq=False)
class Flags:
    """A column of booleans that a call has in place of the name of one."""

    argument: str
    values: Any

    def __repr__(self) -> str:
        return f"{self.argument}="

    def column(self, view: View) -> Any:
        """Return the column, of the rows of a view."""
        values = self.values
        labels: Any = getattr(view.native, "index", None)
        index = getattr(values, "index", None)
        labelled = hasattr(labels, "equals") and hasattr(index, "equals")
        if labelled and not view.on_device and not labels.equals(index):
            message = f"{self.argument}= has other labels of rows than the table"
            raise InvalidEdgesError(message, f"pass a column of the table, or an array: {self.argument}.to_numpy()")
        series = nw.from_native(values, series_only=True, pass_through=True)
        if isinstance(series, nw.Series):
            values = series.to_arrow()
        elif not isinstance(values, (pa.Array, pa.ChunkedArray)):
            values = listed_values(self.argument, values)
        if getattr(values, "ndim", 1) != 1 or len(values) != len(view):
            entries, rows = plural(len(values), "entry", "entries"), plural(len(view), "row")
            message = f"{self.argument}= has {entries}, and the table has {rows}"
            raise InvalidEdgesError(message, "pass one entry a row, or the name of a column")
        return values


@dataclass(frozen=True, slots=True)
class Conditions:
    """Names of the columns of conditions that a forest must meet in addition to its weights."""

    by: tuple[Any, ...] = ()  # of the groups of rows, each of which has its own forest
    keep: Any = None  # of booleans: rows that must be in the forest
    drop: Any = None  # of booleans: rows that must not be in the forest

    def __bool__(self) -> bool:
        return bool(self.by) or self.keep is not None or self.drop is not None

    @classmethod
    def of(cls, by: Any, keep: ColumnName | None, drop: ColumnName | None) -> Conditions:
        """Make conditions of a call's arguments; `by` is a name or a list of names."""
        names = () if by is None else tuple(by) if isinstance(by, list) else (by,)
        flags = {"keep": keep, "drop": drop}
        for argument, given in flags.items():
            if is_several(given) and not isinstance(given, tuple):  # which may name a column of pandas
                flags[argument] = Flags(argument, given)
        return cls(names, **flags)

    @property
    def columns(self) -> tuple[Any, ...]:
        return (*self.by, *(name for name in (self.keep, self.drop) if name is not None and type(name) is not Flags))

    @property
    def words(self) -> list[str]:
        by = self.by[0] if len(self.by) == 1 else list(self.by)
        named = {"by": by if self.by else None, "keep": self.keep, "drop": self.drop}
        return [
            str(value) if type(value) is Flags else f"{name}={value!r}"
            for name, value in named.items()
            if value is not None
        ]


NO_CONDITIONS = Conditions()


def apply_conditions(engine: Engine, view: View, conditions: Conditions, input: Input) -> Input:
    """Return the table whose forest meets the conditions, and the rows that it has by condition."""
    xp = engine.xp
    if conditions.by:
        (group,) = group_codes(conditions.by, (view, input.kept))
        table = input.table
        vertices = pair_vertices(engine, group, table.source, table.target, table.vertices)
        table = replace(table, source=vertices.source, target=vertices.target, vertices=vertices.total)
        input = replace(input, table=table, vertices=vertices)
    if conditions.keep is None and conditions.drop is None:
        return input
    table, none = input.table, xp.zeros(0, bool)
    keep, drop = condition_masks(conditions, column_or_flags(view), input.kept)
    keep, drop = (mask if mask is None else xp.asarray(mask) for mask in (keep, drop))
    source, target = table.source, table.target if drop is None else xp.where(drop, table.source, table.target)
    forced = xp.flatnonzero(none if keep is None else keep)
    if len(forced):
        label = _united(engine, input, forced, conditions.keep)
        source, target = label[source], label[target]
    table = replace(table, source=source, target=target)
    return replace(input, table=table, forced=forced, barred=xp.flatnonzero(none if drop is None else drop))


def column_or_flags(view: View) -> ColumnOf:
    """Return a function that returns columns of a view by their names, and those that a call has itself."""
    return lambda name: name.column(view) if isinstance(name, Flags) else view.column(name)


def condition_masks(conditions: Conditions, column: ColumnOf, kept: Array | None) -> tuple[Array | None, Array | None]:
    """Return which of the kept rows (``None``: all) must and must not be in the forest; ``None`` without condition."""
    keep, drop = (None if name is None else _mask(name, column(name)) for name in (conditions.keep, conditions.drop))
    keep, drop = (mask if mask is None or kept is None else mask[kept] for mask in (keep, drop))
    if keep is None or drop is None:
        return keep, drop
    (both,) = (keep & drop).nonzero()
    if len(both):
        message = f"{len(both):,} rows are to be kept by column {conditions.keep!r} and dropped by {conditions.drop!r}"
        row = int(both[0] if kept is None else kept[both[0]])
        raise InvalidEdgesError(f"{message}, the first is row {row}", "unset one of the two", row=row)
    return keep, drop


def _mask(name: Any, values: Column) -> Array:
    if isinstance(values, (np.ndarray, pa.Array, pa.ChunkedArray)):
        column = plain_ids(arrow_column(name, values))
        column = _booleans(name, column) if len(column) else column
        mask: Array = np.asarray(column.fill_null(False)).astype(bool)
        nulls: Array | None = np.asarray(column.is_null())
    else:
        mask, nulls = _device_mask(name, values)
    if nulls is not None and nulls.any():
        row = int(nulls.argmax())
        message = f"column {name!r} has {int(nulls.sum()):,} nulls, the first in row {row}"
        raise InvalidEdgesError(message, "fill them with True or False", row=row)
    return mask


_MOST_WORDS = 64  # ways to write true and false


def _device_mask(name: ColumnName, column: Column) -> tuple[Array, Array | None]:
    """Entries of a column on a GPU, and which of them are null; of texts, the different ones are read on the host."""
    entries, codes, nulls = device_flags(column)
    if codes is None:
        if bool(((entries != 0) & (entries != 1)).any()):
            raise _no_flags(name, column.dtype)
        return entries.astype(bool), nulls
    if len(entries) > _MOST_WORDS or entries.dtype.kind == "f":  # floats that are all NaN have no entries
        raise _no_flags(name, column.dtype)
    words = np.append(np.asarray(_booleans(name, plain_ids(entries.to_arrow())), bool) if len(entries) else [], False)
    flags: Array = sys.modules["cupy"].asarray(words.astype(bool))[codes]
    return flags, nulls


def _booleans(name: ColumnName, column: Column) -> Any:
    """A column as booleans: of integers 0 and 1, of text true and false, as CSV files have them."""
    kind = column.type
    if pa.types.is_boolean(kind):
        return column
    flags = pa.types.is_integer(kind) and pc.all(pc.is_in(column, pa.array([0, 1, None], kind))).as_py()
    if flags or pa.types.is_string(kind) or pa.types.is_large_string(kind):
        try:
            return column.cast(pa.bool_())
        except pa.ArrowInvalid:  # other words
            pass
    raise _no_flags(name, kind)


def _no_flags(name: ColumnName, kind: object) -> InvalidEdgesError:
    message = f"column {name!r} holds {kind} values; keep and drop take booleans"
    return InvalidEdgesError(message, "make it boolean: true or false, or 1 or 0")


def _united(engine: Engine, input: Input, forced: Array, name: ColumnName) -> Array:
    """Label of each vertex after the rows to keep have united their ends."""
    table, xp = input.table, engine.xp
    rows = table.take(forced)
    label: Array = xp.arange(table.vertices, dtype=np.uint32)
    engine.launch("unite", len(rows), rows.source, rows.target, None, label)
    flatten(engine, label)
    united = len(label) - int((label == xp.arange(len(label), dtype=np.uint32)).sum())
    if united == len(forced):
        return label
    closing = forced[engine.from_host(np.array(_closing_rows(rows)))]
    raise cycles_of_kept(name, (closing if input.kept is None else input.kept[closing]).tolist())


def _closing_rows(rows: EdgeTable) -> list[int]:
    """Places of the rows that close a cycle with those before them."""
    parent: dict[int, int] = {}

    def root(vertex: int) -> int:
        while vertex in parent:
            vertex = parent[vertex]
        return vertex

    closing = []
    for at, (source, target) in enumerate(zip(rows.source.tolist(), rows.target.tolist(), strict=True)):
        one, other = root(source), root(target)
        if one == other:
            closing.append(at)
        else:
            parent[one] = other
    return closing


def cycles_of_kept(name: ColumnName, closing: list[int]) -> InvalidEdgesError:
    shown = ", ".join(map(str, closing[:5])) + (" ..." if len(closing) > 5 else "")
    message = f"the rows to keep (column {name!r}) form cycles: {len(closing):,} of them close one, in row {shown}"
    return InvalidEdgesError(message, "unset at least one row of each cycle", row=closing[0])


_FEW = 4096  # pairs below this bound are vertices as they are


def group_codes(names: tuple[ColumnName, ...], *frames: tuple[View, Array | None]) -> list[Array]:
    """Number the groups of the frames' rows, alike in all frames, ``uint64``; a null is an entry like any other."""
    first = frames[0][0]
    xp = first.xp
    lengths = [len(view) if rows is None else len(rows) for view, rows in frames]
    group = xp.zeros(sum(lengths), np.uint64)
    for name in names:
        entry = first.codes(*((view, name, rows) for view, rows in frames)).astype(np.uint64)
        group = group * np.uint64(int(entry.max()) + 1 if len(entry) else 1) + entry
        group = xp.unique(group, return_inverse=True)[1].astype(np.uint64)
    ends = np.cumsum(lengths).tolist()
    return [group[end - length : end] for end, length in zip(ends, lengths, strict=True)]


def group_entries(name: ColumnName, values: Column) -> pa.Array:
    """A column whose equal values have equal bits; dictionaries stay encoded, since decoded texts may pass 2 GiB."""
    column = arrow_column(name, values)
    if not pa.types.is_dictionary(column.type):
        return _plain_values(column)
    return pa.DictionaryArray.from_arrays(column.indices, _plain_values(column.dictionary))


def _plain_values(column: pa.Array) -> pa.Array:
    """Values without an encoding, with one zero and one NaN."""
    column = plain_ids(column)
    if isinstance(column, pa.ExtensionArray):
        column = column.storage
    if pa.types.is_floating(column.type):
        column = pc.add(column.cast(pa.float64()), 0.0)
        column = pc.if_else(pc.is_nan(column), math.nan, column)
    return column


def value_codes(name: ColumnName, columns: list[pa.Array]) -> Array:
    """Number the values of all columns; of a dictionary, its entries."""
    values = [column.dictionary if pa.types.is_dictionary(column.type) else column for column in columns]
    kinds = [column.type for column in values]
    try:
        common = reduce(common_id_type, kinds)
        if common == pa.uint64() and any(map(pa.types.is_signed_integer, kinds)):
            common = wide_integers()
        entries = [column.cast(common) for column in values]
        joint = pa.concat_arrays([*entries, pa.nulls(1, common)])
        codes: Array = numbers_of_arrow(pc.dictionary_encode(joint, null_encoding="encode").indices)
    except (pa.ArrowException, AttributeError, TypeError) as error:
        listed = " and ".join(sorted({str(kind) for kind in kinds}))
        raise no_groups(name, listed) from error
    *parts, null = np.split(codes, np.cumsum([len(column) for column in values]))
    return np.concatenate([_row_codes(column, part, null) for column, part in zip(columns, parts, strict=True)])


def _row_codes(column: pa.Array, codes: Array, null: Array) -> Array:
    if not pa.types.is_dictionary(column.type):
        return codes
    places = numbers_of_arrow(column.indices.cast(pa.int64()).fill_null(len(codes)))
    row_codes: Array = np.concatenate([codes, null])[places]
    return row_codes


def group_order(entries: list[pa.Array], row: Array) -> Array:
    """Return the places of groups in ascending order, from the entries that name each group and a row of it."""
    values = [column.dictionary_decode() if pa.types.is_dictionary(column.type) else column for column in entries]
    try:
        keys = [(str(at), "ascending") for at in range(len(values))]
        order = pc.sort_indices(pa.table(values, list(map(str, range(len(values))))), sort_keys=keys)
    except pa.ArrowException:  # values without an order: groups as they first occur
        return np.argsort(row)
    return numbers_of_arrow(order)


def pair_vertices(
    engine: Engine, group: Array, source: Array, target: Array, total: int, *, in_order: bool = False
) -> Vertices:
    """Number pairs of a group and a vertex below `total`; `in_order`: by group, then by vertex."""
    first, second = (group * np.uint64(total) + column for column in (source, target))
    pairs = total * (int(group.max()) + 1 if len(group) else 0)
    if pairs <= min(max(2 * len(group), _FEW), VERTEX_LIMIT):
        return Vertices(first, second, pairs, None)
    return factorize(engine, first, second, in_order=in_order)
