"""Types shared by every layer."""

from __future__ import annotations

import os
from collections.abc import Hashable, Iterable, Sequence
from datetime import date, timedelta
from decimal import Decimal
from typing import Any, Literal, Protocol, TypeAlias, TypeVar

import numpy as np
from numpy.typing import NDArray

#: A column in the engine's memory: of NumPy on the CPU engine, of CuPy on the CUDA engine.
Array: TypeAlias = NDArray[Any]

#: Any dataframe that dfmst reads: pandas, polars, pyarrow, cuDF, or an object that exports Arrow data.
Frame: TypeAlias = Any

#: The caller's kind of frame, in functions that return one of the same kind.
FrameT = TypeVar("FrameT")

#: Name of a column; pandas allows any hashable object.
ColumnName: TypeAlias = Hashable

#: A column of a frame: of its library, of Arrow, NumPy or CuPy.
Column: TypeAlias = Any

#: The type of an array's values.
DType: TypeAlias = np.dtype[Any]

#: Names of columns: one, or a list of them.
Columns: TypeAlias = ColumnName | Sequence[ColumnName]

#: Names of the columns of both ends of an edge.
EndNames: TypeAlias = tuple[ColumnName, ColumnName]

#: Names of the columns of an edge: its ends and its weight (``None``: all weights are equal).
EdgeNames: TypeAlias = tuple[ColumnName, ColumnName, ColumnName]

#: An id of a vertex.
Vertex: TypeAlias = Hashable

#: Ids of vertices: a list, an array or a column.
Vertices: TypeAlias = Iterable[Vertex]

#: A value that compares with weights or times: a number, a date or a duration, of Python or NumPy.
Scalar: TypeAlias = float | Decimal | date | timedelta | np.generic

#: Name of a file or a directory.
PathName: TypeAlias = str | os.PathLike[str]

#: Treatment of rows whose ids are null or whose weights are null or NaN.
Invalid: TypeAlias = Literal["raise", "drop"]

#: Largest number of rows: positions are 32-bit words, and the last one means "none".
ROW_LIMIT: int = int(np.iinfo(np.uint32).max) - 1

#: Largest number of vertices of a table in memory, which are numbered by 32-bit words, too.
VERTEX_LIMIT: int = ROW_LIMIT


class SupportsDLPack(Protocol):
    """An array that any library can read, on the host or on a GPU."""

    def __dlpack__(self, **options: object) -> Any:
        """Return the capsule."""

    def __dlpack_device__(self) -> tuple[int, int]:
        """Return the kind of device, and its number."""


class SparseMatrix(Protocol):
    """A sparse matrix of SciPy or CuPy."""

    @property
    def shape(self) -> Any:
        """Rows and columns."""

    def tocoo(self) -> Any:
        """Return rows, columns and values of the entries."""
