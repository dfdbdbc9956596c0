"""The result of a stream, which is read or written whole at the end."""

from __future__ import annotations

import os
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager, nullcontext, suppress
from pathlib import Path
from typing import Any, ClassVar, Unpack

import pyarrow as pa

from dfmst._common.deferred import cached_property
from dfmst._common.directories import SpillDirectory
from dfmst._common.types import Frame
from dfmst._drive.stream.parquet import find_files
from dfmst._drive.stream.sources import input_names
from dfmst._edges.frames import open_frame
from dfmst._fold.checkpoint import Checkpoint
from dfmst._trees.result import File
from dfmst.formats import check_file
from dfmst.formats.stores import Access, Located, located
from dfmst.formats.write import check_format, write_table


class Delivered(ABC):
    """A result whose rows are made when they are read or written. The checkpoint of its run is then removed."""

    inputs: Sequence[Path] = ()  # files that are not written over
    checkpoint: Checkpoint | None = None
    spill: SpillDirectory | None = None
    ascending: ClassVar[str | None] = None  # column of which Parquet stores the differences

    @abstractmethod
    def _rows(self) -> Any:
        """Make the rows: a reader of batches, or a frame."""

    def _frame(self) -> Any:
        rows = self._rows()
        return rows.read_all() if isinstance(rows, pa.RecordBatchReader) else rows

    @cached_property
    def frame(self) -> Any:
        """The rows: a table of Arrow for files, otherwise a frame of the edges' kind."""
        return self.take()

    def take(self) -> Any:
        """Make the rows as :attr:`frame` has them."""
        with self.finished():
            return self._frame()

    def write(self, path: File, format: str | None = None, **options: Unpack[Located]) -> None:
        """Write the rows to a file, in pieces, and remove the checkpoint.

        Parameters
        ----------
        path, format, storage_options, filesystem
            As for :func:`dfmst.formats.write_edges`: a file, or a binary stream. An error leaves no file.
        """
        with self.finished():
            self.write_rows(self._rows(), located(path, **options), format)

    def write_rows(self, rows: object, path: File, format: str | None) -> None:
        """Write rows to a file that appears when it is complete."""
        if isinstance(path, (str, os.PathLike)):
            check_file(path, self.inputs)
        if not isinstance(rows, pa.RecordBatchReader):
            with suppress(pa.ArrowException):  # the writer names a frame that Arrow cannot hold
                rows = open_frame(rows).to_arrow()
        write_table(rows, path, format, self.ascending)

    @contextmanager
    def finished(self) -> Iterator[None]:
        """Context manager: hold the checkpoint's directory, and remove the checkpoint at the end."""
        with self.checkpoint.hold.busy() if self.checkpoint else nullcontext():
            yield
            self.discard_checkpoint()

    def discard_checkpoint(self) -> None:
        """Remove the checkpoint."""
        if self.checkpoint:
            self.checkpoint.clear()

    def close(self) -> None:
        """Remove files in ``spill_dir``, and let other runs use the directory of the checkpoint."""
        if self.checkpoint:
            self.checkpoint.hold.release()
        if self.spill is not None:
            self.spill.remove()


def deliver(
    find: Callable[[], Delivered], edges: Frame, output: str | os.PathLike[str] | None, options: Mapping[str, Any]
) -> Any:
    """Find a result of `edges`, and return its frame, or write it and return the path; `options` open addresses."""
    if output is not None:  # before rows are read
        access = Access(options.get("storage_options"), options.get("filesystem"))
        output = access.path(output)
        check_format(output)
        names = input_names(edges, access)
        check_file(output, [*find_files(names), *names])
    with closing(find()) as found:
        if output is None:
            return found.take()
        found.write(output)
        return output
