"""Rows of a cuDF frame as a table that travels, on the GPU where they lie."""

from __future__ import annotations

import numpy as np

from dfmst._common.types import Array
from dfmst._drive.cluster.device_tables import DeviceTable
from dfmst._drive.cluster.tables import kind_metadata, narrowed
from dfmst._drive.cluster.task_columns import TaskColumns
from dfmst._edges.device_frame import DeviceView, device_ids, device_weights
from dfmst._edges.edge_table import flip_bits
from dfmst._edges.encode import are_integers
from dfmst._edges.read import EdgeColumns
from dfmst._edges.weights import constant_weights
from dfmst._engines import Engine
from dfmst._engines.primitives.edges import gather_keys


def table_there(engine: Engine, view: DeviceView, columns: EdgeColumns, row: Array) -> DeviceTable | None:
    """Return all rows of a frame with their locators; ``None`` where the host reads them.

    It does where ids are no integers, or weights are neither numbers nor booleans.
    """
    source, target, weight = columns.names
    ids = device_ids((source, view.column(source)), (target, view.column(target)))
    if not are_integers(ids.source):
        return None
    values, kind = constant_weights(len(row), engine.xp).values, "none"
    if weight is not None:
        column = view.column(weight)
        if column.dtype.kind not in "iufb":
            return None
        values = device_weights(weight, column).values
        kind = str(np.dtype(values.dtype))
    key = gather_keys(engine, values, None, flip_bits(values.dtype, columns.maximum))
    arrays = (narrowed(ids.source), narrowed(ids.target), key, row)
    return DeviceTable(TaskColumns(engine, *arrays), kind_metadata(kind))
