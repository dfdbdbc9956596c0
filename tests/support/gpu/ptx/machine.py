"""Launches: which threads go on, and from where."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from tests.support.gpu.ptx.decode import Step, decode
from tests.support.gpu.ptx.memory import Fault, Memory
from tests.support.gpu.ptx.program import Function, Instruction
from tests.support.gpu.ptx.values import BOOL, TYPES, Reader, reader

_LANES = 32
_MOST_STEPS = 4_000_000  # a launch that takes more goes round forever
_SOME = 0.3  # how often only a part of the threads at a place goes on
_SLOW = 0.1  # how often slow warps go on with the others
_MOST_IDLE = 2000  # pauses without a change of the memory between them, of threads that wait for a change


class Observer(Protocol):
    """Counts what a launch does."""

    def ran(self, launch: Launch, threads: np.ndarray, instructions: int) -> None:
        """Some threads ran so many instructions side by side."""

    def accessed(self, launch: Launch, kind: str, threads: np.ndarray, addresses: np.ndarray, size: int) -> None:
        """Each of some threads loaded, stored or changed so many bytes of global memory."""


@dataclass(frozen=True, slots=True)
class _Decoded:
    instruction: Instruction
    step: Step | None
    guard: Reader | None
    target: int  # of a branch


class Program:
    """A function, decoded."""

    def __init__(self, function: Function) -> None:
        self.function = function
        self.end = len(function.code)
        self.starts = np.array(function.block_starts())
        self.code = [self._decoded(instruction) for instruction in function.code]
        self.meets = any(instruction.opcode[0] == "bar" for instruction in function.code)

    def _decoded(self, instruction: Instruction) -> _Decoded:
        guard = reader(instruction.guard, BOOL) if instruction.guard else None
        if not instruction.ends_block:
            return _Decoded(instruction, decode(instruction), guard, 0)
        jumps = instruction.opcode[0] == "bra"
        return _Decoded(instruction, None, guard, self.function.labels[instruction.operands[0]] if jumps else self.end)

    def block_end(self, place: int) -> int:
        """Where the block that begins at a place ends."""
        after = int(np.searchsorted(self.starts, place, "right"))
        return int(self.starts[after]) if after < len(self.starts) else self.end


class Launch:
    """A grid of threads: their registers, their stacks, and the memory that they share."""

    def __init__(
        self,
        program: Program,
        shape: tuple[int, int],
        values: Sequence[int | bytes],
        memory: Memory,
        observer: Observer | None = None,
        span: tuple[int, int] | None = None,
    ) -> None:
        """Begin a grid, or the blocks from `span[0]` on of one of `span[1]` blocks."""
        self.program, self.memory, self.observer = program, memory, observer
        blocks, block = shape
        thread = np.arange(blocks * block, dtype=np.uint32)
        self.threads = len(thread)
        self.block = thread // np.uint32(block)
        self.lane = thread % np.uint32(block) % np.uint32(_LANES)
        self.warp = thread // np.uint32(block) * np.uint32(-(-block // _LANES)) + thread % np.uint32(
            block
        ) // np.uint32(_LANES)
        self.warps = int(self.warp[-1]) + 1
        first, of = span or (0, blocks)
        function = program.function
        self.parameters = {
            name: value if isinstance(value, bytes) else TYPES[kind].type(value).tobytes()
            for (name, kind), value in zip(function.parameters, values, strict=True)
        }
        self._shared = np.zeros((blocks, function.shared), np.uint8)
        self.idle = 0  # pauses since the last change of the memory
        self.slow = np.zeros(self.threads, bool)
        self._stack = np.zeros((self.threads, function.stack), np.uint8)
        self._registers: dict[str, np.ndarray] = {
            "%tid.x": thread % np.uint32(block),
            "%ctaid.x": self.block + np.uint32(first),
            "%laneid": self.lane,
            "%ntid.x": np.full(self.threads, block, np.uint32),
            "%nctaid.x": np.full(self.threads, of, np.uint32),
        }

    def register(self, name: str) -> np.ndarray:
        """A register of all threads."""
        values = self._registers.get(name)
        if values is None:
            kinds = self.program.function.registers
            kind = kinds.get(name) or kinds[name.rstrip("0123456789")]
            values = self._registers[name] = np.zeros(self.threads, TYPES[kind])
        return values

    def ballot(self, threads: np.ndarray, votes: np.ndarray) -> np.ndarray:
        """For each thread, a word that tells which lanes of its warp vote."""
        words = np.zeros(self.warps, np.uint32)
        np.bitwise_or.at(words, self.warp[threads], votes.astype(np.uint32) << self.lane[threads])
        return words[self.warp[threads]]

    def stack_load(self, threads: np.ndarray, at: np.ndarray, dtype: np.dtype[Any]) -> np.ndarray:
        """Values in the stacks of threads."""
        octets = self._stack_place(at, dtype)[:, None] + np.arange(dtype.itemsize)
        return np.ascontiguousarray(self._stack[threads[:, None], octets]).view(dtype)[:, 0]

    def stack_store(self, threads: np.ndarray, at: np.ndarray, values: np.ndarray) -> None:
        """Write to the stacks of threads."""
        octets = self._stack_place(at, values.dtype)[:, None] + np.arange(values.dtype.itemsize)
        self._stack[threads[:, None], octets] = np.ascontiguousarray(values).view(np.uint8).reshape(len(threads), -1)

    def shared_load(self, threads: np.ndarray, at: np.ndarray, dtype: np.dtype[Any]) -> np.ndarray:
        """Values in the shared memory of blocks."""
        octets = self._shared[self.block[threads][:, None], at[:, None] + np.arange(dtype.itemsize)]
        return np.ascontiguousarray(octets).view(dtype)[:, 0]

    def shared_store(self, threads: np.ndarray, at: np.ndarray, values: np.ndarray) -> None:
        """Write to the shared memory of blocks."""
        octets = np.ascontiguousarray(values).view(np.uint8).reshape(len(threads), -1)
        self._shared[self.block[threads][:, None], at[:, None] + np.arange(values.dtype.itemsize)] = octets

    def _stack_place(self, at: np.ndarray, dtype: np.dtype[Any]) -> np.ndarray:
        if (at + np.uint64(dtype.itemsize) > self._stack.shape[1]).any():
            raise Fault("an access outside of a thread's stack")
        return at.astype(np.int64)

    def accessed(self, kind: str, threads: np.ndarray, addresses: np.ndarray, size: int, local: bool) -> None:
        """Tell the observer of an access to global memory."""
        if kind != "load":
            self.idle = 0
        if self.observer is not None and not local:
            self.observer.accessed(self, kind, threads, addresses, size)


def run(launch: Launch, rng: np.random.Generator | None = None) -> None:
    """Run all threads to their end, in a random order or (``None``) those that are furthest behind first.

    Raises
    ------
    Fault
        See :mod:`tests.support.gpu.ptx`.
    """
    program = launch.program
    place = np.zeros(launch.threads, np.int64)
    if rng is not None and program.meets:
        share = rng.choice([0, 0.5, 1], launch.block[-1] + 1)  # of slow warps: none, some or all of a block's
        launch.slow = rng.random(launch.warps)[launch.warp] < share[launch.block]
    with np.errstate(all="ignore"):
        for _ in range(_MOST_STEPS):
            chosen = _choose(launch, place, rng)
            if chosen is None:
                return
            _run_block(launch, program, place, *chosen)
    raise Fault("threads go round forever")


def _run_block(launch: Launch, program: Program, place: np.ndarray, begin: int, threads: np.ndarray) -> None:
    """Run some threads from the beginning of a block to its end."""
    end = program.block_end(begin)
    if launch.observer is not None:
        launch.observer.ran(launch, threads, end - begin)
    for at in range(begin, end):
        decoded = program.code[at]
        held = None
        if decoded.guard is not None:
            held = np.broadcast_to(decoded.guard(launch, threads), len(threads)) ^ decoded.instruction.negated
        if decoded.step is None:
            place[threads] = decoded.target if held is None else np.where(held, decoded.target, at + 1)
            return
        part = threads if held is None else threads[held]
        if len(part):
            decoded.step(launch, part)
    place[threads] = end


def _choose(launch: Launch, place: np.ndarray, rng: np.random.Generator | None) -> tuple[int, np.ndarray] | None:
    """A place, and the threads that go on from there; ``None`` where all have ended."""
    program = launch.program
    if rng is None:
        first = int(place.min())
        if first == program.end:
            return None
        if not program.code[first].instruction.gathers:
            return first, np.flatnonzero(place == first)
    places = np.flatnonzero(np.bincount(place, minlength=program.end + 1)[: program.end])
    if not len(places):
        return None
    order = rng.permutation(places).tolist() if rng is not None else places.tolist()
    if rng is None:
        order.sort(key=lambda at: program.code[at].instruction.yields)
    for at in order:
        threads = _ready(launch, program.code[at].instruction, place, np.flatnonzero(place == at))
        if len(threads):
            launch.idle += program.code[at].instruction.yields
            if launch.idle > _MOST_IDLE:
                break
            return at, threads if rng is None else _some(launch, threads, program.code[at].instruction, rng)
    raise Fault("threads wait for each other forever")


def _ready(launch: Launch, instruction: Instruction, place: np.ndarray, threads: np.ndarray) -> np.ndarray:
    """Those of some threads at a place that need not wait there for others of their warp or block."""
    if "sync" not in instruction.opcode:
        return threads
    if instruction.opcode[0] == "bar" and "warp" not in instruction.opcode:
        alive = np.bincount(launch.block[place < launch.program.end])
        here = np.bincount(launch.block[threads], minlength=len(alive))
        return threads[(here == alive)[launch.block[threads]]]
    mask = reader(instruction.operands[-1], TYPES["u32"])(launch, threads)
    if not (mask >> launch.lane[threads] & np.uint32(1)).all():
        raise Fault("a thread that is not in its own mask")
    here = launch.ballot(threads, np.ones(len(threads), bool))
    return threads[np.broadcast_to((mask & ~here) == 0, len(threads))]


def _some(launch: Launch, threads: np.ndarray, instruction: Instruction, rng: np.random.Generator) -> np.ndarray:
    """The threads in another order, and sometimes only a part of them, as a GPU may split a warp at any place."""
    if "sync" in instruction.opcode:
        return threads
    if launch.program.meets and rng.random() >= _SLOW:
        fast = threads[~launch.slow[threads]]
        threads = fast if len(fast) else threads
    if len(threads) == 1:
        return threads
    if rng.random() < _SOME:
        part = threads[rng.random(len(threads)) < rng.random()]
        threads = part if len(part) else threads
    return rng.permutation(threads)
