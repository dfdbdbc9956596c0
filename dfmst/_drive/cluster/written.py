"""The files of an output: one for each partition, written once, also where a run goes on after one that was killed."""

from __future__ import annotations

import hashlib
import os
from pathlib import Path
from typing import Any, NamedTuple

import pyarrow as pa
import pyarrow.parquet

from dfmst._drive.cluster.checkpoint import ONE_TABLE, read_kept, write_kept
from dfmst._drive.cluster.rows import Chosen, gather
from dfmst._drive.cluster.tasks import Group
from dfmst._edges.read import EdgeColumns
from dfmst.formats.atomic import atomic_path

_DIGEST = "sha256"


class Target(NamedTuple):
    """A file to write, and where its digest is kept: one that has it is whole, and stays (``None``: nowhere)."""

    path: str
    kept: str | None = None


def write(group: Group, chosen: list[Chosen], columns: EdgeColumns, targets: list[Target]) -> int:
    """Write the rows of a group's partitions, each to a Parquet file, and return how many there are (a task)."""
    for number, (part, own, target) in enumerate(zip(group.parts, chosen, targets, strict=True), group.first):
        if target.kept is None or not _is_written(target.path, target.kept):
            _write(part, own, number, columns, target)
    return sum(len(own.position) for own in chosen)


def _write(part: Any, chosen: Chosen, number: int, columns: EdgeColumns, target: Target) -> None:
    rows = gather(part, chosen, number, columns)
    Path(target.path).parent.mkdir(parents=True, exist_ok=True)
    # A worker of the run that was killed may still be at it.
    with atomic_path(target.path, own=True) as file:
        pyarrow.parquet.write_table(rows, file)
    if target.kept is not None:
        write_kept(target.kept, ONE_TABLE, pa.table({"digest": [_digest(target.path)]}))


def _is_written(path: str, kept: str) -> bool:
    """Whether a file is there, as it was written."""
    if not os.path.exists(path):
        return False
    known = read_kept(kept, ONE_TABLE)
    return known is not None and known["digest"].to_pylist() == [_digest(path)]


def _digest(path: str) -> str:
    with open(path, "rb") as file:
        return hashlib.file_digest(file, _DIGEST).hexdigest()
