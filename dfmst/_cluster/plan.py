"""What a forest on a cluster will take: memory, bytes moved, rounds; and which strategy fits.

The formulas are short on purpose: they stand beside their results, and ``strategy="auto"`` decides by them. Their
constants were measured (bench/results/cpu/cluster.json; those of a fold: :mod:`dfmst._folding.memory`).
"""

from __future__ import annotations

import math
import os
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

from dfmst._arguments import check_choice, check_column_name, with_numbers
from dfmst._folding.memory import ROW, SOLVE, VERTEX, parse_memory
from dfmst._slices.memory import Room
from dfmst.errors import CapacityError

__all__ = [
    "BASE",
    "NUMBERED",
    "SLICES",
    "Plan",
    "batch_rows",
    "choose_strategy",
    "fitting_strategy",
    "fitting_vertices",
    "plan",
    "slice_memory",
    "slice_vertices",
]

BASE = 210_000_000  # bytes of a worker that has loaded Python, Dask, Arrow and pandas
EDGE = ROW + 8  # bytes of an edge that travels or waits: two 32-bit ids, a 64-bit locator, a 64-bit key
WIDE = 32  # the same with 64-bit ids, as a shuffle sends them
PART = 52  # bytes a row of the partition that is being read
BUFFER = 4  # rows that a fold's buffer holds, a vertex
FOLD = EDGE + SOLVE  # bytes a row of a fold's buffer, solving it included
MERGE = 2 * (3 * EDGE + SOLVE) + VERTEX  # bytes a vertex of two forests that one task merges
LIGHT = 4.0  # rows that a first pass folds, a vertex
RESIDUE = 0.05  # rows that pass the filter and survive, a vertex
DENSE = 8  # rows a vertex from which a second read pays
_FOREST = max(BUFFER * FOLD + VERTEX, MERGE)  # bytes a vertex of the forest that a worker holds
USABLE = 0.85  # share of a worker's memory beyond `BASE` that a shuffle uses: Dask ends a worker at 0.95 of all
_LEAST_BATCH = 128  # rows
BATCH = 120  # bytes a row that is read, solved and sorted by a shuffle
_SHARE = 3 * BATCH  # bytes of a worker's memory for each row of a batch
SLICE_VERTEX = Room(0, 8).vertex  # bytes a vertex of a shuffle's slice
SLICES = 8  # that a shuffle solves one after the other
NUMBERED = 100  # bytes an id of those that a task of a shuffle numbers


@dataclass(frozen=True, slots=True)
class Plan:
    """A prediction; see :func:`plan`.

    Attributes
    ----------
    vertices, edges, partitions, workers, memory
        What it is for.
    strategy
        The strategy it is for.
    reads
        How often the rows are read to find the forest; once more to write it.
    rounds
        Slices of a shuffle, which are solved one after the other.
    bytes_moved
        Between workers.
    peak_memory
        Of one worker, in bytes.
    fits
        Whether that is within what the worker may use.
    formulas
        Quantity -> how it was computed.
    """

    vertices: int
    edges: int
    partitions: int
    workers: int
    memory: int
    strategy: str
    reads: int
    rounds: int
    bytes_moved: int
    peak_memory: int
    fits: bool
    formulas: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class _Work:
    """What is to be done, and what there is to do it with."""

    vertices: int
    edges: int
    partitions: int
    workers: int
    memory: int

    def __post_init__(self) -> None:
        for name, value in asdict(self).items():
            if value < 1:
                message = f"{name} is {value}; it must be at least 1"
                raise ValueError(message)

    @property
    def rows(self) -> int:
        """Rows of a partition."""
        return math.ceil(self.edges / self.partitions)

    def plan(
        self, strategy: str, moved: float, peak: int, formulas: dict[str, str], *, reads: int = 1, rounds: int = 0
    ) -> Plan:
        """The plan with these figures."""
        size = (self.vertices, self.edges, self.partitions, self.workers, self.memory)
        return Plan(*size, strategy, reads, rounds, int(moved), peak, peak <= self.memory, formulas)


@with_numbers("vertices", "edges", "partitions", "workers")
def plan(
    vertices: int | None = None,
    edges: int | None = None,
    *,
    files: str | os.PathLike[str] | Sequence[str | os.PathLike[str]] = (),
    source: Any = "source",
    target: Any = "target",
    partitions: int | None = None,
    workers: int = 1,
    memory: int | str = 4 << 30,
    strategy: str = "auto",
) -> Plan:
    """Predict what a forest on a cluster takes.

    Parameters
    ----------
    vertices, edges
        Of the graph; of `files` by default what their footers say, or where ids are not dense what a sample of rows
        does.
    files
        Parquet files, or directories of them, that hold the graph.
    source, target
        The id columns of `files`.
    partitions
        That the rows come in, all of one size; by default as many as there are `files`, or 1.
    workers
        Processes, one task at a time each.
    memory
        Bytes that each may use, or a text such as ``"8GiB"``.
    strategy
        ``"auto"``, or one of the strategies of ``dfmst.dask.minimum_spanning_forest``.

    Returns
    -------
    Plan
        Strategy, reads, rounds, bytes moved, peak memory of a worker and whether that fits, and the formulas.

    Raises
    ------
    ValueError, TypeError
        A count below 1, an unknown strategy, or a `memory` that is no number of bytes.
    ColumnNotFoundError, FormatError
        A file lacks an id column, or is no Parquet.

    Examples
    --------
    >>> import dfmst
    >>> prediction = dfmst.plan(2_000_000, 96_000_000, partitions=48, workers=2, memory="3GiB")
    >>> prediction.strategy, prediction.reads, prediction.formulas["bytes_moved"]
    ('two-pass', 2, '(W - 1) · n · (24 + 1 + 24 · 0.05) + (W - 1) / W · n · 4')
    """
    for argument, name in (("source", source), ("target", target)):
        check_column_name(argument, name)
    paths = [files] if isinstance(files, (str, os.PathLike)) else list(files)
    if paths:
        vertices, edges, count = _size_of_files(paths, (source, target), vertices, edges)
        partitions = count if partitions is None else partitions
    if vertices is None or edges is None:
        message = "plan() needs vertices and edges, or files"
        raise TypeError(message)
    message = f"unknown strategy {strategy!r}; known: 'auto', {', '.join(map(repr, _PLANS))}"
    check_choice(strategy, ("auto", *_PLANS), message)
    work = _Work(vertices, edges, 1 if partitions is None else partitions, workers, parse_memory(memory))
    chosen = _automatic(work) if strategy == "auto" else strategy
    return _PLANS[chosen](work)


def _automatic(work: _Work) -> str:
    """What ``"auto"`` takes, or comes closest to."""
    chosen = choose_strategy(work.vertices, work.edges, work.memory)
    return "shuffle" if not _PLANS[chosen](work).fits and _shuffle(work).fits else chosen


def _size_of_files(
    paths: Sequence[str | os.PathLike[str]], ends: tuple[Any, Any], vertices: int | None, edges: int | None
) -> tuple[int | None, int | None, int]:
    """Vertices and rows, where they are not known already, and the number of files."""
    from dfmst.formats.footers import parquet_size
    from dfmst.formats.parquet import parquet_files
    from dfmst.formats.problems import existing_path

    files = [file for path in map(existing_path, paths) for file in (parquet_files(path) if path.is_dir() else [path])]
    size = parquet_size([(file, None) for file in files], ends)
    edges = max(size.rows, 1) if edges is None else edges
    if vertices is None and (size.vertices is None or size.vertices >= 2 * size.rows):
        from dfmst._cluster.estimate import estimate_vertices

        vertices = max(1, min(2 * size.rows, estimate_vertices([(file, None) for file in files], ends)))
    return size.vertices if vertices is None else vertices, edges, len(files)


def choose_strategy(vertices: int, edges: int, memory: int, rereadable: bool = True) -> str:
    """The strategy that ``"auto"`` stands for."""
    if vertices > fitting_vertices(memory):
        return "shuffle"
    return "two-pass" if rereadable and edges >= DENSE * vertices else "merge"


def fitting_vertices(memory: int) -> int:
    """Vertices whose forest one worker folds and merges within so much memory."""
    return max(1, (memory - BASE) // _FOREST)


def slice_memory(memory: int) -> int:
    """Bytes that a task of a shuffle may hold."""
    return max(0, int(USABLE * (memory - BASE)))


def slice_vertices(memory: int) -> int:
    """Vertices that a shuffle solves with workers of so much memory."""
    return slice_memory(memory) // SLICE_VERTEX


def batch_rows(memory: int, tasks: int = 1) -> int:
    """Rows that each of so many tasks of a shuffle reads before it drops what cycles among them beat."""
    return max(_LEAST_BATCH, slice_memory(memory) // _SHARE // tasks)


def fitting_strategy(
    vertices: int, edges: int, partitions: int, workers: int, memory: int, rereadable: bool = True
) -> str:
    """The strategy that ``"auto"`` stands for, of those that fit.

    Raises
    ------
    CapacityError
        None does; with what would do.
    """
    work = _Work(max(1, vertices), max(1, edges), max(1, partitions), max(1, workers), memory)
    for strategy in (choose_strategy(vertices, edges, memory, rereadable), "shuffle"):
        if _PLANS[strategy](work).fits:
            return strategy
    least = math.ceil(_shuffle(work).peak_memory / 1e6 * 1.2)
    message = (
        f"{vertices:,} vertices in partitions of {work.rows:,} rows do not fit workers of {memory // 1_000_000:,} MB, "
        "by any strategy"
    )
    hint = f"use workers of {least:,} MB, or more and smaller partitions; dfmst forest --spill-dir needs one machine"
    raise CapacityError(message, hint)


def _gathering(vertices: int, workers: int) -> float:
    """Bytes of the positions that go back to the workers that gather the rows."""
    return (workers - 1) / workers * vertices * 4


def _peak(vertices: int, rows: int, buffered: float, workers: int) -> int:
    merging = MERGE * vertices if workers > 1 else 0
    return int(BASE + max(PART * rows + FOLD * buffered + VERTEX * vertices, merging))


def _merge(work: _Work) -> Plan:
    forest = min(work.vertices, work.edges / work.workers)
    moved = (work.workers - 1) * forest * EDGE + _gathering(work.vertices, work.workers)
    peak = _peak(int(forest), work.rows, min(BUFFER * work.vertices, work.edges / work.workers), work.workers)
    formulas = {
        "bytes_moved": f"(W - 1) · min(n, m / W) · {EDGE} + (W - 1) / W · n · 4",
        "peak_memory": _peak_formula(f"min({BUFFER} · n, m / W)"),
    }
    return work.plan("merge", moved, peak, formulas)


def _two_pass(work: _Work) -> Plan:
    vertices, workers = work.vertices, work.workers
    moved = (workers - 1) * vertices * (EDGE + 1 + EDGE * RESIDUE) + _gathering(vertices, workers)
    peak = _peak(vertices, work.rows, min(BUFFER, LIGHT / workers) * vertices, workers)
    formulas = {
        "bytes_moved": f"(W - 1) · n · ({EDGE} + 1 + {EDGE} · {RESIDUE}) + (W - 1) / W · n · 4",
        "peak_memory": _peak_formula(f"min({BUFFER}, {LIGHT:g} / W) · n"),
    }
    return work.plan("two-pass", moved, peak, formulas, reads=2)


def _peak_formula(buffered: str) -> str:
    fold = f"{PART} · m / P + {FOLD} · {buffered} + {VERTEX} · n"
    return f"{BASE // 1_000_000} MB + max({fold}, {MERGE} · n where W > 1)"


def _shuffle(work: _Work) -> Plan:
    batch, workers = batch_rows(work.memory), work.workers
    # A batch leaves its own forest, at most its vertices.
    kept = min(work.edges, math.ceil(work.edges / batch) * work.vertices)
    moved = (workers - 1) / workers * (kept * EDGE + work.vertices * 8)
    reading = PART * work.rows + BATCH * min(batch, work.edges)
    solving = SLICE_VERTEX * work.vertices
    peak = BASE + max(reading, solving)
    reading_formula = f"{PART} · m / P + {BATCH} · min(b, m)"
    formulas = {
        "bytes_moved": f"(W - 1) / W · (min(m, m / b · n) · {EDGE} + 8 · n), b = {USABLE} · (M - BASE) / {_SHARE}",
        "peak_memory": f"{BASE // 1_000_000} MB + max({reading_formula}, {SLICE_VERTEX} · n)",
    }
    return work.plan("shuffle", moved, int(peak), formulas, rounds=SLICES)


_PLANS = {"merge": _merge, "two-pass": _two_pass, "shuffle": _shuffle}
