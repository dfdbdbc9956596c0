"""The formulas of a plan for one process that streams its rows: in memory, or on disk.

Constants that are not those of the folds themselves (:mod:`dfmst._fold.budget`, :mod:`dfmst._fold.budget`) were
measured: bench/results/cpu/stream.json, cluster.json.
"""

from __future__ import annotations

from dfmst._drive.plan.work import Plan, Work
from dfmst._fold.budget import ROW, RUN_VERTEX, SOLVE, SORT, VERTEX, MemoryRunBudget, RunBudget

_BASE = 200_000_000  # bytes of a process that reads batches
_RESERVED = 256 << 20  # of the limit, for that (dfmst._fold.budget)
_HASHING = 64 << 20  # more of it where ids are hashed
_ROW = ROW + 8  # bytes a row of the buffer
_SOLVE = 12  # bytes a row that solving takes on graphs that are not the dearest
_MOST = 4  # rows of the buffer, a vertex
_ON_DISK = 9  # rows on disk, a vertex


def _left(work: Work) -> int:
    """Bytes of the limit for the fold and the dictionary."""
    return max(0, work.memory - _RESERVED - (_HASHING if work.dictionary else 0))


def _named(work: Work) -> tuple[int, str]:
    """Bytes of the dictionary, and their formula."""
    return work.dictionary * work.vertices, f" + {work.dictionary} · n" if work.dictionary else ""


def _room(work: Work, kind: type[RunBudget]) -> tuple[RunBudget, float]:
    """What a fold in runs may hold beside the dictionary, and its share of what is left of the limit."""
    left, least = _left(work), kind(0, 8)
    vertices = max(0, left - least.least(0)) // (least.vertex + work.dictionary)
    room = kind(left - work.dictionary * vertices, 8)
    return room, room.size / max(1, left)


def _stream(work: Work) -> Plan:
    least = 2 * (_ROW + SOLVE) + VERTEX
    share = work.dictionary / (work.dictionary + least)
    fold = int(_left(work) * (1 - share))
    needed = min(2 * work.vertices, work.edges)
    room = (fold - VERTEX * work.vertices) // (_ROW + SOLVE)
    if needed > room:
        return _compact(work)
    rows = min(_MOST * work.vertices, work.edges, room)
    named, dictionary = _named(work)
    peak = _BASE + (_ROW + _SOLVE) * rows + VERTEX * work.vertices + named
    formulas = {
        "bytes_moved": "0",
        "peak_memory": f"{_BASE // 1_000_000} MB + {_ROW + _SOLVE} · b + {VERTEX} · n{dictionary}, "
        f"b = min({_MOST} · n, m, ({1 - share:.2g} · (M - {work.memory - _left(work):,}) - {VERTEX} · n) / "
        f"{_ROW + SOLVE})",
    }
    return work.plan("stream", 0, peak, formulas, fits=named <= share * _left(work))


def _compact(work: Work) -> Plan:
    """A stream that holds its rows as runs."""
    room, share = _room(work, MemoryRunBudget)
    named, dictionary = _named(work)
    held = max(room.size, room.vertex * work.vertices)
    formulas = {
        "bytes_moved": "0",
        "peak_memory": f"{_BASE // 1_000_000} MB + max({share:.2g} · (M - {work.memory - _left(work):,}), "
        f"{room.vertex} · n){dictionary}",
    }
    return work.plan("stream", 0, _BASE + held + named, formulas, fits=work.vertices <= room.most_vertices)


def _spill(work: Work) -> Plan:
    room, share = _room(work, RunBudget)
    named, dictionary = _named(work)
    held = RUN_VERTEX * work.vertices + (_ROW + SORT) * min(room.run_rows(work.vertices), work.edges)
    peak = _BASE + min(held, room.size) + named
    formulas = {
        "bytes_moved": "0",
        "bytes_on_disk": f"min({_ON_DISK} · n, m + n) · {_ROW}",
        "peak_memory": f"{_BASE // 1_000_000} MB + min({RUN_VERTEX} · n + {_ROW + SORT} · m, "
        f"{share:.2g} · (M - {work.memory - _left(work):,})){dictionary}",
    }
    on_disk = min(_ON_DISK * work.vertices, work.edges + work.vertices) * _ROW
    return work.plan("spill", 0, peak, formulas, on_disk=on_disk, fits=work.vertices <= room.most_vertices)


STREAM_PLANS = {"stream": _stream, "spill": _spill}
