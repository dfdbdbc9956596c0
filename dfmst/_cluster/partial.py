"""How far a task has come that folds partition after partition: its forest so far, in a file beside its result's."""

from __future__ import annotations

import json
import time
from typing import Any

from dfmst._cluster.checkpoint import ONE_TABLE, read_kept, write_kept
from dfmst._cluster.device_tables import host_table
from dfmst._cluster.solve import TableFold
from dfmst._folding.pace import SavePace

__all__ = ["PartialFold"]

_RECORD = b"partial"


class PartialFold:
    """A fold that a later run of its task goes on with.

    Parameters
    ----------
    path
        The file (:meth:`dfmst._cluster.graph.TaskGraph.partial`); ``None``: nothing is saved.
    fold
        Gets the forest that an earlier run has saved.

    Attributes
    ----------
    done
        Partitions that are in it.
    record
        What was saved with them.
    """

    def __init__(self, path: str | None, fold: TableFold) -> None:
        self._path, self._fold = path, fold
        self.done, self.record = 0, None
        table = None if path is None else read_kept(path, ONE_TABLE)
        if table is not None:
            metadata = dict(table.schema.metadata)
            self.done, self.record = json.loads(metadata.pop(_RECORD))
            fold.add(table.replace_schema_metadata(metadata))
        self._pace = SavePace(self.done)

    def save(self, done: int, record: Any = None) -> None:
        """Save the forest of so many partitions, if it is time to.

        Parameters
        ----------
        done
            Partitions that are in it.
        record
            What else a later run needs: what JSON holds.
        """
        if self._path is None or not self._pace.due(done):
            return
        begin = time.monotonic()
        forest = host_table(self._fold.forest())
        metadata = {**(forest.schema.metadata or {}), _RECORD: json.dumps([done, record])}
        write_kept(self._path, ONE_TABLE, forest.replace_schema_metadata(metadata))
        self._pace.saved(begin, done)
