"""Types of arguments and results, for annotations."""

from __future__ import annotations

from dfmst._common.types import Array, Columns, Frame, Invalid, SparseMatrix, SupportsDLPack
from dfmst._trees.request import Options

__all__ = ["Array", "Columns", "Frame", "Invalid", "Options", "SparseMatrix", "SupportsDLPack"]
