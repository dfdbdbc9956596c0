"""Types of arguments and results, for annotations."""

from __future__ import annotations

from dfmst._common.types import Array, Frame, Invalid, Options, SparseMatrix, SupportsDLPack

__all__ = ["Array", "Frame", "Invalid", "Options", "SparseMatrix", "SupportsDLPack"]
