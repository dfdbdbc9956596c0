"""Parquet files as the source of a stream."""

from __future__ import annotations

import glob
import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from dfmst._common.types import Array
from dfmst._drive.stream.batches import Batch
from dfmst._drive.stream.locators import Locators
from dfmst._drive.stream.parquet_file import SourceFile
from dfmst.errors import missing_column
from dfmst.formats.files import existing_path, problem
from dfmst.formats.parquet import common_columns, parquet_files


def find_files(names: Sequence[str | os.PathLike[str]]) -> list[Path]:
    """List the Parquet files that names stand for: files, directories, patterns such as ``part-*.parquet``."""
    files: list[Path] = []
    for name in names:
        pattern = glob.has_magic(os.fspath(name)) and not os.path.exists(name)
        path = Path(name) if pattern else existing_path(name)
        if path.is_dir():
            files += parquet_files(path)
        elif not pattern:
            files.append(path)
        else:
            matches = sorted(Path(match) for match in glob.glob(str(name), recursive=True))
            if not matches:
                raise problem(path, "no file has such a name", hint="check the pattern, and the directory you are in")
            files += matches
    return files


class ParquetSource:
    """Files that are read as one table, in the order given."""

    def __init__(self, paths: Sequence[Path], folders: Sequence[Path] = ()) -> None:
        self.files: list[SourceFile] = []
        first = 0
        for path in paths:
            self.files.append(SourceFile.of_path(path, first))
            first += self.files[-1].rows
        sources = [(file.path, file.schema, file.rows) for file in self.files]
        self._columns, self._constants = common_columns(sources, folders)
        self._names = {path: {*schema.names, *self._constants[path]} for path, schema, rows in sources if rows}
        self.schema: pa.Schema = self._columns.schema

    @property
    def rows(self) -> int:
        """How many rows there are."""
        return sum(file.rows for file in self.files)

    @property
    def nbytes(self) -> int:
        """Bytes of the columns in memory, about: their types' widths, or what the files say of texts and the like."""
        widths = [_width(field.type) for field in self.schema]
        total = sum(width * self.rows for width in widths if width)
        if None in widths:
            total += sum(2 * file.nbytes for file in self.files)
        return int(total)

    @property
    def fingerprint(self) -> dict[str, Any]:
        """Path, size, time of change and footer of every file."""
        return {str(file.path.resolve()): [file.size, file.modified, file.footer] for file in self.files}

    def require(self, names: Sequence[Any]) -> None:
        """Raise where a column is missing."""
        for name in names:
            for path, known in self._names.items() or [(self.files[0].path, self.schema.names)]:
                if name not in known:
                    hint = "name your columns with source=, target= and weight="
                    raise missing_column(name, [each for each in self.schema.names if each in known], hint, path)

    def integers(self, names: Sequence[Any]) -> bool:
        """Whether columns hold integers."""
        return all(pa.types.is_integer(self.schema.field(name).type) for name in names)

    def vertices(self, names: tuple[Any, Any]) -> int | None:
        """Exclusive upper bound of two integer columns from the row groups' statistics."""
        if not self.integers(names):
            return None
        bound = 0
        for file in self.files:
            largest = file.largest_id(names)
            if largest is None:
                return None
            bound = max(bound, largest + 1)
        return bound

    def batches(self, names: Sequence[Any], rows: int, start: int = 0) -> Iterator[Batch]:
        """Yield the named columns from row `start` on, at most `rows` at a time."""
        for file in self.files:
            if start >= file.first + file.rows:
                continue
            begins = np.cumsum([0, *file.groups])
            group = max(0, int(np.searchsorted(begins, start - file.first, side="right")) - 1)
            row = int(begins[group])
            skipped = max(0, start - file.first - row)
            for read in file.batches(range(group, len(file.groups)), names, rows):
                batch = self._fit(file, read, names)
                kept = batch.slice(min(skipped, batch.num_rows))
                at = row + batch.num_rows - kept.num_rows
                skipped -= batch.num_rows - kept.num_rows
                row += batch.num_rows
                if kept.num_rows:
                    yield Batch(kept, file.first + at, str(file.path), at)

    def take(self, locators: Array | Locators, names: Sequence[Any], rows: int) -> Iterator[pa.RecordBatch]:
        """Yield the named columns of rows by their ascending numbers; only row groups that hold one are read."""
        locators = locators if isinstance(locators, Locators) else Locators(locators)
        for file in self.files:
            first = file.first
            for group, length in enumerate(file.groups):
                if locators.any_below(first + length):
                    taken = file.take(group, first, locators, names, rows)
                    yield from (self._fit(file, batch, names) for batch in taken)
                first += length

    def _fit(self, file: SourceFile, batch: pa.RecordBatch, names: Sequence[Any]) -> pa.RecordBatch:
        """A batch in the types of all files."""
        return self._columns.fit(batch, file.path, names, self._constants[file.path])


def _width(kind: pa.DataType) -> float | None:
    """Bytes of a value; ``None`` for texts and the like."""
    try:
        return float(kind.bit_width) / 8
    except ValueError:
        return None
