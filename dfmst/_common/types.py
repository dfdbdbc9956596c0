"""Types shared by every layer."""

from __future__ import annotations

from typing import Any, Literal, Protocol, TypeAlias, TypedDict, Unpack

import numpy as np
from numpy.typing import NDArray

__all__ = ["Array", "Frame", "Invalid", "Options", "SparseMatrix", "SupportsDLPack", "Unpack"]

#: A column in the engine's memory: of NumPy on the CPU engine, of CuPy on the CUDA engine.
Array: TypeAlias = NDArray[Any]

#: Any dataframe that dfmst reads: pandas, polars, pyarrow, cuDF, or an object that exports Arrow data.
Frame: TypeAlias = Any

#: Treatment of rows whose ids are null or whose weights are null or NaN.
Invalid: TypeAlias = Literal["raise", "drop"]

#: Largest number of rows: positions are 32-bit words, and the last one means "none".
ROW_LIMIT: int = int(np.iinfo(np.uint32).max) - 1

#: Largest number of vertices of a table in memory, which are numbered by 32-bit words, too.
VERTEX_LIMIT: int = ROW_LIMIT


class SupportsDLPack(Protocol):
    """An array that any library can read, on the host or on a GPU."""

    def __dlpack__(self, **options: Any) -> Any:
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


class Options(TypedDict, total=False):
    """How a forest is found; see :func:`dfmst.minimum_spanning_forest`."""

    by: Any
    keep: Any
    drop: Any
    algorithm: Any
    engine: str
    invalid: Invalid
    threads: int | None
