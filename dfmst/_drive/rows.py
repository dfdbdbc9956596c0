"""The second pass of a stream: all columns of the forest's rows, from the row groups that hold some.

A result is read or written whole at the end.
"""

from __future__ import annotations

import os
import tempfile
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, closing, contextmanager, nullcontext, suppress
from dataclasses import replace
from itertools import chain
from pathlib import Path
from typing import Any, ClassVar, NamedTuple, Unpack

import numpy as np
import pyarrow as pa

from dfmst._common.deferred import cached_property
from dfmst._common.directories import SpillDirectory
from dfmst._common.machine import showing
from dfmst._common.types import Array, ColumnName, Frame, PathName
from dfmst._drive.certificates import Certifier, Piece, RefutedError, forest_total
from dfmst._drive.parts import Batch, Locators, TypeLedger, read_batch
from dfmst._drive.passes import FoldedForest, StreamJob, fold_source, opened_job
from dfmst._drive.sources import EdgeSource, ParquetSource, find_files, input_names, other_rows
from dfmst._edges.arrow_values import arrow_numbers, large_types
from dfmst._edges.frames import open_frame
from dfmst._edges.unify import cast_exactly
from dfmst._edges.view import View
from dfmst._edges.weights import Total
from dfmst._engines import host_engine
from dfmst._fold.checkpoint import Checkpoint
from dfmst._fold.rows import Run, read_pieces
from dfmst._trees.certificate import Certificate
from dfmst._trees.request import Request
from dfmst._trees.result import File, Forest, ForestRows, Progress
from dfmst._trees.update import stacked, updated_locators
from dfmst.algorithms.solve import name_of, resolve
from dfmst.errors import InvalidEdgesError
from dfmst.formats import check_file
from dfmst.formats.provenance import Provenance, read_provenance, with_provenance
from dfmst.formats.stores import Access, Located, located
from dfmst.formats.write import check_format, write_table


class Delivered(ABC):
    """A result whose rows are made when they are read or written. The checkpoint of its run is then removed."""

    inputs: Sequence[Path] = ()  # files that are not written over
    checkpoint: Checkpoint | None = None
    spill: SpillDirectory | None = None
    held: ExitStack | None = None  # files of this run, next to those in `spill`
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
        if self.held is not None:
            self.held.close()


def deliver(
    find: Callable[[], Delivered],
    edges: Frame,
    output: str | os.PathLike[str] | None,
    options: Mapping[str, Any],
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


_PIECE = 1 << 17  # rows of a forest that are read at a time


class Update(NamedTuple):
    """A forest in a file that is read before new rows; its record is read when it is used, as it may be long."""

    schema: pa.Schema
    rows: int

    @property
    def record(self) -> Provenance | None:
        return read_provenance(self.schema, self.rows)


def gather_rows(
    source: EdgeSource, forest: FoldedForest, job: StreamJob, certifier: Certifier | None, update: Update | None
) -> pa.RecordBatchReader:
    """Yield the forest's rows, with the record of how it was made; ids and plain weights come from the fold."""
    columns, earlier = job.columns, None if update is None else update.record
    assert source.schema is not None
    record = Provenance(columns.given, columns.maximum, forest.source_rows, None, tuple(columns.conditions.words))

    def locators() -> Iterator[Any]:
        for rows in read_pieces(forest.rows):
            yield rows.arrays[3] if earlier is None else updated_locators(earlier, old, rows.arrays[3])

    old, numbered = 0, True
    if earlier is not None and update is not None:
        old, numbered = update.rows, earlier.locator is not None
        record = replace(record, rows=earlier.rows + forest.source_rows - old)
    schema = source.schema
    if update is None or earlier is not None:
        schema = with_provenance(schema, record, len(forest.rows), locators if numbered else None)
    folded = _folded(forest, job, schema)
    missing = [name for name in schema.names if name not in folded]
    pieces = _read(source, forest, missing) if certifier is None or not missing else iter(())
    if certifier is not None:
        pieces = chain(certifier.pieces(missing), pieces)
    return pa.RecordBatchReader.from_batches(schema, _joined(pieces, forest, folded, schema))


def _folded(forest: FoldedForest, job: StreamJob, schema: pa.Schema) -> dict[Any, str]:
    """Columns whose values the fold has unchanged, and their names in its rows."""
    columns, ids = job.columns, forest.encoder.type
    ends = {} if columns.joint_ids else {columns.source: "source", columns.target: "target"}
    folded = {name: end for name, end in ends.items() if _same_ids(schema.field(name).type, ids)}
    if columns.weight is not None and not columns.keyed:
        kind = schema.field(columns.weight).type
        if pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_boolean(kind):
            folded[columns.weight] = "weight"
    return folded


def _same_ids(kind: pa.DataType, known: pa.DataType | None) -> bool:
    """Whether ids in a dictionary's type (``None``: integers without one) are cast to the column's type exactly."""
    if pa.types.is_integer(kind):
        return known is None or bool(pa.types.is_integer(known))
    return bool(large_types().get(kind, kind) == known)


def _read(source: EdgeSource, forest: FoldedForest, names: list[ColumnName]) -> Iterator[Piece]:
    """Read columns of the forest's rows; without names only their number."""
    read, rows = 0, len(forest.rows)
    if not names:
        yield from ((min(_PIECE, rows - begin), {}) for begin in range(0, rows, _PIECE))
        return
    for batch in source.take(Locators(forest.rows), names, _PIECE):
        read += batch.num_rows
        yield batch.num_rows, {name: batch.column(batch.schema.get_field_index(name)) for name in names}
    if read != rows:
        message = f"the files gave {read:,} of {rows:,} rows in the second pass"
        raise InvalidEdgesError(message, "files must not change during a run: start it again")


def _joined(
    pieces: Iterator[Piece], forest: FoldedForest, folded: dict[object, str], schema: pa.Schema
) -> Iterator[pa.RecordBatch]:
    begin = 0
    for length, columns in pieces:
        if folded:
            part = forest.rows.part(begin, begin + length)
            for name, column in folded.items():
                values, kind = getattr(part, column), schema.field(name).type
                if column == "weight":  # those that were widened or read as unsigned fit the type again
                    columns[name] = arrow_numbers(values.astype(np.dtype(kind.to_pandas_dtype()), copy=False), kind)
                else:
                    columns[name] = forest.encoder.decode(values).cast(kind)
        yield pa.record_batch([cast_exactly(columns[field.name], field.type) for field in schema], schema=schema)
        begin += length


class StreamRows(Delivered, ForestRows):
    """Rows of the forest of a stream, which a second pass reads."""

    def __init__(self, source: EdgeSource, job: StreamJob, folded: FoldedForest, update: Update | None = None) -> None:
        self.source, self.job, self.folded, self.vertices = source, job, folded, folded.vertices
        self.checkpoint, self.spill, self.update = job.checkpoint, job.spill, update
        self.inputs = source.paths[update is not None :]  # an updated forest may be written in place of its file

    @cached_property
    def positions(self) -> Array:
        pieces = [rows.arrays[3] for rows in read_pieces(self.folded.rows)]
        return np.concatenate([np.zeros(0, np.uint64), *pieces])

    @cached_property
    def total_weight(self) -> Total | None:
        return forest_total(self.source, self.folded, self.job.columns)

    def write_certified(self, path: File, format: str | None, progress: Progress) -> Certificate:
        if self.source.schema is None:
            return super().write_certified(path, format, progress)
        with self._certifier(progress) as certifier, suppress(RefutedError), self.finished():
            self.write_rows(gather_rows(self.source, self.folded, self.job, certifier, self.update), path, format)
        return certifier.certificate(self.total_weight)

    def certify(self, progress: Progress) -> Certificate:
        with self._certifier(progress) as certifier:
            certifier.run()
        return certifier.certificate(self.total_weight)

    @contextmanager
    def _certifier(self, progress: Progress) -> Iterator[Certifier]:
        """Context manager: read ids and weights of all rows again, those of the forest too, and show the progress."""
        with showing(progress, "verifying", self.job.memory) as tell:
            yield Certifier(self.source, replace(self.job, progress=tell), self.folded, counted=True)

    def _rows(self) -> Any:
        frame = self.source.gather(Locators(self.folded.rows), self._checker())
        return gather_rows(self.source, self.folded, self.job, None, self.update) if frame is None else frame

    def _checker(self) -> Callable[[View], None]:
        """Return a check of rows of the second pass, frame by frame; a query without an order may give others."""
        engine, types, begin = host_engine(self.job.engine), TypeLedger(self.folded.weight_types), 0

        def check(view: View) -> None:
            nonlocal begin
            for batch in Batch(view, begin, "the second pass", begin).parts(_PIECE) if not view.on_device else ():
                checked = read_batch(engine, self.job.columns, batch, types)
                again = (*self.folded.encoder.encode(checked.ids), checked.weights.values)
                first = self.folded.rows.part(begin, begin + batch.rows).arrays
                if not all(map(np.array_equal, again, first)):
                    raise other_rows(self.source, "other")
                begin += batch.rows

        return check


def find_stream_rows(edges: Frame, request: Request) -> StreamRows:
    """Find the forest of a stream without reading its rows."""
    with opened_job(edges, request, "finding the forest") as (source, job):
        return StreamRows(source, job, fold_source(source, job))


def find_update_rows(forest: PathName, new_edges: Frame, request: Request) -> StreamRows:
    """Find the forest of a forest in a file and new rows: that of all rows that the file was made of, and these."""
    path, columns = (request.limits.access or Access()).path(forest), request.columns
    file = ParquetSource([path])
    update = Update(file.schema, file.rows)
    if update.record is not None:
        update.record.require(str(path), columns.given, columns.maximum, columns.conditions.words)
    with ExitStack() as stack:  # of the file with rows of a frame
        new = input_names(new_edges, request.limits.access)
        if not new:
            folder = SpillDirectory(request.limits.spill_dir or tempfile.gettempdir())
            stack.callback(folder.remove)
            new = [folder.path / "new.parquet"]
            rows = open_frame(open_frame(new_edges, "new_edges").to_arrow(), "new_edges")
            added = stacked(open_frame(file.schema.empty_table(), "forest"), rows).native
            write_table(added.cast(file.schema.remove_metadata()), new[0])  # large_string as string
        with opened_job([path, *new], request, "folding") as (source, job):
            found = StreamRows(source, job, fold_source(source, job), update)
        found.held = stack.pop_all()
    return found


def find_stream(edges: Frame, request: Request) -> Forest:
    """Find the forest of a stream, with its counts."""
    return _with_counts(find_stream_rows(edges, request), request)


def find_update(forest: PathName, new_edges: Frame, request: Request) -> Forest:
    """Find the forest of a forest in a file and new rows, with its counts."""
    return _with_counts(find_update_rows(forest, new_edges, request), request)


def _with_counts(found: StreamRows, request: Request) -> Forest:
    job, folded = found.job, found.folded
    return Forest(
        found,
        request.columns,
        "stream",
        rows=len(folded.rows),
        source_rows=folded.source_rows,
        dropped=folded.dropped,
        algorithm="kruskal" if isinstance(folded.rows, Run) else name_of(resolve(request.solver.algorithm, job.engine)),
        engine=job.engine.name,
        threads=job.engine.threads,
        memory_limit=job.memory,
    )
