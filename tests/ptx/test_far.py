"""Rows near and beyond 2^31 and 2^32 on PTX: few threads of a grid of that size, in memory that is only reserved."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from dfmst._engines.cuda import OPTIONS
from dfmst._engines.kernels import kernels, translation_units
from dfmst.algorithms.filter_boruvka import threads_for
from tests.support.columns import reserved
from tests.support.gpu.ptx import machine
from tests.support.gpu.ptx.faults import is_found, sown
from tests.support.gpu.ptx.machine import Launch, run
from tests.support.gpu.ptx.memory import Memory
from tests.support.gpu.ptx.modules import Card, programs, ptx_of

pytestmark = pytest.mark.slow

BLOCK = 64
#: What is wrong in portable.cuh -> the text that is right, and the text in its place.
FAULTS = {
    "one index too many": ("{i} < {count}; {i} += {threads}", "{i} <= {count}; {i} += {threads}"),
    "a 32-bit index": ("for (u64 {i} = (u64)blockIdx.x * blockDim.x", "for (u32 {i} = blockIdx.x * blockDim.x"),
    "a first index of 32 bits": ("{i} = (u64)blockIdx.x * blockDim.x", "{i} = blockIdx.x * blockDim.x"),
    "a signed stride": (
        "const u64 {threads} = (u64)gridDim.x * blockDim.x",
        "const i32 {threads} = gridDim.x * blockDim.x",
    ),
}
#: Names in a flat kernel, and in a step of a team.
NAMES = {
    "codes": {"i": "index_", "count": "count", "threads": "threads_"},
    "copied": {"i": "i", "count": "length", "threads": "threads"},
}
STEP = """
STEPS_OF(K, copied, (u32* met, const u32* a, u32* b, u64 length)) {
  const Team team = TEAM;
  team.each(length, [=](u64 i) { b[i] = a[i] + 1; });
}
"""


def launch(card: Card, text: str, variant: str, first: int, blocks: int, *values: Any) -> None:
    """Run a block of a grid of `blocks`, from thread `first * BLOCK` on."""
    program = programs(ptx_of(text, OPTIONS, card))[variant]
    numbers = [int(each.__array_interface__["data"][0]) if isinstance(each, np.ndarray) else each for each in values]
    memory = Memory(each for each in values if isinstance(each, np.ndarray))
    run(Launch(program, (1, BLOCK), numbers, memory, span=(first, blocks)))


def codes(card: Card) -> bool:
    """Whether a flat kernel finds its columns beyond 2^32, as first index of a thread and by strides of 2^31."""
    count, text = (1 << 32) + 1000, translation_units()[kernels()["pair_codes"].file]
    source, target, code = reserved(count, np.uint32), reserved(count, np.uint32), reserved(count, np.uint64)
    places = [(1 << 32) + 5, (1 << 31) + 5, 5, (1 << 32) - 1, (1 << 32) + 999]
    source[places], target[places] = 3, [7, 8, 9, 10, 11]
    columns = (count, source, target, 1 << 40, code)
    for first, blocks in (
        ((1 << 32) // BLOCK - 1, (count >> 6) + 1),
        ((1 << 32) // BLOCK + 15, (count >> 6) + 1),
        (0, (1 << 31) // BLOCK),
    ):
        launch(card, text, "pair_codes", first, blocks, *columns)
    return code[places].tolist() == [(3 << 40) + low for low in (7, 8, 9, 10, 11)]


def copied(card: Card) -> bool:
    """The same of a step of a kernel in steps: a barrier that only waits for this block's last thread lets it go on."""
    unit = next(unit for unit in translation_units().values() if unit.startswith("#define TYPE u32\n"))
    text = unit.partition("typedef TYPE V, W, K;")[0] + "typedef TYPE K;\n" + STEP
    count = (1 << 32) + 1000
    a, b = reserved(count, np.uint32), reserved(count, np.uint32)
    places = [(1 << 32) + 5, (1 << 31) + BLOCK + 5, BLOCK + 5, (1 << 32) + BLOCK + 5]
    a[places] = [7, 8, 9, 10]
    last = count // BLOCK
    for first, blocks in (((1 << 32) // BLOCK, last + 1), (1, (1 << 31) // BLOCK), (last, last + 1)):
        met = np.full(1, 0x7FFFFFFF, np.uint32)
        launch(card, text, "copied_u32", first, blocks, count, met, a, b, count)
    return b[places].tolist() == [8, 9, 10, 11]


def taken(card: Card) -> bool:
    """Whether take_edges lists edges in rows beyond 2^31 whose ids have two words."""
    edges = (1 << 32) - 2
    count, text = threads_for(edges, "TAKEN_EACH"), translation_units()["filter_boruvka_f32"]
    weight = reserved(edges, np.float32)
    source, target = reserved(2 * edges, np.uint32), reserved(2 * edges, np.uint32)
    begin = count - BLOCK
    rows = [8 * begin + row for row in (3, 9 + 3 * 32, 1 + 4 * 32, 256 + 18 + 7 * 32)]
    weight[rows], source[[2 * row for row in rows]], target[[2 * row for row in rows]] = 5, [1, 2, 3, 4], [5, 6, 7, 0]
    best, records, length = np.full(8, 2**64 - 1, np.uint64), np.zeros(64, np.uint64), np.zeros(1, np.uint32)
    threshold = (0x80000000, 2**64 - 1)  # the key of 0.0, and no row of it
    ends = (source, target, 2, weight, 0, edges)
    above, low, shift, parent, giant = 1, 0, 0, 0, 0
    columns = (*ends, *threshold, above, low, shift, parent, giant, best, records, len(records) // 2, length)
    launch(card, text, "take_edges_f32", begin // BLOCK, count // BLOCK, count, *columns)
    pairs, words = records.reshape(-1, 2)[: int(length[0])].T
    found = {
        int(word) & 0xFFFFFFFF: (int(pair) >> 32, int(pair) & 0xFFFFFFFF)
        for pair, word in zip(pairs, words, strict=True)
    }
    return found == dict(zip(rows, [(1, 5), (2, 6), (3, 7), (4, 0)], strict=True))


FAR = (1 << 31) + 5  # a row whose id of two words is beyond 2^32 words


def far_ends() -> tuple[np.ndarray, np.ndarray]:
    """Ids of two words, 0 but for one row; its place, cut to 32 bits, has the other end's id."""
    source, target = (reserved(2 * FAR + 2000, np.uint32) for _ in range(2))
    source[2 * FAR], target[2 * FAR], target[2 * FAR + 1] = 3, 4, 1
    source[10], target[10] = 4, 3
    return source, target


def surveyed(card: Card) -> bool:
    """Whether survey_edges notes the largest id."""
    source, target = far_ends()
    edges, notes, text = FAR + 1000, np.zeros(4, np.uint64), translation_units()["columns_f32"]
    columns = (edges, source, target, 2, reserved(edges, np.float32), edges, 1, notes)
    launch(card, text, "survey_edges_f32", FAR // BLOCK, edges // BLOCK + 1, *columns)
    return int(notes[0]) == (1 << 32) + 4


def counted(card: Card) -> bool:
    """Whether count_survivors reads both ends."""
    edges, text, found = FAR + 1000, translation_units()["filter_boruvka_f32"], np.zeros(1, np.uint32)
    columns = (*far_ends(), 2, reserved(edges, np.float32), 0, edges, 0, 0, np.arange(8, dtype=np.uint32), 1, found)
    launch(card, text, "count_survivors_f32", FAR // BLOCK, edges // BLOCK + 1, edges, *columns)
    return int(found[0]) == 1


def beside(card: Card) -> bool:
    """Whether flag_beside flags the vertices that share a row's parent."""
    parent, flags = np.array([0, 0, 2, 3, 4, 3], np.uint32), np.zeros(1, np.uint64)
    launch(card, translation_units()["flags"], "flag_beside", 0, 1, 1, parent, 6, far_ends()[0], 2, FAR, flags)
    return int(flags[0]) == 0b101000


CHECKS = {each.__name__: each for each in (codes, copied, taken, surveyed, counted, beside)}
SOWN = [(name, *(text.format(**NAMES[name]) for text in texts)) for name in NAMES for texts in FAULTS.values()] + [
    ("taken", "const u64 at = (first + j * TILE) * stride;", "const u32 at = (u32)((first + j * TILE) * stride);"),
    ("surveyed", "const u64 at = row * stride;", "const u32 at = (u32)(row * stride);"),
    ("counted", "parent[source[row * stride]] != ", "parent[source[(u32)(row * stride)]] != "),
    ("counted", "!= parent[target[row * stride]]", "!= parent[target[(u32)(row * stride)]]"),
    ("beside", "value = parent[source[row * stride]]", "value = parent[source[(u32)(row * stride)]]"),
    ("taken", "const u64 row = first + j * TILE;", "const u32 row = (u32)((int)(first + j * TILE) >> 1 << 1);"),
]


@pytest.mark.parametrize("name", CHECKS)
def test_rows_beyond_32_bits_are_reached(name):
    assert CHECKS[name](Card())


@pytest.mark.parametrize(("name", "right", "wrong"), SOWN)
def test_a_fault_is_found(name, right, wrong, monkeypatch):
    monkeypatch.setattr(machine, "_MOST_STEPS", 3000)  # a thread whose index starts over goes round forever
    assert is_found(CHECKS[name], sown(right, wrong), [None])
