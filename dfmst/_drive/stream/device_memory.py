"""The account of a stream that folds on a GPU: the limit is of the device's memory.

It is that of :mod:`dfmst._drive.stream.memory`, but for the fixed part (the batches in flight, and the pieces of them
that the filter and the buffer work on) and for solving, which takes more there: 32 bytes a row and 31 a vertex on
random, star and path graphs, as the allocations add up; 36 and 52 are kept for them. With 64-bit weights that makes 172
bytes a vertex. The interpreter and the Parquet reader are on the host; CUDA's own context, about half a gigabyte, comes
on top.
"""

from __future__ import annotations

from dataclasses import dataclass

from dfmst._drive.stream.batches import Job
from dfmst._drive.stream.memory import Memory, shown
from dfmst._engines import Engine
from dfmst._fold.memory import ROW
from dfmst.errors import CapacityError

#: Two batches with their ids, and the pieces of one that are filtered and moved.
_FIXED = 96 << 20
_HASHING = 32 << 20  # a batch's slots, claims and new ids
_SOLVE = 36  # bytes a row of the buffer


@dataclass(frozen=True, slots=True)
class DeviceMemory(Memory):
    """As :class:`dfmst._drive.stream.memory.Memory`, of a GPU."""

    @property
    def _fixed(self) -> int:
        return _FIXED + (_HASHING if self.id_bytes else 0)

    @property
    def _row(self) -> int:
        return ROW + self.weight + _SOLVE


def memory_of(job: Job) -> Memory:
    """Return the account of a job."""
    if job.engine.on_host:
        return Memory(job.memory)
    total = _device_bytes(job.engine)
    if job.memory > total:
        message = f"a memory limit of {shown(job.memory)} is more than the GPU has, {shown(total, job.memory)}"
        raise CapacityError(message, "lower the limit, and leave some for CUDA itself; or use engine='cpu'")
    return DeviceMemory(job.memory)


def _device_bytes(engine: Engine) -> int:
    return int(engine.xp.cuda.runtime.memGetInfo()[1])
