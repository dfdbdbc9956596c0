"""Partitions that are files, or row groups of files: read by PyArrow, and the same ones for the whole run."""

from __future__ import annotations

import os
from collections.abc import Mapping

import pyarrow as pa
import pyarrow.parquet

from dfmst._edges.unify import CommonSchema
from dfmst.errors import ClusterError, FormatError
from dfmst.formats.files import open_native


def file_stamp(path: str | os.PathLike[str]) -> tuple[int, int]:
    """Return the size of a file and when it was written."""
    state = os.stat(path)
    return state.st_size, state.st_mtime_ns


class FileRows:
    """Row groups of a Parquet file, read by PyArrow."""

    # No dataclass: Dask looks for tasks in the fields of those.
    def __init__(
        self,
        path: str,
        columns: list[str] | None = None,
        groups: list[int] | None = None,
        stamp: tuple[int, int] | None = None,
        common: CommonSchema | None = None,
        constants: Mapping[str, object] | None = None,
    ) -> None:
        self.path = path
        self.common, self.constants = common, constants
        self.stamp = stamp
        self.columns = columns
        self.groups = groups

    @property
    def name(self) -> str:
        """The file's path."""
        return self.path if self.groups is None else f"{self.path}, row groups {self.groups}"

    def read(self) -> pa.Table:
        """Return the rows as an Arrow table."""
        try:
            table = self._read()
        finally:
            # A file that changes while it is read may also look damaged.
            self.check()
        if self.common is None:
            return table
        batches = [self.common.fit(each, self.path, self.columns, self.constants) for each in table.to_batches()]
        return pa.Table.from_batches(batches, self.common.columns(self.columns))

    def check(self) -> None:
        """Raise where the file is no longer what it was."""
        try:
            same = self.stamp is None or self.stamp == file_stamp(self.path)
        except OSError as error:
            raise self._unreadable(error) from error
        if not same:
            hint = "begin anew (with a new frame), and let nothing write to the files meanwhile"
            raise ClusterError(f"{self.path} has changed since the run began", hint)

    def _unreadable(self, error: OSError) -> ClusterError:
        return ClusterError(f"{self.path}: {error.strerror}", "every worker must see the files, under the same names")

    def _read(self) -> pa.Table:
        try:
            with open_native(self.path) as native, pyarrow.parquet.ParquetFile(native, pre_buffer=True) as file:
                options = {"columns": self.columns, "use_threads": False}
                return file.read(**options) if self.groups is None else file.read_row_groups(self.groups, **options)
        except OSError as error:
            if error.strerror:
                raise self._unreadable(error) from error
            raise self._damaged(error) from error
        except pa.ArrowException as error:
            raise self._damaged(error) from error

    def _damaged(self, error: Exception) -> FormatError:
        reason = str(error).partition("\n")[0]
        return FormatError(f"{self.path}: a damaged Parquet file ({reason})", "fetch or write the file again")
