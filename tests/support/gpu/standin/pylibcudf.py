"""A pylibcudf over the stand-in for cuDF: columns as libcudf has them, to which NaN is a value."""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import IntEnum
from types import SimpleNamespace

import numpy as np

from tests.support.gpu.standin.cudf.columns import Column, PlainColumn

__all__ = ["DataType", "TypeId", "unary"]


class TypeId(IntEnum):
    """Numbers of libcudf's types."""

    INT32 = 3
    INT64 = 4


@dataclass
class DataType:
    """A type of libcudf."""

    type_id: TypeId


def _bit_cast(input: PlainColumn, data_type: DataType) -> PlainColumn:
    """Copy a column with the same bits and nulls."""
    kind = np.dtype(data_type.type_id.name.lower())
    column: Column = input.column
    if column.values.dtype.itemsize != kind.itemsize:
        raise TypeError("types of different sizes")
    return PlainColumn(replace(column, values=column.values.view(kind).copy(), dtype=kind, exposed=False))


unary = SimpleNamespace(bit_cast=_bit_cast)
