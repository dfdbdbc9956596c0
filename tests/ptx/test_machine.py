"""The interpreter of PTX itself: single instructions, faults, warps that split and meet."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from tests.support.gpu.ptx.machine import Launch, Program, run
from tests.support.gpu.ptx.memory import Fault, Memory
from tests.support.gpu.ptx.program import parse

HEAD = """
.visible .entry kernel(
    .param .u64 kernel_param_0,
    .param .u64 .ptr .align 1 kernel_param_1
)
{
    .reg .pred %p<9>;
    .reg .b16 %rs<9>;
    .reg .b32 %r<19>;
    .reg .f32 %f<9>;
    .reg .b64 %rd<19>;
    .local .align 16 .b8 __local_depot0[16];
    ld.param.u64 %rd1, [kernel_param_0];
    ld.param.u64 %rd2, [kernel_param_1];
    cvta.to.global.u64 %rd3, %rd2;
    mov.u32 %r1, %tid.x;
    mul.wide.u32 %rd4, %r1, 8;
    add.s64 %rd5, %rd3, %rd4;
"""
M32, M64 = (1 << 32) - 1, (1 << 64) - 1


def execute(body, column, threads, block=32, number=0, seed=None):
    """Run a body for some threads; %rd5 is each thread's word of the column."""
    program = Program(parse(f"{HEAD}{body}\n    ret;\n}}\n")["kernel"])
    address = int(column.__array_interface__["data"][0])
    launch = Launch(program, (-(-threads // block), block), [number, address], Memory([column]))
    run(launch, None if seed is None else np.random.default_rng(seed))


def signed(value, bits):
    return value - (1 << bits) if value >> bits - 1 else value


COMPUTED: dict[str, Callable[[int, int], int]] = {
    "add.s64 %rd7, %rd6, %rd1": lambda a, b: a + b,
    "sub.s64 %rd7, %rd6, %rd1": lambda a, b: a - b,
    "mul.lo.s64 %rd7, %rd6, %rd1": lambda a, b: a * b,
    "mul.hi.u64 %rd7, %rd6, %rd1": lambda a, b: a * b >> 64,
    "mad.lo.s64 %rd7, %rd6, %rd1, %rd6": lambda a, b: a * b + a,
    "max.u64 %rd7, %rd6, %rd1": max,
    "min.s64 %rd7, %rd6, %rd1": lambda a, b: min(signed(a, 64), signed(b, 64)),
    "not.b64 %rd7, %rd6": lambda a, b: ~a,
    "neg.s64 %rd7, %rd6": lambda a, b: -a,
    "xor.b64 %rd7, %rd6, %rd1": lambda a, b: a ^ b,
    "rem.u64 %rd7, %rd6, 1000": lambda a, b: a % 1000,
    "div.u64 %rd7, %rd6, 1000": lambda a, b: a // 1000,
    "shl.b64 %rd7, %rd6, 63": lambda a, b: a << 63,
    "shl.b64 %rd7, %rd6, 64": lambda a, b: 0,
    "shr.u64 %rd7, %rd6, 3": lambda a, b: a >> 3,
    "shr.u64 %rd7, %rd6, 70": lambda a, b: 0,
    "shr.s64 %rd7, %rd6, 70": lambda a, b: signed(a, 64) >> 63,
    "bfi.b64 %rd7, %rd6, %rd1, 8, 16": lambda a, b: b & ~(0xFFFF << 8) | (a & 0xFFFF) << 8,
    "popc.b64 %r2, %rd6; cvt.u64.u32 %rd7, %r2": lambda a, b: a.bit_count(),
    "clz.b64 %r2, %rd6; cvt.u64.u32 %rd7, %r2": lambda a, b: 64 - a.bit_length(),
    "cvt.u32.u64 %r3, %rd6; brev.b32 %r2, %r3; cvt.u64.u32 %rd7, %r2": lambda a, b: int(f"{a & M32:032b}"[::-1], 2),
    "cvt.u32.u64 %r3, %rd6; bfind.u32 %r2, %r3; cvt.u64.u32 %rd7, %r2": lambda a, b: ((a & M32).bit_length() - 1) & M32,
    "cvt.u32.u64 %r3, %rd6; bfind.shiftamt.u32 %r2, %r3; cvt.u64.u32 %rd7, %r2": (
        lambda a, b: (32 - (a & M32).bit_length()) if a & M32 else M32
    ),
    "cvt.u32.u64 %r2, %rd6; cvt.s64.s32 %rd7, %r2": lambda a, b: signed(a & M32, 32),
    "setp.lt.s64 %p1, %rd6, %rd1; selp.b64 %rd7, 5, 6, %p1": lambda a, b: 5 if signed(a, 64) < signed(b, 64) else 6,
    "mov.b64 {_, %r2}, %rd6; mov.b32 %r3, 7; mov.b64 %rd7, {%r2, %r3}": lambda a, b: a >> 32 | 7 << 32,
    "setp.ge.u64 %p1, %rd6, %rd1; mov.u64 %rd7, 1; @!%p1 mov.u64 %rd7, 2": lambda a, b: 1 if a >= b else 2,
    "mov.u64 %rd8, __local_depot0; st.local.u64 [%rd8+8], %rd6; ld.local.u64 %rd7, [%rd8+8]": lambda a, b: a,
}


@pytest.mark.parametrize("body", COMPUTED)
def test_instructions(body):
    rng = np.random.default_rng(0)
    edges = [0, 1, 2, 31, 32, 63, 1 << 31, M32, 1 << 32, 1 << 63, (1 << 63) - 1, M64]
    column = np.array([*edges, *rng.integers(0, M64, 20, np.uint64, endpoint=True)], np.uint64)
    for number in (3, 1 << 63, M64):
        words = column.copy()
        execute(f"ld.global.u64 %rd6, [%rd5]; {body}; st.global.u64 [%rd5], %rd7;", words, 32, number=number)
        expected = [COMPUTED[body](int(value), number) & M64 for value in column]
        assert words.tolist() == expected


DENORMALS = [0x00000001, 0x80000001, 0x007FFFFF]


@pytest.mark.parametrize("flush", [True, False])
@pytest.mark.parametrize(
    ("body", "kept", "flushed"),
    [
        ("add{0}.f32 %f2, %f1, 0f00000000; mov.b32 %r3, %f2", DENORMALS, [0, 0, 0]),
        ("min{0}.f32 %f2, %f1, 0f3F800000; mov.b32 %r3, %f2", DENORMALS, [0, 0x80000000, 0]),
        ("neg{0}.f32 %f2, %f1; mov.b32 %r3, %f2", [bits ^ 1 << 31 for bits in DENORMALS], [0x80000000, 0, 0x80000000]),
        ("setp.eq{0}.f32 %p1, %f1, 0f00000000; selp.b32 %r3, 1, 0, %p1", [0, 0, 0], [1, 1, 1]),
        ("setp.lt{0}.f32 %p1, %f1, 0f00000000; selp.b32 %r3, 1, 0, %p1", [0, 1, 0], [0, 0, 0]),
        ("mov.f32 %f2, %f1; mov.b32 %r3, %f2", DENORMALS, DENORMALS),
    ],
)
def test_denormal_floats_are_zeros_in_instructions_that_flush(body, kept, flushed, flush):
    """CuPy compiles with ``-ftz=true``: sums, comparisons and minima flush as products do, and moves do not."""
    body, column = body.format(".ftz" if flush else ""), np.array(DENORMALS, np.uint64)
    load = "ld.global.u64 %rd6, [%rd5]; cvt.u32.u64 %r2, %rd6; mov.b32 %f1, %r2;"
    execute(f"{load} {body}; cvt.u64.u32 %rd7, %r3; st.global.u64 [%rd5], %rd7;", column, 3, block=3)
    assert column.tolist() == (flushed if flush else kept)


# ---- faults -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ("ld.global.u64 %rd6, [%rd5+8];", "1 accesses outside every array"),
        ("ld.global.u64 %rd6, [%rd5+-8];", "1 accesses outside every array"),
        ("ld.global.u64 %rd6, [%rd5+4];", "not aligned"),
        ("mov.u64 %rd6, 0; st.global.u32 [%rd6], %r1;", "32 accesses outside"),
        ("mov.u64 %rd8, __local_depot0; ld.local.u64 %rd7, [%rd8+16];", "outside of a thread's stack"),
        ("setp.eq.u32 %p1, %r1, 3; vote.sync.ballot.b32 %r2, %p1, 6;", "not in its own mask"),
        ("setp.eq.u32 %p1, %r1, 3; @%p1 ret; vote.sync.ballot.b32 %r2, %p1, -1;", "wait for each other forever"),
    ],
)
def test_faults(body, message):
    with pytest.raises(Fault, match=message):
        execute(body, np.zeros(32, np.uint64), 32)


def test_an_instruction_that_is_not_known():
    with pytest.raises(NotImplementedError, match=r"prmt\.b32"):
        execute("prmt.b32 %r2, %r1, %r1, %r1;", np.zeros(32, np.uint64), 32)


# ---- threads side by side -----------------------------------------------------------------------------------------

COUNT_ONCE_A_WARP = """
    activemask.b32 %r2;
    mov.u32 %r9, %laneid;
    brev.b32 %r3, %r2;
    bfind.shiftamt.u32 %r4, %r3;
    popc.b32 %r5, %r2;
    setp.ne.u32 %p1, %r9, %r4;
    mov.b32 %r6, 0;
    @%p1 bra $L1;
    atom.global.add.u32 %r6, [%rd3], %r5;
$L1:
    shfl.sync.idx.b32 %r7|%p2, %r6, %r4, 31, %r2;
"""


@pytest.mark.parametrize("seed", [None, 1, 2, 3])
def test_a_warp_counts_its_threads_by_one_atomic(seed):
    column = np.zeros(100, np.uint64)
    execute(COUNT_ONCE_A_WARP, column, 96, seed=seed)
    assert column[0] == 96


@pytest.mark.parametrize("seed", [None, 4])
@pytest.mark.parametrize("operation", ["add", "min", "max", "or", "exch", "cas"])
def test_atomics_are_one_after_the_other(operation, seed):
    """Each thread writes what it found: sorted, that is the story of the word."""
    column = np.zeros(65, np.uint64)
    column[64] = 1000
    kind = "b" if operation in ("or", "exch", "cas") else "u"
    expected = "1000, " if operation == "cas" else ""
    change = f"atom.global.{operation}.{kind}64 %rd7, [%rd3+512], {expected}%rd6;"
    body = f"cvt.u64.u32 %rd9, %r1; add.s64 %rd6, %rd9, 1; {change} st.global.u64 [%rd5], %rd7;"
    execute(body, column, 64, block=64, seed=seed)
    found = sorted(column[:64].tolist())
    if operation == "add":
        assert column[64] == 1000 + sum(range(65))
        assert len(set(found)) == 64
    elif operation == "cas":
        assert found.count(1000) == 1
        assert set(found) == {1000, int(column[64])}
    elif operation == "exch":
        assert sorted([*found, int(column[64])]) == [*range(1, 65), 1000]
    else:
        assert column[64] == {"min": 1, "max": 1000, "or": 1000 | 127}[operation]
        assert max(found) <= 1023


@pytest.mark.parametrize("seed", [None, 5])
def test_threads_go_round_as_often_as_each_needs(seed):
    column = np.zeros(64, np.uint64)
    body = """
    cvt.u64.u32 %rd6, %r1;
    mov.u64 %rd7, 0;
$L1:
    setp.ge.u64 %p1, %rd7, %rd6;
    @%p1 bra $L2;
    add.s64 %rd7, %rd7, 1;
    bra.uni $L1;
$L2:
    st.global.u64 [%rd5], %rd7;"""
    execute(body, column, 64, block=64, seed=seed)
    assert column.tolist() == list(range(64))
