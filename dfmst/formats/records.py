"""Edges with free attributes (GML, GraphML, node-link JSON) as a table."""

from __future__ import annotations

import json
import sys
from collections.abc import Container, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple

import pyarrow as pa

from dfmst.formats.problems import problem
from dfmst.formats.text.layout import WHOLE_TYPES

MOST_CELLS = 1 << 24  # of a table that is mostly empty
FULL_ENOUGH = 256  # cells for each value in the file
MAX_FLOAT = int(sys.float_info.max)
# Names under which such files keep what we call the weight, the likeliest first.
WEIGHT_NAMES = ("weight", "value", "dist", "distance", "length", "len", "cost")


class EdgeRecord(NamedTuple):
    """An edge: its two ends and its attributes by name."""

    source: Any
    target: Any
    attributes: dict[str, Any]


def records_table(
    path: Path, records: Sequence[EdgeRecord], nodes: Container[Any], defaults: Mapping[str, Any]
) -> pa.Table:
    """Return edges as ``source``, ``target``, ``weight`` where there is one, and the other attributes."""
    for row, record in enumerate(records):
        for end in record[:2]:
            if end is None or end not in nodes:
                what = "has no source or no target" if end is None else f"leads to {repr(end)[:60]}, which is no node"
                raise problem(path, f"edge {row} (from 0) {what}", hint="every end of an edge is the id of a node")
    ids = _ids(path, [record.source for record in records] + [record.target for record in records])
    columns = {"source": ids[: len(records)], "target": ids[len(records) :]}
    names = dict.fromkeys([*defaults, *(name for record in records for name in record.attributes)])
    stored = sum(len(record) + len(record.attributes) for record in records)
    if len(names) * len(records) > max(MOST_CELLS, FULL_ENOUGH * stored):
        message = f"{len(names):,} attributes of {len(records):,} edges, of which nearly all are missing"
        raise problem(path, message, hint="write what differs from edge to edge into one attribute, as text")
    attributes = {name: [record.attributes.get(name, defaults.get(name)) for record in records] for name in names}
    weight = next((name for name in WEIGHT_NAMES if _is_numeric(attributes.get(name, []))), None)
    if weight is not None:
        columns["weight"] = _column(path, "weight", attributes.pop(weight))
    for name, values in attributes.items():
        free = name if name not in columns else f"{name}_attribute"
        columns[free] = _column(path, free, values)
    return pa.table(columns)


def _is_numeric(values: list[Any]) -> bool:
    kinds = {type(value) for value in values if value is not None}
    return bool(kinds) and kinds <= {int, float}


def _ids(path: Path, ids: list[Any]) -> pa.Array:
    kinds = {type(identifier) for identifier in ids}
    if len(kinds) > 1 or not kinds <= {int, str}:
        names = ", ".join(sorted(kind.__name__ for kind in kinds))
        message = f"vertex ids must be all whole numbers or all texts; here they are {names}"
        raise problem(path, message, hint="write all ids as texts")
    return pa.array(ids, pa.string()) if kinds == {str} else _whole(path, "vertex ids hold", ids)


def _column(path: Path, name: str, values: list[Any]) -> pa.Array:
    kinds = {type(value) for value in values if value is not None}
    if kinds <= {int}:
        return _whole(path, f"{name!r} holds", values)
    if kinds <= {int, float}:
        return _floats(path, name, values)
    if kinds == {bool}:
        return pa.array(values, pa.bool_())
    texts = [value if value is None or isinstance(value, str) else json.dumps(value) for value in values]
    return pa.array(texts, pa.string())


def _whole(path: Path, what: str, values: list[Any]) -> pa.Array:
    for kind in WHOLE_TYPES:
        with suppress(OverflowError, pa.ArrowInvalid):
            return pa.array(values, kind)
    hint = "write the ids as texts, the weights as floats"
    raise problem(path, f"{what} a whole number beyond 38 digits", hint=hint)


def _floats(path: Path, name: str, values: list[Any]) -> pa.Array:
    for value in values:
        if isinstance(value, int) and abs(value) > 2**53 and (abs(value) > MAX_FLOAT or int(float(value)) != value):
            message = f"{name!r} holds {str(value)[:40]} beside fractions, and a 64-bit float would round it"
            raise problem(path, message, hint="write the fractions as whole numbers, in a smaller unit")
    return pa.array([None if value is None else float(value) for value in values], pa.float64())
