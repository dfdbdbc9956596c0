"""CuPy's sparse matrices, as far as they are read: entries with 32-bit places, in the "device's" memory."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np

from tests.support.gpu.standin import cupy


class coo_matrix:
    """Rows, columns and values of the entries."""

    def __init__(self, arg1: tuple[Any, tuple[Any, Any]], shape: tuple[int, int]) -> None:
        self.data, (row, col) = arg1
        if self.data.dtype.kind not in "fb":
            raise ValueError("Only bool, float32, float64, complex64 and complex128 are supported")
        self.row, self.col, self.shape = row.astype(np.int32), col.astype(np.int32), shape

    def tocoo(self) -> coo_matrix:
        return self


class csr_matrix:
    """Values and columns of the entries row by row, and where each row begins."""

    def __init__(self, arg1: tuple[Any, Any, Any], shape: tuple[int, int]) -> None:
        self.data, self.indices, self.indptr = arg1
        self.shape = shape

    def tocoo(self) -> coo_matrix:
        rows = np.repeat(np.arange(self.shape[0]), np.diff(self.indptr.get()))
        return coo_matrix((self.data, (cupy.asarray(rows), self.indices)), self.shape)


scipy = SimpleNamespace(sparse=SimpleNamespace(coo_matrix=coo_matrix, csr_matrix=csr_matrix))
