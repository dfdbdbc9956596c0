"""Entries that a sparse matrix of SciPy or CuPy stores."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from dfmst._common.types import Array
from dfmst.errors import InvalidEdgesError, UnsupportedFrameError


class Entries(NamedTuple):
    """Entries that a square sparse matrix stores, in the order of ``matrix.tocoo()``; arrays of NumPy or CuPy."""

    row: Array
    column: Array
    value: Array
    size: int
    on_device: bool


def is_sparse(matrix: Any) -> bool:
    """Whether it looks like a sparse matrix of SciPy or CuPy."""
    return hasattr(matrix, "tocoo") and hasattr(matrix, "shape")


def stored_entries(matrix: Any) -> Entries:
    """Return what a sparse matrix stores: zeros and repeated entries too."""
    if not is_sparse(matrix):
        message = f"matrix is a {type(matrix).__name__}, no sparse matrix of SciPy"
        raise UnsupportedFrameError(message, "for an array or a frame call dfmst.from_matrix")
    if len(matrix.shape) != 2 or matrix.shape[0] != matrix.shape[1]:
        message = f"the matrix has shape {matrix.shape}"
        raise InvalidEdgesError(message, "pass a square matrix: its rows and columns are the vertices")
    coo = matrix.tocoo()
    if coo.data.dtype.kind not in "biuf":
        message = f"the matrix holds {coo.data.dtype} values"
        raise InvalidEdgesError(message, "make them real numbers to order by, for example by abs(matrix)")
    on_device = hasattr(coo.data, "__cuda_array_interface__")
    return Entries(coo.row.astype(np.int64), coo.col.astype(np.int64), coo.data, matrix.shape[0], on_device)
