"""Ids on disk: components whose ids do not fit the memory, in 4 to 8 bytes a vertex.

The rows are folded in parts whose ids fit. A part leaves its ids in ascending order, and next to each the place of the
smallest id of its component, in a file. At the end these sorted runs are merged, which numbers all ids in their order,
and the components of the parts are united by these numbers. The rows are read once.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from dfmst._common.deferred import pc
from dfmst._common.directories import SpillDirectory, disk_errors
from dfmst._common.types import Array
from dfmst._drive.stream.labels import Numbered, name_groups
from dfmst._edges.dictionary import in_common_type
from dfmst._engines import Engine
from dfmst._fold.sets import SetsFold

_PIECE = 1 << 18  # ids written at a time
_MERGED = 1 << 16  # ids of a run that are merged at a time


class _Run(NamedTuple):
    """A part's ids in ascending order, and the place of each one's component."""

    ids: Path  # a stream of Arrow
    leader: Path  # ``uint32``
    rank: Path  # ``uint32``: the number of each id among those of all runs, once they are merged
    type: pa.DataType


class IdRuns:
    """The sorted runs of a stream's parts."""

    def __init__(self, engine: Engine, directory: SpillDirectory) -> None:
        self._engine, self._directory = engine, directory
        self._runs: list[_Run] = []

    def __len__(self) -> int:
        return len(self._runs)

    @property
    def type(self) -> pa.DataType:
        """The type that holds the ids of all runs."""
        kind: pa.DataType = in_common_type([pa.array([], run.type) for run in self._runs])[0].type
        return kind

    def add(self, numbered: Numbered, label: Array) -> None:
        """Write the ids of a part; `label` is the same for the vertices of a component."""
        leader, name = name_groups(numbered, label), self._directory.new_name()
        kind = numbered.decode(np.zeros(0, np.uint32)).type
        run = _Run(Path(f"{name}.ids"), Path(f"{name}.leader"), Path(f"{name}.rank"), kind)
        place = np.empty(len(label), np.uint32)
        begin = 0
        with disk_errors(self._directory.path):
            with _writer(run.ids, kind) as file:
                for piece in numbered.pieces(self._engine):
                    place[piece] = np.arange(begin, begin + len(piece), dtype=np.uint32)
                    begin += len(piece)
                    file.write_batch(_batch(numbered.decode(piece)))
            with run.leader.open("wb") as file:
                for piece in numbered.pieces(self._engine):
                    file.write(np.ascontiguousarray(place[leader[piece]]).data)
        self._runs.append(run)

    def merge(self) -> tuple[Path, int]:
        """Number all ids in ascending order; return the file of the ids, and their number."""
        kind, count = self.type, 0
        path = Path(f"{self._directory.new_name()}.ids")
        with disk_errors(self._directory.path), ExitStack() as stack:
            readers = [_Reader(_batches(run.ids, stack), kind) for run in self._runs]
            ranks = [stack.enter_context(run.rank.open("wb")) for run in self._runs]
            merged = stack.enter_context(_writer(path, kind))
            while parts := _first(readers):
                taken = pa.concat_arrays([ids for _, ids in parts])
                order = pc.sort_indices(taken).to_numpy()
                ascending = taken.take(pa.array(order))
                new = np.ones(len(taken), bool)
                new[1:] = pc.not_equal(ascending[1:], ascending[:-1]).to_numpy(zero_copy_only=False)
                rank = np.empty(len(taken), np.uint32)
                rank[order] = count + np.cumsum(new) - 1
                begin = 0
                for number, ids in parts:
                    ranks[number].write(rank[begin : begin + len(ids)].data)
                    begin += len(ids)
                merged.write_batch(_batch(ascending.filter(pa.array(new))))
                count += int(new.sum())
        return path, count

    def unite(self, vertices: int) -> SetsFold:
        """Unite the components of all runs by the numbers of their ids."""
        sets = SetsFold(self._engine, vertices)
        for run in self._runs:
            with disk_errors(self._directory.path):
                rank = np.fromfile(run.rank, np.uint32)
                for begin in range(0, len(rank), _PIECE):
                    leader = np.fromfile(run.leader, np.uint32, _PIECE, offset=4 * begin)
                    sets.unite(rank[begin : begin + len(leader)], rank[leader])
        for path in (path for run in self._runs for path in run[:3]):
            path.unlink()
        return sets


class _Reader:
    """The ids of a run that are not merged yet."""

    def __init__(self, batches: Iterator[pa.RecordBatch], kind: pa.DataType) -> None:
        self._batches, self._kind = batches, kind
        self.ids = pa.array([], kind)

    def fill(self) -> bool:
        """Read on if all ids are merged; return whether there are more."""
        while not len(self.ids):
            batch = next(self._batches, None)
            if batch is None:
                return False
            self.ids = batch.column(0).cast(self._kind)
        return True

    def take(self, last: pa.Scalar) -> pa.Array:
        """Take the ids up to `last`."""
        count = pc.sum(pc.less_equal(self.ids, last)).as_py() or 0
        taken, self.ids = self.ids[:count], self.ids[count:]
        return taken


def _first(readers: Sequence[_Reader]) -> list[tuple[int, pa.Array]]:
    """Take the ids of all runs up to the least last one that was read, with the numbers of their runs."""
    filled = [(number, reader) for number, reader in enumerate(readers) if reader.fill()]
    if not filled:
        return []
    ends = pa.concat_arrays([reader.ids[-1:] for _, reader in filled])
    last = ends[pc.sort_indices(ends)[0].as_py()]
    return [(number, reader.take(last)) for number, reader in filled]


class StoredNumbers:
    """The vertices of a result, numbered in the order of their ids, which are in a file.

    Ids of groups are gathered `held` ids at a time, each time from a part of the file, into a file of their own.
    """

    def __init__(self, directory: SpillDirectory, path: Path, total: int, held: int) -> None:
        self._directory, self._path, self._total, self._held = directory, path, total, held
        self.types: dict[Any, pa.DataType] = {}
        with disk_errors(directory.path), pa.OSFile(str(path), "rb") as file:
            self.id_type: pa.DataType = pa.ipc.open_stream(file).schema.field(0).type

    def __len__(self) -> int:
        return self._total

    def pieces(self, engine: Engine) -> Iterator[Array]:
        for begin in range(0, self._total, _PIECE):
            yield np.arange(begin, min(begin + _PIECE, self._total), dtype=np.uint32)

    def rows(self, engine: Engine, leaders: Sequence[Array]) -> Iterator[list[pa.Array]]:
        with disk_errors(self._directory.path), ExitStack() as stack:
            columns = [self._gathered(leader, stack) for leader in leaders]
            begin = 0
            for batch in _batches(self._path, stack):
                ids, end = batch.column(0), begin + len(batch)
                parts = zip(leaders, columns, strict=True)
                yield [ids, *(_in_order(files, leader[begin:end] // self._held) for leader, files in parts)]
                begin = end

    def _gathered(self, leader: Array, stack: ExitStack) -> list[Iterator[pa.RecordBatch]]:
        """Gather the ids of vertices, in the order of the vertices, from one part of all ids after the other."""
        files = []
        for first in range(0, self._total, self._held):
            path, known = Path(f"{self._directory.new_name()}.part"), self._read(first)
            stack.callback(path.unlink)
            with _writer(path, self.id_type) as file, ExitStack() as reading:
                begin = 0
                for length in [len(batch) for batch in _batches(self._path, reading)]:
                    piece = leader[begin : begin + length].astype(np.int64) - first
                    here = piece[(piece >= 0) & (piece < len(known))]
                    file.write_batch(_batch(known.take(pa.array(here))))
                    begin += length
            files.append(_batches(path, stack))
        return files

    def _read(self, first: int) -> pa.Array:
        """Read the ids from a number on."""
        begin, parts = 0, []
        with ExitStack() as stack:
            for batch in _batches(self._path, stack):
                part = batch.column(0)[max(0, first - begin) : max(0, first + self._held - begin)]
                parts += [part] if len(part) else []
                begin += len(batch)
        return pa.concat_arrays(parts)


def _in_order(files: Sequence[Iterator[pa.RecordBatch]], part: Array) -> pa.Array:
    """Join the next batch of each file, in the order in which `part` names the files."""
    joined = pa.concat_arrays([next(file).column(0) for file in files])
    place = np.empty(len(part), np.int64)
    place[np.argsort(part, kind="stable")] = np.arange(len(part))
    return joined.take(pa.array(place))


def _writer(path: Path, kind: pa.DataType) -> Any:
    return pa.ipc.new_stream(str(path), pa.schema([("ids", kind)]))


def _batch(ids: pa.Array) -> pa.RecordBatch:
    return pa.record_batch([ids], names=["ids"])


def _batches(path: Path, stack: ExitStack) -> Iterator[pa.RecordBatch]:
    """Return the batches of a file, which is closed with the stack."""
    return iter(pa.ipc.open_stream(stack.enter_context(pa.OSFile(str(path), "rb"))))
