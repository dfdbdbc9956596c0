"""Columns in files, which go with their objects, and travel between processes."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.ipc

from dfmst._common.types import Array
from dfmst.formats.directories import SpillDirectory, disk_errors, removed_with


class StoredArray:
    """A column in a file."""

    def __init__(self, directory: SpillDirectory, values: Array) -> None:
        self._directory, self._kind, self._length = directory, values.dtype, len(values)
        self._path = Path(f"{directory.new_name()}.column")
        with disk_errors(directory.path):
            np.ascontiguousarray(values).tofile(self._path)
        self.remove = removed_with(self, [self._path])

    def __len__(self) -> int:
        """Return the number of entries."""
        return self._length

    def __reduce__(self) -> tuple[Any, ...]:
        """Travel with the entries."""
        return StoredArray, (self._directory, self.load())

    def __sizeof__(self) -> int:
        """Return a number that grows with the entries."""
        return self._length * self._kind.itemsize // 16

    def append(self, values: Array) -> None:
        """Add entries of the same type."""
        with disk_errors(self._directory.path), self._path.open("ab") as file:
            file.write(np.ascontiguousarray(values).data.cast("B"))
        self._length += len(values)

    def sort(self) -> None:
        """Bring the entries in ascending order."""
        values = self.load()
        values.sort()
        with disk_errors(self._directory.path):
            values.tofile(self._path)

    def load(self) -> Array:
        """Read the column."""
        with disk_errors(self._directory.path):
            return np.fromfile(self._path, self._kind)


class StoredIds:
    """An Arrow column in a file.

    Attributes
    ----------
    type
        Of the values.
    """

    def __init__(self, directory: SpillDirectory, values: pa.Array) -> None:
        self._directory, self._size, self._length = directory, int(values.nbytes), len(values)
        self.type = values.type
        self._path = Path(f"{directory.new_name()}.arrow")
        table = pa.table({"ids": values})
        with disk_errors(directory.path), pa.ipc.new_file(str(self._path), table.schema) as writer:
            writer.write_table(table)
        self.remove = removed_with(self, [self._path])

    def __reduce__(self) -> tuple[Any, ...]:
        """Travel with the values."""
        return StoredIds, (self._directory, self.load())

    def __len__(self) -> int:
        """Return the number of values."""
        return self._length

    def __sizeof__(self) -> int:
        """Return a number that grows with the values."""
        return self._size // 16

    def load(self) -> pa.Array:
        """Read the column."""
        with disk_errors(self._directory.path), pa.OSFile(str(self._path), "rb") as file:
            column = pa.ipc.open_file(file).read_all().column("ids")
        return column.chunk(0) if column.num_chunks == 1 else column.combine_chunks()
