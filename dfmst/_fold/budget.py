"""Memory budgets of folds and streams, and terms: numbers that know their formula.

A budget is a fixed part and some bytes a vertex, counted and not measured. Runs check numbers by the same formulas that
plans print: if the limit is a term, so are their values.

For n vertices, a buffer of b rows, and weights of w bytes:

- A fold in a buffer holds ``(ROW + w) b``, and solving takes ``SOLVE b + VERTEX n`` more. ``SOLVE`` and ``VERTEX`` were
  measured (bench/limits/fold_memory.py) on random, grid, star and path graphs with random and with equal weights, and
  on the worst case, graphs whose light rows join nothing. Buffers of 1.5, 2, 3, 4, 6 and 8 rows a vertex have 47, 39,
  32, 28, 24 and 22 bytes a row for solving; the benchmark must measure less.
- A fold in runs holds ``RUN_VERTEX n``. While rows arrive, it also holds ``(ROW + w) b`` and sorts with ``SORT b``;
  while slices are solved, ``(ROW + w) b`` and ``(SCAN + w) b``. Each solve takes time for every vertex, so the buffer
  has at least n / ``SHARE`` rows.
- A fold into disjoint sets holds ``SETS n``, and no rows.
- A stream adds ``FIXED``, and for ids that are not dense integers ``HASHING`` and their dictionary.

With 64-bit weights the least limits are ``FIXED`` and 132 bytes a vertex in a buffer (172 on a GPU); with runs 32 MiB
more and 48 bytes a vertex in memory, 9 on disk.
"""

from __future__ import annotations

import math
import operator
import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Literal, TypeAlias

import numpy as np

from dfmst._common.arguments import whole_number
from dfmst._common.machine import free_memory
from dfmst._edges.encode import ID_BYTES
from dfmst._engines import Engine
from dfmst.errors import CapacityError

_SUM, _PRODUCT, _WHOLE = range(3)  # precedence of a formula's outermost operation
_OPERATIONS: dict[str, tuple[int, str, Callable[[float, float], float]]] = {
    "+": (_SUM, "+", operator.add),
    "-": (_SUM, "-", operator.sub),
    "*": (_PRODUCT, "·", operator.mul),
    "/": (_PRODUCT, "/", operator.truediv),
    "//": (_PRODUCT, "/", operator.floordiv),
}
_NEUTRAL = {"+": "0", "-": "0", "*": "1"}


def _binary(sign: str) -> Callable[[Term, Number], Term]:
    return lambda left, right: _operation(left, sign, right)


def _reflected(sign: str) -> Callable[[Term, float], Term]:
    return lambda right, left: _operation(left, sign, right)


@dataclass(frozen=True, slots=True)
class Term:
    """A number and the formula that computes it."""

    value: float
    text: str
    precedence: int = _WHOLE
    parts: dict[str, Term] = field(default_factory=dict)  # the named terms in the formula
    unit: str = ""  # of the value; empty: bytes

    def named(self, name: str, unit: str = "") -> Term:
        """Return a term that other formulas show as a name, with this formula as one of their parts."""
        return Term(self.value, name, parts={name: self.of(unit), **self.parts}, unit=unit)

    def of(self, unit: str) -> Term:
        """Return the term in this unit."""
        return replace(self, unit=unit)

    def __str__(self) -> str:
        return self.text

    def __int__(self) -> int:
        return int(self.value)

    def __ceil__(self) -> int:
        return math.ceil(self.value)

    __add__, __sub__, __mul__, __truediv__, __floordiv__ = map(_binary, _OPERATIONS)
    __radd__, __rsub__, __rmul__, __rtruediv__, __rfloordiv__ = map(_reflected, _OPERATIONS)


Number: TypeAlias = Term | float


def term(number: Number) -> Term:
    """Return a number as a term, which shows a million bytes and more in MB."""
    if isinstance(number, Term):
        return number
    return Term(number, f"{number / 1e6:,.0f} MB" if number >= 1e6 else f"{number:g}")


def _operation(first: Number, sign: str, second: Number) -> Term:
    """Compute and write an operation. Zeros that are added and ones that are multiplied do not show."""
    left, right = term(first), term(second)
    if (sign == "*" and right.text == "0") or (sign in "*//" and left.text == "0"):
        return Term(0, "0")
    neutral = _NEUTRAL.get(sign)
    if right.text == neutral:
        return left
    if left.text == neutral and sign != "-":
        return right
    precedence, shown, compute = _OPERATIONS[sign]
    texts = (_within(left, precedence), _within(right, precedence + (sign in "-//")))
    value = compute(left.value, right.value)
    return Term(value, f" {shown} ".join(texts), precedence, {**left.parts, **right.parts})


def _within(operand: Term, precedence: int) -> str:
    return f"({operand.text})" if operand.precedence < precedence else operand.text


def _choice(choose: Callable[[Iterable[float]], float], *numbers: Number) -> Term:
    terms = {choice.text: choice for choice in map(term, numbers)}
    if len(terms) == 1:
        return term(numbers[0])
    parts = {name: part for choice in terms.values() for name, part in choice.parts.items()}
    value = choose(choice.value for choice in terms.values())
    return Term(value, f"{choose.__name__}({', '.join(terms)})", parts=parts)


least, most = partial(_choice, min), partial(_choice, max)


def distinct(kinds: Term, drawn: Number) -> Term:
    """Return how many of a number of kinds occur among random draws, as expected."""
    share = term(-1 * drawn / kinds)
    return kinds * (1 - Term(math.exp(share.value), f"exp({share.text})", parts=share.parts))


# Bytes a row
ROW = 4 + 4 + 8  # in a buffer or a run, without its weight: two ends and the locator
SOLVE = 16  # solving a buffer on the host
GPU_SOLVE = 36  # solving a buffer on a GPU: 32 as the allocations add up on random, star and path graphs
STREAM_SOLVE = 12  # the same on the host, except for the worst graphs
SORT = 30  # sorting a buffer: keys, records twice, places
SCAN = 30  # solving a slice, without the row's key: records, ends, leading bits, chosen places

# Bytes a vertex
VERTEX = 52  # a fold in a buffer: 47 for solving, 5 for the cycle filter; a GPU needs 31 for solving
STREAM_VERTEX = 12  # the same, except for the worst graphs
RUN_VERTEX = 5  # a fold in runs: the parent, and the level in the cycle filter
SET_ASIDE = 16  # of the same, if its ids go to disk: they are put in order and written
SETS = 5  # a fold into disjoint sets: the parent, two bits, and a quarter of all as the arrays grow
ORDERED = 4  # of a vertex in the order of the ids
_MEMORY_RUNS = 19  # at least, for runs in memory and their buffers
_LINKED = 100  # a certificate: the forest's rows, sorted and linked
_TEXT_BYTES = ID_BYTES + 2 * 8  # a text in a dictionary, before any is read

# Bytes that do not grow with the vertices
STREAM_BASE = 200_000_000  # a process that reads batches, as measured
FIXED = 256 << 20  # interpreter and libraries (about 115 MiB), the Parquet reader's buffers, and the batches
HASHING = 64 << 20  # texts of ids that are hashed, in the batches and in the reader
DICTIONARY = 3  # the same, for each byte of dictionaries of texts in a row group, which the reader decodes whole
GPU_FIXED = 96 << 20  # on the GPU: two batches with their ids, and the pieces of one that are filtered and moved
GPU_HASHING = 32 << 20  # on the GPU: a batch's slots, claims and new ids
RUN_FIXED = 32 << 20  # pieces of runs that are read and written

# Rows
SHARE = 16  # vertices for each row of a run fold's buffer, at most
ON_DISK = 8  # rows a vertex on disk before they are solved
_RUNS = 4  # runs in memory, next to the forest, before they are solved
_LEAST_RUN, MOST_RUN = 1 << 12, 1 << 30  # rows of a run
MOST = 4  # rows a vertex in the buffer of a stream
_LEAST = 2  # the same if memory is short
_SMALL = 1024  # least rows of that buffer
_BATCH = 1 << 18  # rows of a batch (6 MiB)
_SETS_BATCHES = 4  # batches in one for sets of dense ids, which are folded as fast as they are read
_ENCODED = 1 << 20  # rows encoded while others are folded
AHEAD = 1  # batches that are read while another is encoded

_UNKNOWN_MEMORY = 8 << 30  # bytes that are free if the system does not say it
_LEAST_LIMIT = 512 << 20  # of limits that are chosen by the memory that is free
_LONGER = 8  # later texts may be longer than the first ones: by 1 / 8 of their bytes
_UNITS = {"": 1, **{unit: 1000**power for power, unit in enumerate("kmgt", 1)}}
_UNITS |= {f"{unit}i": 1024**power for power, unit in enumerate("kmgt", 1)}
_LEAST_SIZE = 1024  # bytes: a smaller number has lost its unit

Store = Literal["buffer", "GPU", "memory", "disk"]  # a buffer on the host or on a GPU; runs in memory or on disk


def parse_memory(limit: int | str, name: str = "memory_limit", *, auto: bool = True) -> int:
    """Return a number of bytes: ``2147483648``, ``"2GiB"``, ``"1.5 GB"``.

    Parameters
    ----------
    limit
        A text with a unit, or ``"auto"``: a quarter of the memory that is free, and at least 512 MiB. A number without
        a unit counts bytes, at least 1,024.
    name
        The argument that errors name.
    auto
        Whether ``"auto"`` is known: it is if the limit is that of this process.

    Raises
    ------
    ValueError, TypeError
        `limit` is something else.

    Examples
    --------
    >>> parse_memory("2GiB"), parse_memory("700 MB")
    (2147483648, 700000000)
    """
    if isinstance(limit, str):
        if limit == "auto" and auto:
            return max((free_memory() or _UNKNOWN_MEMORY) // 4, _LEAST_LIMIT)
        match = re.fullmatch(r"\s*(\d+(?:\.\d+)?)\s*([kmgt]?i?)b?\s*", limit.lower())
        if match is None or match[2] not in _UNITS:
            raise ValueError(f"{name} is {limit!r}; write it as '2GiB', '700MB' or a number of bytes")
        size = int(float(match[1]) * _UNITS[match[2]])
    else:
        size = whole_number(name, limit)
    if size < _LEAST_SIZE:
        raise ValueError(f"{name} is {limit!r}; a number without a unit counts bytes: write '2GiB' or '700MB'")
    return size


def format_size(size: int, like: int | None = None) -> str:
    """Format a size in MiB, rounded up; in MB if it, or the size `like`, is a round number of megabytes.

    A limit below 1 MiB is in bytes: a user may have forgotten its unit.
    """
    if size < 1 << 20 and like in (None, size):
        return f"{size:,} bytes"
    like = size if like is None else like
    if like % 10**6 == 0 and like % (1 << 20):
        return f"{-(-size // 10**6):,} MB"
    return f"{-(-size // (1 << 20)):,} MiB"


def least_id_bytes(*, integers: bool) -> int:
    """Least bytes of an id in a dictionary, by its type."""
    return ID_BYTES if integers else _TEXT_BYTES


@dataclass(frozen=True, slots=True)
class RunBudget:
    """Budget of a fold in runs on disk, or `in_memory`: `size` bytes, for weights of `weight` bytes.

    In memory, the forest is a run, and a few runs are next to it. `sort` and `scan` are the bytes a row, without its
    weight, to sort a buffer and to solve a slice: more on a GPU.
    """

    size: Number
    weight: int
    in_memory: bool = False
    sort: int = SORT
    scan: int = ROW + SCAN

    @property
    def runs(self) -> int:
        """Runs in memory, next to the forest."""
        return _RUNS if self.in_memory else 0

    @property
    def vertex(self) -> int:
        """Least bytes a vertex."""
        return RUN_VERTEX + (self._row + _MEMORY_RUNS if self.in_memory else -(-self._scan // SHARE))

    @property
    def most_vertices(self) -> int:
        """Vertices that fit."""
        return max(0, int((self.size - RUN_FIXED) // self.vertex))

    def run_rows(self, vertices: int) -> int:
        """Rows of the buffer that is sorted and becomes a run."""
        return _between(self._fitting(vertices))

    def _fitting(self, vertices: Number) -> Number:
        return self._free(vertices) // ((self.runs + 1) * self._row + self.sort)

    def slice_rows(self, vertices: int) -> int:
        """Rows of the buffer in which slices are solved, next to all runs in memory."""
        in_runs = self.runs * self.run_rows(vertices) * self._row
        return _between((self._free(vertices) - in_runs) // self._scan)

    def most_rows(self, vertices: int, capacity: int) -> int:
        """Rows of all runs before they are solved; a run has `capacity` rows."""
        return vertices + self.runs * capacity if self.in_memory else ON_DISK * max(vertices, capacity)

    def used(self, vertices: Term, rows: Term) -> Term:
        """Bytes that folding this number of rows takes: in memory, all that there are."""
        if self.in_memory:
            return most(self.size, self.vertex * vertices)
        r = least(most(0, self._fitting(vertices)), Term(MOST_RUN, "2^30"), rows).named("r", "rows")
        return least(self.size, RUN_VERTEX * vertices + (self._row + self.sort) * r)

    def on_disk(self, vertices: Term, rows: Term) -> Term:
        """Most bytes of the runs on disk, the forest's rows included."""
        return self._row * least((ON_DISK + 1) * vertices, rows + vertices)

    @property
    def _row(self) -> int:
        return ROW + self.weight

    @property
    def _scan(self) -> int:
        return self.scan + 2 * self.weight

    def _free(self, vertices: Number) -> Number:
        return self.size - RUN_FIXED - (RUN_VERTEX + (self._row if self.in_memory else 0)) * vertices


def _between(rows: Number) -> int:
    return min(MOST_RUN, max(_LEAST_RUN, int(rows)))


@dataclass(frozen=True, slots=True)
class Budget:
    """Budget of a stream.

    `weight` and `id_bytes` are the bytes of a weight and, at most, of an id in the dictionary; 0 if ids are dense.
    A fold into disjoint `sets` keeps no rows, so that its store says only which device has the sets.
    """

    limit: Number
    weight: int = 8
    id_bytes: int = 0
    store: Store = "buffer"
    sets: bool = False
    dictionaries: int = 0  # bytes of dictionaries of texts in a row group

    @property
    def in_runs(self) -> bool:
        """Whether rows wait in runs."""
        return not self.sets and self.store in ("memory", "disk")

    def with_ids(self, size: int) -> Budget:
        """Return the budget for ids of `size` bytes; if these are more than before, for somewhat longer ones."""
        if size <= self.id_bytes:
            return self
        return replace(self, id_bytes=size if size <= _TEXT_BYTES else size + size // _LONGER)

    def runs(self, size: Number | None = None) -> RunBudget:
        """Return the budget of the fold in runs, or one of `size` bytes."""
        return RunBudget(self.fold_bytes if size is None else size, self.weight, in_memory=self.store != "disk")

    @property
    def _fixed(self) -> int:
        """Bytes that do not grow with the vertices."""
        if self.store == "GPU":
            return GPU_FIXED + (GPU_HASHING if self.id_bytes else 0)
        return self._reader + (HASHING if self.id_bytes else 0) + (RUN_FIXED if self.in_runs else 0)

    @property
    def _reader(self) -> int:
        return FIXED + DICTIONARY * self.dictionaries

    @property
    def _row(self) -> int:
        """Bytes a row of the buffer, solving included."""
        return ROW + self.weight + (GPU_SOLVE if self.store == "GPU" else SOLVE)

    @property
    def _vertex(self) -> int:
        """Least bytes a vertex, its id included."""
        if self.sets:
            return SETS + self.id_bytes + (SET_ASIDE if self.id_bytes and self.store == "disk" else 0)
        folding = self.runs(0).vertex if self.in_runs else _LEAST * self._row + VERTEX
        return folding + self.id_bytes

    @property
    def fold_bytes(self) -> Number:
        """Bytes for the fold: all but the ids of as many vertices as fit."""
        pieces = RUN_FIXED if self.in_runs else 0
        free = self.limit - (self._fixed - pieces)
        return free - self.id_bytes * ((free - pieces) // self._vertex)

    @property
    def batch_rows(self) -> int:
        """Rows to read at a time: fewer if their ids are texts that are hashed."""
        if self.sets and not self.id_bytes:
            return _SETS_BATCHES * _BATCH
        return max(1, _BATCH // 2) if self.id_bytes > ID_BYTES else _BATCH

    @property
    def encoded_batches(self) -> int:
        """Batches that are encoded while others are folded: solving takes longer than encoding several."""
        return max(1, _ENCODED // self.batch_rows)

    @property
    def most_vertices(self) -> int:
        """Vertices that fit."""
        return max(0, int((self.limit - self._fixed) // self._vertex))

    def needed(self, vertices: int) -> int:
        """Return a limit for a number of vertices, with some room."""
        return self.least(vertices) + (1 << 20)

    def least(self, vertices: int, more: int = 0) -> int:
        """Return the least limit for a number of vertices, with `more` bytes for each."""
        return self._fixed + vertices * (self._vertex + more)

    def cut_bytes(self, columns: int, *, in_memory: bool) -> int:
        """Return the bytes a vertex to cut a forest at some thresholds; `in_memory`: its rows are not on disk.

        They are its rows, sorted weights, the vertices in order, and their clusters.
        """
        return (ROW + 8 if in_memory else 0) + 8 + ORDERED * (columns + bool(self.id_bytes))

    def capacity(self, vertices: int | None, rows: int | None) -> int:
        """Rows of the buffer: as many as fit, at most four times the vertices or all rows (``None``: unknown)."""
        if vertices is not None and rows is not None:
            # A table of few rows has at most two vertices a row that matter, and a forest below its size.
            self.check(min(vertices, rows))
        wanted = [np.iinfo(np.uint32).max - 1]
        wanted += [] if vertices is None else [max(MOST * vertices, _SMALL)]
        wanted += [] if rows is None else [max(rows, 1)]
        vertices = self.most_vertices if vertices is None else vertices
        return max(1, int(self._buffer_rows(self.fold_bytes, vertices, *wanted)))

    def _buffer_rows(self, room: Number, vertices: Number, *wanted: Number) -> Term:
        return least(*wanted, (room - VERTEX * vertices) // self._row)

    def used(self, vertices: Term, rows: Term) -> Term:
        """Bytes that a process takes for any but the worst graphs, as measured."""
        if self.sets:
            return self.used_by_sets(vertices, ORDERED if self.id_bytes else 0)
        ids, u = self.id_bytes * vertices, most(0, self.fold_bytes).named("u")
        if self.in_runs:
            return STREAM_BASE + self.runs(u).used(vertices, rows) + ids
        b = self._buffer_rows(u, vertices, MOST * vertices, rows).named("b", "rows")
        return STREAM_BASE + ((ROW + self.weight + STREAM_SOLVE) * b + STREAM_VERTEX * vertices) + ids

    def used_by_sets(self, vertices: Term, more: int) -> Term:
        """Bytes that a process with disjoint sets takes, with `more` bytes for each vertex."""
        return STREAM_BASE + (self._vertex + more) * vertices

    def check(self, vertices: int) -> None:
        """Raise if a number of vertices does not fit."""
        if not vertices and int(self.limit) <= self._fixed:
            needed = format_size(self.needed(vertices), int(self.limit))
            hint = f"raise the limit: {needed}{self._reading} and {self._vertex} bytes for each vertex"
            raise CapacityError(f"a {self._limit} is below the least, {needed}", hint)
        if vertices > self.most_vertices:
            ids = f" ({self.id_bytes} bytes a vertex are for ids that are not numbered from 0)" if self.id_bytes else ""
            hint = ids + ("" if self.store == "disk" or self.sets else ", or let rows go to disk: spill_dir=")
            fits = f": {self.most_vertices:,} do"
            raise self._too_small(f"{vertices:,} vertices do not fit", self.needed(vertices), fits, hint)

    def check_linked(self, vertices: int) -> None:
        """Raise if the linked forest of a certificate does not fit."""
        self._check(self._reader + _LINKED * vertices, f"the linked forest of {vertices:,} vertices does not fit")

    def check_cut(self, vertices: int, columns: int, *, in_memory: bool) -> None:
        """Raise if a forest cannot be cut at this number of thresholds."""
        needed = self.least(vertices, self.cut_bytes(columns, in_memory=in_memory))
        self._check(needed, f"{columns} columns of clusters of {vertices:,} vertices do not fit")

    def _check(self, needed: int, fault: str) -> None:
        if needed > int(self.limit):
            raise self._too_small(fault, needed)

    @property
    def _limit(self) -> str:
        return f"{'GPU ' if self.store == 'GPU' else ''}memory limit of {format_size(int(self.limit))}"

    @property
    def _reading(self) -> str:
        size = format_size(DICTIONARY * self.dictionaries, int(self.limit))
        return f", {size} of them to read the dictionaries of a row group," if self.dictionaries else ""

    def _too_small(self, fault: str, needed: int, fits: str = "", hint: str = "") -> CapacityError:
        hint = f"raise the limit to {format_size(needed, int(self.limit))} or more{self._reading}{hint}"
        return CapacityError(f"{fault} a {self._limit}{fits}", hint, option=("spill_dir=", "--spill-dir"))


def gpu_budget(limit: int, engine: Engine, *, sets: bool = False) -> Budget:
    """Return the budget of a stream that folds on a GPU; CUDA's own context, about 0.5 GB, is not counted."""
    total = int(engine.xp.cuda.runtime.memGetInfo()[1])
    if limit > total:
        message = f"a GPU memory limit of {format_size(limit)} is more than the GPU has, {format_size(total, limit)}"
        hint = "lower the limit, and leave some for CUDA itself; or use engine='cpu'"
        raise CapacityError(message, hint, option=("engine='cpu'", "--engine cpu"))
    return Budget(limit, store="GPU", sets=sets)
