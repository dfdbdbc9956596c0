"""Forests of more rows than the memory holds.

Rows are read in batches and folded into a buffer of bounded size, which always begins with the forest of all rows so
far; rows that can no longer enter it are dropped as they arrive. The result is, row for row, that of
:func:`dfmst.minimum_spanning_forest` on all rows at once.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import narwhals.stable.v2 as nw
import pyarrow as pa

from dfmst._engines import select_engine
from dfmst._folding.memory import parse_memory
from dfmst.algorithms import Algorithm
from dfmst.errors import InvalidEdgesError
from dfmst.formats import write_edges
from dfmst.stream.batches import Job
from dfmst.stream.checkpoint import Checkpoint
from dfmst.stream.fold import Forest, fold_source
from dfmst.stream.frame_source import FrameSource
from dfmst.stream.gather import chosen_rows, recorded_schema
from dfmst.stream.parquet import ParquetSource
from dfmst.stream.sources import open_source
from dfmst.typing import Invalid

__all__ = ["maximum_spanning_forest", "minimum_spanning_forest"]

_PIECE = 1 << 19


def minimum_spanning_forest(
    sources: Any,
    source: Any = "source",
    target: Any = "target",
    weight: Any = "weight",
    *,
    memory_limit: int | str = "2GiB",
    output: str | os.PathLike[str] | None = None,
    checkpoint: str | os.PathLike[str] | None = None,
    algorithm: str | Algorithm = "auto",
    engine: str = "auto",
    invalid: Invalid = "raise",
    threads: int | None = None,
    progress: Callable[[int, int | None], None] | None = None,
) -> Any:
    """Return the rows of the minimum spanning forest of a stream of edge tables.

    Of equal weights the earlier row counts as lighter, over all files or frames in their order.

    Parameters
    ----------
    sources
        Parquet files: a path, a directory, a pattern such as ``"part-*.parquet"``, or a list of these; a
        ``pyarrow.dataset``; or frames: a list, or a function that returns an iterator. They are read twice, so that
        an iterator itself is refused.
    source, target, weight
        Column names; ``weight=None``: all weights are equal.
    memory_limit
        Bytes, or a text such as ``"2GiB"``: what this process may hold in all while it folds, 256 MiB of it for the
        interpreter, its libraries and the batches in flight. The least is those and 130 bytes a vertex. Frames of
        your own, the returned forest, and rows in the second pass beyond a batch come on top.
    output
        Write the forest to this file (Parquet, Arrow, CSV or TSV) as it is gathered, in place of returning it.
    checkpoint
        Directory for checkpoints; a run that was interrupted goes on from the last one. Parquet files only.
    algorithm, engine, invalid, threads
        As for :func:`dfmst.minimum_spanning_forest`.
    progress
        Called with the rows done and the rows in all (``None``: unknown).

    Returns
    -------
    forest
        A ``pyarrow.Table``, or for frames the kind of the frames: the rows in order, all columns. With `output`
        the file's path. Of Parquet files, its schema's metadata says how it was made (:func:`dfmst.update`).

    Raises
    ------
    CapacityError
        The vertices do not fit the limit; the message says what would do.
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
    job = _job((source, target, weight), memory_limit, engine, threads, algorithm, invalid, progress, maximum=False)
    return _stream(sources, job, output, checkpoint)


def maximum_spanning_forest(
    sources: Any,
    source: Any = "source",
    target: Any = "target",
    weight: Any = "weight",
    *,
    memory_limit: int | str = "2GiB",
    output: str | os.PathLike[str] | None = None,
    checkpoint: str | os.PathLike[str] | None = None,
    algorithm: str | Algorithm = "auto",
    engine: str = "auto",
    invalid: Invalid = "raise",
    threads: int | None = None,
    progress: Callable[[int, int | None], None] | None = None,
) -> Any:
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
    job = _job((source, target, weight), memory_limit, engine, threads, algorithm, invalid, progress, maximum=True)
    return _stream(sources, job, output, checkpoint)


def _job(
    names: tuple[Any, Any, Any],
    limit: int | str,
    engine: str,
    threads: int | None,
    algorithm: str | Algorithm,
    invalid: Invalid,
    progress: Callable[[int, int | None], None] | None,
    *,
    maximum: bool,
) -> Job:
    runner = select_engine(engine, threads)
    told = progress or (lambda done, total: None)
    return Job(names, parse_memory(limit), runner, maximum, algorithm, invalid, told)


def _stream(sources: Any, job: Job, output: Any, checkpoint: Any) -> Any:
    opened = open_source(job.engine, sources)
    if isinstance(opened, FrameSource):
        if checkpoint is not None:
            message = "a checkpoint needs Parquet files: frames cannot be told again"
            raise InvalidEdgesError(message, "leave checkpoint out, or write the frames to Parquet files first")
        return _from_frames(opened, job, output)
    saved = None if checkpoint is None else open_checkpoint(checkpoint, opened, job)
    forest = fold_source(opened, job, saved)
    rows = chosen_rows(opened, forest, job.names, recorded_schema(opened, forest, job))
    if output is None:
        found: Any = rows.read_all()
    else:
        write_edges(rows, output, token=saved.token if saved else None)
        found = Path(output)
    if saved:
        saved.clear()
    return found


def open_checkpoint(folder: str | os.PathLike[str], source: ParquetSource, job: Job) -> Checkpoint:
    """Open the checkpoint of a run over files; the number of threads and the limit may change between runs.

    Raises
    ------
    DfmstError
        It belongs to another run.
    """
    options = {"columns": list(job.names), "maximum": job.maximum, "invalid": job.invalid}
    return Checkpoint(Path(folder), {"files": source.fingerprint, **options})


def _from_frames(source: FrameSource, job: Job, output: Any) -> Any:
    forest: Forest = fold_source(source, job)
    pieces = [nw.from_native(piece) for piece in source.chosen(forest.rows.locator, job.columns, _PIECE)]
    if not pieces:
        message = "sources holds no frame"
        raise InvalidEdgesError(message, "pass at least one, which may be empty")
    found = nw.to_native(nw.concat(pieces, how="vertical"))
    if output is None:
        return found
    write_edges(pa.table(found), output)
    return Path(output)
