"""Instructions as functions that run them for some threads of a launch."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from tests.support.gpu.ptx.arithmetic import computed
from tests.support.gpu.ptx.memory import ATOMICS, Fault
from tests.support.gpu.ptx.program import Instruction
from tests.support.gpu.ptx.values import BOOL, TYPES, Reader, Writer, reader, writer

if TYPE_CHECKING:
    from tests.support.gpu.ptx.machine import Launch

#: Runs an instruction for some threads.
Step = Callable[["Launch", np.ndarray], None]
_WORD = TYPES["u32"]
_LANES = 32


def decode(instruction: Instruction) -> Step:
    """How an instruction runs; branches are the machine's.

    Raises
    ------
    NotImplementedError
        An instruction that is not known here.
    """
    opcode, operands = instruction.opcode, instruction.operands
    if opcode[0] in _MAKERS:
        return _MAKERS[opcode[0]](opcode, operands)
    inputs = computed(opcode, len(operands) - 1)
    if inputs is None:
        raise NotImplementedError(".".join(opcode))
    if "{" in "".join(operands):
        return _parts(opcode, operands)
    function, types = inputs
    readers = [reader(operand, dtype) for operand, dtype in zip(operands[1:], types, strict=True)]
    write = writer(operands[0])

    def step(launch: Launch, threads: np.ndarray) -> None:
        write(launch, threads, function(*(read(launch, threads) for read in readers)))

    return step


def address(operand: str) -> Reader:
    """``[register+offset]``."""
    base, _, offset = operand[1:-1].partition("+")
    read, distance = reader(base, TYPES["u64"]), np.uint64(int(offset or 0) & (1 << 64) - 1)
    return lambda launch, threads: np.broadcast_to(read(launch, threads) + distance, len(threads))


def _shared_address(operand: str) -> Reader:
    """The same in a block's shared memory: a register of 32 or 64 bits, or a number."""
    base, _, offset = operand[1:-1].partition("+")
    distance = np.int64(int(offset or 0))
    if base[0] != "%":
        return lambda launch, threads: np.full(len(threads), int(base) + distance)
    return lambda launch, threads: launch.register(base)[threads].astype(np.int64) + distance


def _vector(operand: str) -> list[str]:
    return [part.strip() for part in operand.strip("{}").split(",")]


def _parts(opcode: tuple[str, ...], operands: tuple[str, ...]) -> Step:
    """``mov`` between a register and the two halves of it."""
    dtype = TYPES[opcode[-1]]
    half = np.dtype(f"u{dtype.itemsize // 2}")
    bits = np.uint64(8 * half.itemsize)
    if operands[0][0] == "{":
        whole, writes = reader(operands[1], dtype), [writer(part) for part in _vector(operands[0])]

        def split(launch: Launch, threads: np.ndarray) -> None:
            value = np.broadcast_to(whole(launch, threads), len(threads)).astype(np.uint64)
            for place, write in enumerate(writes):
                write(launch, threads, (value >> bits * np.uint64(place)).astype(half))

        return split
    low, high = (reader(part, half) for part in _vector(operands[1]))
    write = writer(operands[0])

    def join(launch: Launch, threads: np.ndarray) -> None:
        words = (np.asarray(read(launch, threads)).astype(np.uint64) for read in (low, high))
        first, second = words
        write(launch, threads, (first | second << bits).astype(dtype))

    return join


def _load(opcode: tuple[str, ...], operands: tuple[str, ...]) -> Step:
    dtype, writes = TYPES[opcode[-1]], [writer(name) for name in _vector(operands[0])]
    if "param" in opcode:
        return _load_parameter(dtype, writes, *operands[1][1:-1].partition("+")[::2])
    if "shared" in opcode:
        place_of = _shared_address(operands[1])

        def shared(launch: Launch, threads: np.ndarray) -> None:
            begin = place_of(launch, threads)
            for place, write in enumerate(writes):
                write(launch, threads, launch.shared_load(threads, begin + place * dtype.itemsize, dtype))

        return shared
    where, local = address(operands[1]), "local" in opcode

    def step(launch: Launch, threads: np.ndarray) -> None:
        begin = _begin(where(launch, threads), dtype.itemsize * len(writes))
        launch.accessed("load", threads, begin, dtype.itemsize * len(writes), local)
        for place, write in enumerate(writes):
            at = begin + np.uint64(place * dtype.itemsize)
            write(launch, threads, launch.stack_load(threads, at, dtype) if local else launch.memory.load(at, dtype))

    return step


def _load_parameter(dtype: np.dtype[Any], writes: list[Writer], name: str, offset: str) -> Step:
    """Parts of a parameter, which may be a structure."""

    def step(launch: Launch, threads: np.ndarray) -> None:
        for place, write in enumerate(writes):
            value = np.frombuffer(launch.parameters[name], dtype, 1, int(offset or 0) + place * dtype.itemsize)
            write(launch, threads, np.broadcast_to(value, len(threads)))

    return step


def _store(opcode: tuple[str, ...], operands: tuple[str, ...]) -> Step:
    dtype = TYPES[opcode[-1]]
    reads = [reader(name, dtype) for name in _vector(operands[1])]
    if "shared" in opcode:
        place_of = _shared_address(operands[0])

        def shared(launch: Launch, threads: np.ndarray) -> None:
            begin = place_of(launch, threads)
            for place, read in enumerate(reads):
                values = np.broadcast_to(read(launch, threads), len(threads)).astype(dtype)
                launch.shared_store(threads, begin + place * dtype.itemsize, values)

        return shared
    where, local = address(operands[0]), "local" in opcode

    def step(launch: Launch, threads: np.ndarray) -> None:
        begin = _begin(where(launch, threads), dtype.itemsize * len(reads))
        launch.accessed("store", threads, begin, dtype.itemsize * len(reads), local)
        for place, read in enumerate(reads):
            at = begin + np.uint64(place * dtype.itemsize)
            values = np.broadcast_to(read(launch, threads), len(threads))
            if local:
                launch.stack_store(threads, at, values)
            else:
                launch.memory.store(at, values)

    return step


def _begin(addresses: np.ndarray, size: int) -> np.ndarray:
    if (addresses % np.uint64(size)).any():
        raise Fault("an access that is not aligned")
    return addresses


def _atomic(opcode: tuple[str, ...], operands: tuple[str, ...]) -> Step:
    if "cta" in opcode:
        raise NotImplementedError(f"{'.'.join(opcode)}: an atomic for the threads of one block")
    dtype = TYPES[opcode[-1]]
    operation = next(part for part in opcode if part in ATOMICS)
    target, where, *rest = operands if opcode[0] == "atom" else ("_", *operands)
    place, reads, write = address(where), [reader(operand, dtype) for operand in rest], writer(target)

    def step(launch: Launch, threads: np.ndarray) -> None:
        at = place(launch, threads)
        launch.accessed("atomic", threads, at, dtype.itemsize, False)
        values = (np.broadcast_to(read(launch, threads), len(threads)) for read in reads)
        write(launch, threads, launch.memory.atomic(operation, at, *values))

    return step


def _active(opcode: tuple[str, ...], operands: tuple[str, ...]) -> Step:
    write = writer(operands[0])
    return lambda launch, threads: write(launch, threads, launch.ballot(threads, np.ones(len(threads), bool)))


def _nothing(opcode: tuple[str, ...], operands: tuple[str, ...]) -> Step:
    """Barriers are the machine's, and its memory needs no fence: an access is seen by all threads at once."""
    return lambda launch, threads: None


def _vote(opcode: tuple[str, ...], operands: tuple[str, ...]) -> Step:
    if opcode[1:3] != ("sync", "ballot"):
        raise NotImplementedError(".".join(opcode))
    write, mask = writer(operands[0]), reader(operands[-1], _WORD)
    held, negated = reader(operands[1].lstrip("!"), BOOL), operands[1][0] == "!"

    def step(launch: Launch, threads: np.ndarray) -> None:
        votes = np.broadcast_to(held(launch, threads), len(threads)) ^ negated
        write(launch, threads, launch.ballot(threads, votes) & mask(launch, threads))

    return step


def _shuffle(opcode: tuple[str, ...], operands: tuple[str, ...]) -> Step:
    """Values of other lanes; a lane beyond its part of the warp is this one, and then the predicate does not hold."""
    if opcode[1] != "sync":
        raise NotImplementedError(".".join(opcode))
    target, _, predicate = operands[0].partition("|")
    write, held = writer(target), writer(predicate or "_")
    value, distance, clamp = (reader(operand, _WORD) for operand in operands[1:4])

    def step(launch: Launch, threads: np.ndarray) -> None:
        lane, reach, limits = (
            np.broadcast_to(each, len(threads)).astype(np.int64)
            for each in (launch.lane[threads], distance(launch, threads), clamp(launch, threads))
        )
        own, most = limits >> 8 & 31, limits & 31
        least = lane & own
        source = {"up": lane - reach, "down": lane + reach, "bfly": lane ^ reach, "idx": least | reach & ~own & 31}
        found, highest = source[opcode[2]], least | most & ~own
        inside = found >= highest if opcode[2] == "up" else found <= highest
        slots = np.zeros((launch.warps, _LANES), np.uint32)
        slots[launch.warp[threads], launch.lane[threads]] = value(launch, threads)
        write(launch, threads, slots[launch.warp[threads], np.where(inside, found, lane)])
        held(launch, threads, inside)

    return step


_MAKERS: dict[str, Callable[[tuple[str, ...], tuple[str, ...]], Step]] = {
    "ld": _load,
    "st": _store,
    "atom": _atomic,
    "red": _atomic,
    "activemask": _active,
    "vote": _vote,
    "shfl": _shuffle,
    "bar": _nothing,
    "membar": _nothing,
    "nanosleep": _nothing,
}
