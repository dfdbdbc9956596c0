"""Edges with free attributes (GML, GraphML, node-link JSON) as a table."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pyarrow as pa

from dfmst.formats.problems import problem

__all__ = ["EdgeRecords"]

ROWS_IN_A_BATCH = 1 << 18
# Names under which such files keep what we call the weight, the likeliest first.
WEIGHT_NAMES = ("weight", "value", "dist", "distance", "length", "len", "cost")


@dataclass(slots=True)
class EdgeRecords:
    """Collects edges one by one.

    Parameters
    ----------
    path
        The file, for messages.
    """

    path: Path
    sources: list[Any] = field(default_factory=list)
    targets: list[Any] = field(default_factory=list)
    attributes: dict[str, list[Any]] = field(default_factory=dict)

    def add(self, source: Any, target: Any, attributes: dict[str, Any]) -> None:
        """Append one edge; an attribute that an edge lacks becomes null."""
        rows = len(self.sources)
        self.sources.append(source)
        self.targets.append(target)
        for name in attributes:
            if name not in self.attributes:
                self.attributes[name] = [None] * rows
        for name, values in self.attributes.items():
            values.append(attributes.get(name))

    def reader(self) -> pa.RecordBatchReader:
        """Return the edges as ``source``, ``target``, ``weight`` where there is one, and the other attributes."""
        ids = self._ids(self.sources + self.targets)
        columns = {"source": ids[: len(self.sources)], "target": ids[len(self.sources) :]}
        attributes = dict(self.attributes)
        weight = next((name for name in WEIGHT_NAMES if self._is_numeric(name)), None)
        if weight is not None:
            columns["weight"] = self._column("weight", attributes.pop(weight))
        for name, values in attributes.items():
            free = name if name not in columns else f"{name}_attribute"
            columns[free] = self._column(free, values)
        return pa.table(columns).to_reader(max_chunksize=ROWS_IN_A_BATCH)

    def _is_numeric(self, name: str) -> bool:
        values = [value for value in self.attributes.get(name, []) if value is not None]
        return bool(values) and all(type(value) in (int, float) for value in values)

    def _ids(self, ids: list[Any]) -> pa.Array:
        kinds = {type(identifier) for identifier in ids}
        if len(kinds) > 1 or not kinds <= {int, str}:
            names = ", ".join(sorted(kind.__name__ for kind in kinds))
            raise problem(
                self.path,
                f"vertex ids must be all whole numbers or all texts; here they are {names}",
                hint="write all ids as texts",
            )
        return self._array("vertex ids", ids, pa.string() if kinds == {str} else pa.int64())

    def _column(self, name: str, values: list[Any]) -> pa.Array:
        kinds = {type(value) for value in values if value is not None}
        if kinds <= {int}:
            return self._array(name, values, pa.int64())
        if kinds <= {int, float}:
            return self._array(name, values, pa.float64())
        if kinds == {bool}:
            return pa.array(values, pa.bool_())
        texts = [value if value is None or isinstance(value, str) else json.dumps(value) for value in values]
        return pa.array(texts, pa.string())

    def _array(self, name: str, values: list[Any], kind: pa.DataType) -> pa.Array:
        try:
            return pa.array(values, kind)
        except (OverflowError, pa.ArrowInvalid) as error:
            raise problem(
                self.path, f"{name} hold a number beyond 64 bits", hint="write the ids as texts, the weights as floats"
            ) from error
