"""Graphs in folders of Parquet files, with ids of three kinds: dense integers, 64-bit hashes and text."""

from __future__ import annotations

import shutil
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from dfmst.generate import erdos_renyi

ID_KINDS = ("dense", "sparse", "text")
_FACTOR = 0x9E3779B97F4A7C15 - (1 << 64)  # odd: different ids stay different
#: Random numbers do not compress: packing and unpacking them would only hide the time that is measured.
PLAIN: dict[str, Any] = {"use_dictionary": False, "compression": "none"}


def with_ids(table: pa.Table, kind: str) -> pa.Table:
    """Replace the ids of both columns by hashes of 64 bits or by texts of about 15 bytes."""
    columns = {name: table.column(name) for name in table.column_names}
    for name in ("source", "target"):
        if kind == "sparse":
            columns[name] = pc.multiply(columns[name].cast(pa.int64()), _FACTOR)
        elif kind == "text":
            spread = pc.multiply(columns[name].cast(pa.int64()), 7919).cast(pa.string())
            columns[name] = pc.binary_join_element_wise("user-", spread, "")
    return pa.table(columns)


def random_tables(vertices: int, rows: int, files: int, kind: str = "dense") -> Iterable[pa.Table]:
    """Erdős–Rényi rows in `files` parts of equal length, each with its own seed."""
    for number in range(files):
        part = rows * (number + 1) // files - rows * number // files
        yield with_ids(erdos_renyi(vertices, part, seed=number), kind)


def write_files(folder: Path, tables: Iterable[pa.Table], **options: Any) -> None:
    """Write a table a file; nothing if the folder is there, since it only appears when all files are written."""
    if folder.exists():
        return
    part = folder.with_name(folder.name + ".part")
    shutil.rmtree(part, ignore_errors=True)
    part.mkdir(parents=True)
    for number, table in enumerate(tables):
        pq.write_table(table, part / f"part-{number:04}.parquet", **options)
    part.rename(folder)
