"""How far a task has come that takes partition after partition: what it has so far, in a file beside its result's."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.ipc

from dfmst._drive.cluster.checkpoint import ONE_TABLE, Codec, read_kept, write_kept
from dfmst._drive.cluster.device_tables import host_table
from dfmst._drive.cluster.solve import TableFold
from dfmst._fold.checkpoint import SavePace

_RECORD = b"partial"


class Partial:
    """What a later run of a task goes on with.

    Attributes
    ----------
    done
        Partitions that an earlier run has taken.
    record
        What it has saved with them.
    result
        What it had of them; ``None``: it has saved nothing.
    """

    def __init__(self, path: str | None, codec: Codec) -> None:
        self._path, self._codec = path, _with_record(codec)
        self.done = 0
        self.record: Any = None
        self.result: Any = None
        kept = None if path is None else read_kept(path, self._codec)
        if kept is not None:
            (self.done, self.record), self.result = kept
        self._pace = SavePace(self.done)

    def save(self, done: int, result: Callable[[], Any], record: Any = None) -> None:
        """Save what there is of so many partitions, if it is time to."""
        if self._path is None or not self._pace.due(done):
            return
        begin = self._pace.now()
        write_kept(self._path, self._codec, ([done, record], result()))
        self._pace.saved(begin, done)


def _with_record(codec: Codec) -> Codec:
    """The codec of a pair: what JSON holds, and what the codec is for."""

    def tables(pair: tuple[Any, Any]) -> Iterable[pa.Table]:
        record, result = pair
        yield pa.table({}).replace_schema_metadata({_RECORD: json.dumps(record)})
        yield from codec.tables(result)

    def result(tables: Iterator[pa.Table]) -> tuple[Any, Any]:
        record = json.loads(next(tables).schema.metadata[_RECORD])
        return record, codec.result(tables)

    return Codec(tables, result)


def partitions_done(path: str) -> int:
    """Return how many partitions a file says that it is of, without a look at the rest; 0 where it does not say."""
    try:
        with Path(path).open("rb") as file:
            return int(json.loads(pa.ipc.open_stream(file).schema.metadata[_RECORD])[0])
    except (OSError, pa.ArrowException, ValueError, TypeError, LookupError):
        return 0


class PartialFold:
    """A fold that a later run of its task goes on with.

    Attributes
    ----------
    done, record
        As of :class:`Partial`.
    """

    def __init__(self, path: str | None, fold: TableFold) -> None:
        self._partial, self._fold = Partial(path, ONE_TABLE), fold
        self.done, self.record = self._partial.done, self._partial.record
        if self._partial.result is not None:
            fold.add(self._partial.result)
            self._partial.result = None

    def save(self, done: int, record: Any = None) -> None:
        """Save the forest of so many partitions, if it is time to (:meth:`Partial.save`)."""
        self._partial.save(done, lambda: host_table(self._fold.forest()), record)
