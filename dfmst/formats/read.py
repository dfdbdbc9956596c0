"""The public readers: find the format out, then hand over to its module."""

from __future__ import annotations

import errno
import os
from collections.abc import Callable
from pathlib import Path

import pyarrow as pa

from dfmst.errors import FormatError
from dfmst.formats.arrow_ipc import open_arrow
from dfmst.formats.cedge import open_cedge
from dfmst.formats.delimited import open_csv, open_tsv
from dfmst.formats.detect import detect_format
from dfmst.formats.dimacs import open_dimacs
from dfmst.formats.ewg import open_ewg
from dfmst.formats.gml import open_gml
from dfmst.formats.graphml import open_graphml
from dfmst.formats.konect import open_konect
from dfmst.formats.matrix_market import open_matrix_market
from dfmst.formats.metis import open_metis
from dfmst.formats.node_link import open_node_link
from dfmst.formats.parquet import open_parquet
from dfmst.formats.problems import problem
from dfmst.formats.snap import open_snap
from dfmst.formats.source import BLOCK_BYTES, Source
from dfmst.formats.tsplib import open_tsplib

__all__ = ["FORMATS", "open_edges", "read_edges"]

OPENERS: dict[str, Callable[[Source], pa.RecordBatchReader]] = {
    "arrow": open_arrow,
    "cedge": open_cedge,
    "csv": open_csv,
    "dimacs": open_dimacs,
    "ewg": open_ewg,
    "gml": open_gml,
    "graphml": open_graphml,
    "json": open_node_link,
    "konect": open_konect,
    "matrix-market": open_matrix_market,
    "metis": open_metis,
    "parquet": open_parquet,
    "snap": open_snap,
    "tsplib": open_tsplib,
    "tsv": open_tsv,
}
FORMATS = tuple(OPENERS)


def open_edges(
    path: str | os.PathLike[str], format: str | None = None, *, block_bytes: int = BLOCK_BYTES
) -> pa.RecordBatchReader:
    r"""Open a graph file as a stream of batches; the whole file is never in memory.

    GML, GraphML and JSON are the exceptions: their edges are known only when the file has been read.

    Parameters
    ----------
    path
        The file, plain or compressed with gzip, xz, zstd or bzip2 (told by its bytes, not by its
        name), or a directory of Parquet files.
    format
        One of ``FORMATS``; by default it is found out.
    block_bytes
        How much uncompressed text makes a batch.

    Returns
    -------
    pyarrow.RecordBatchReader
        ``source`` and ``target`` (int64, or string where vertices have names), ``weight`` (int64 or
        float64) where the file has weights, and what else the format keeps. CSV with a header,
        Parquet and Arrow keep their own names and types. Vertices are as in the file: a format that
        counts from 1 gives ids from 1. Rows are in the order of the file.

    Raises
    ------
    FormatError
        Where the file breaks its format, here or while the batches are read; the message names the
        file and the line.
    FileNotFoundError
        Where there is no such file.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder) / "roads.gr"
    ...     count = path.write_text("p sp 3 2\na 1 2 40\na 2 3 7\n")
    ...     [batch.num_rows for batch in open_edges(path)]
    [2]
    """
    source = Source(Path(path), block_bytes)
    if not source.path.exists():
        raise FileNotFoundError(errno.ENOENT, "there is no such graph file", str(path))
    if not (source.path.is_file() or source.path.is_dir()):
        raise problem(source.path, "neither a file nor a directory", hint="write the stream to a file first")
    if format is not None and format not in OPENERS:
        raise FormatError(f"the format {format!r} is unknown", f"these are known: {', '.join(FORMATS)}")
    # Detection also refuses what no format can be: empty files and archives.
    found = detect_format(source)
    name = format or found
    if source.path.is_dir() and name != "parquet":
        raise problem(source.path, f"a directory, where {name} is one file", hint="name the file")
    return OPENERS[name](source)


def read_edges(path: str | os.PathLike[str], format: str | None = None) -> pa.Table:
    r"""Read a graph file into a table; ``open_edges`` reads it batch by batch.

    Parameters
    ----------
    path
        The file, plain or compressed, or a directory of Parquet files.
    format
        One of ``FORMATS``; by default it is found out.

    Returns
    -------
    pyarrow.Table
        One row an edge, with the columns that ``open_edges`` describes.

    Raises
    ------
    FormatError
        Where the file breaks its format; the message names the file and the line.
    FileNotFoundError
        Where there is no such file.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder) / "roads.gr"
    ...     count = path.write_text("p sp 3 2\na 1 2 40\na 2 3 7\n")
    ...     read_edges(path).to_pydict()
    {'source': [1, 2], 'target': [2, 3], 'weight': [40, 7]}
    """
    return open_edges(path, format).read_all()
