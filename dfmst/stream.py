"""Forests of more rows than the memory holds.

Rows are read in batches and folded in bounded memory: rows that can no longer enter the forest are dropped as they
arrive. The result is, row for row, that of :func:`dfmst.minimum_spanning_forest` on all rows at once.
:func:`minimum_spanning_forest` and :func:`maximum_spanning_forest` do everything in one call. :func:`fold` returns a
forest that can be read, written or verified later, and :func:`verify` checks a forest's file.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

from dfmst._common.dispatch import variant
from dfmst._common.types import Invalid
from dfmst._drive.stream.forest import fold, verify
from dfmst._drive.stream.linked import linked_rows
from dfmst._drive.stream.parquet import find_files
from dfmst._drive.stream.sources import fits, input_names
from dfmst._fold.budget import parse_memory
from dfmst.algorithms import Algorithm
from dfmst.formats import check_file
from dfmst.formats.write import check_format

__all__ = [
    "fits",
    "fold",
    "linked_rows",
    "maximum_spanning_forest",
    "minimum_spanning_forest",
    "parse_memory",
    "verify",
]


def _forest(edges: Any, *columns: Any, output: str | os.PathLike[str] | None = None, **options: Any) -> Any:
    if output is not None:  # before rows are read
        check_format(output)
        names = input_names(edges)
        check_file(output, [*find_files(names), *names])
    with closing(fold(edges, *columns, **options)) as forest:
        if output is None:
            return forest.frame
        forest.write(output)
        return Path(output)


def minimum_spanning_forest(
    edges: Any,
    source: Any = "source",
    target: Any = "target",
    weight: Any = "weight",
    *,
    by: Any = None,
    keep: Any = None,
    drop: Any = None,
    memory_limit: int | str = "2GiB",
    gpu_memory_limit: int | str | None = None,
    output: str | os.PathLike[str] | None = None,
    checkpoint: str | os.PathLike[str] | None = None,
    spill_dir: str | os.PathLike[str] | None = None,
    algorithm: str | Algorithm = "auto",
    engine: str = "auto",
    invalid: Invalid = "raise",
    threads: int | None = None,
    progress: bool | Callable[[int, int | None], None] | None = None,
) -> Any:
    """Return the rows of the minimum spanning forest of a stream of edge tables.

    Of equal weights the earlier row counts as lighter, over all files or frames in their order.

    Parameters
    ----------
    edges
        Parquet files: a path, a directory, a pattern such as ``"part-*.parquet"``, or a list of these; a
        ``pyarrow.dataset``; or frames: a list, or a function that returns an iterator. They are read twice, so an
        iterator itself is refused. Frames of cuDF stay on the GPU.
    source, target, weight, by, keep, drop
        As for :func:`dfmst.minimum_spanning_forest`. A key of two weights has 32 bits of each.
    memory_limit
        Memory of this process while it folds: bytes, or a text such as ``"2GiB"``. 256 MiB are for the interpreter,
        libraries and batches. The least limit is 288 MiB and 48 bytes a vertex; below 256 MiB and 132 bytes a vertex
        the run is slower, uses the host, and ignores `algorithm`. Your own frames and the returned forest come on top.
    gpu_memory_limit
        Memory of the GPU, for ``engine="cuda"``: 96 MiB and 172 bytes a vertex at least; ``None``: 2 GiB. Integer ids
        are numbered on the GPU, others on the host.
    output
        File for the forest (Parquet, Arrow, CSV or TSV), written instead of returned. It must not be one of the input's
        files, nor be in a directory of them.
    checkpoint
        Directory for checkpoints; an interrupted run continues from the last one. Only for Parquet files, and with at
        least 132 bytes a vertex, or `spill_dir`.
    spill_dir
        Directory on a local disk for rows if the vertices do not fit the limit: 288 MiB and 9 bytes a vertex are then
        enough, and the run is slower, uses the host, and ignores `algorithm`. Ids stay in memory: those that are not
        dense integers need 64 MiB and 27 bytes a vertex more, texts 31 bytes and 2.3 times their length. At most nine
        rows a vertex are on disk, 24 bytes each (20 with weights of 32 bits). They are removed at the end.
    algorithm, engine, invalid, threads
        As for :func:`dfmst.minimum_spanning_forest`.
    progress
        True for a bar with rows, rows a second, remaining time and memory; or a function that is called with the rows
        done and all rows (``None``: unknown).

    Returns
    -------
    forest
        The rows in order, with all columns: a ``pyarrow.Table`` if the edges are Parquet files, with a record of how
        it was made in its schema (:func:`dfmst.update`); otherwise a frame of the edges' kind. With `output`, the path.

    Raises
    ------
    CapacityError
        The vertices do not fit the limit; the error names a limit that is enough.
    ColumnNotFoundError, InvalidEdgesError, FormatError, UnsupportedFrameError, OutputError
        As for :func:`dfmst.minimum_spanning_forest`; files that differ in their columns, are damaged, or change
        during the run.

    Examples
    --------
    >>> import pyarrow as pa, pyarrow.parquet
    >>> import dfmst
    >>> pa.parquet.write_table(pa.table({"source": [0, 1], "target": [1, 2], "weight": [3, 1]}), "part-0.parquet")
    >>> pa.parquet.write_table(pa.table({"source": [0], "target": [2], "weight": [2]}), "part-1.parquet")
    >>> dfmst.stream.minimum_spanning_forest("part-*.parquet").to_pydict()
    {'source': [1, 0], 'target': [2, 2], 'weight': [1, 2]}
    """
    return _forest(**locals())


@variant(minimum_spanning_forest, _forest, maximum=True)
def maximum_spanning_forest() -> None:
    """Return the rows of the maximum spanning forest of a stream of edge tables.

    Heavier rows come first; of equal weights still the earlier one. Parameters, results and errors are those of
    :func:`minimum_spanning_forest`.

    Examples
    --------
    >>> import pyarrow as pa
    >>> import dfmst
    >>> tables = [pa.table({"source": [0, 1], "target": [1, 2], "weight": [3, 1]}),
    ...           pa.table({"source": [0], "target": [2], "weight": [2]})]
    >>> dfmst.stream.maximum_spanning_forest(tables).to_pydict()
    {'source': [0, 0], 'target': [1, 2], 'weight': [3, 2]}
    """
