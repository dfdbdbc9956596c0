"""Files as PyArrow opens them."""

from __future__ import annotations

import os

import pyarrow as pa


def open_native(path: str | os.PathLike[str], mode: str = "rb") -> pa.NativeFile:
    """Open a file for PyArrow, which takes names as text only where they are UTF-8."""
    return pa.OSFile(os.fsencode(path), mode)
