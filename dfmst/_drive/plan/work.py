"""What a plan is for, and what it says."""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass, field

DENSE_ID = 4  # bytes of an id that is its own vertex, on the way
SPARSE_ID = 8  # of another integer; of a text its bytes beside
LIGHT = 4.0  # rows that a first pass folds, a vertex
_CHECKED = 28  # bytes a row that the checks of a partition take
_DICTIONARY = 27  # bytes that an integer takes in a dictionary at most (dfmst._engines.primitives.id_table)


def edge_bytes(id_bytes: int) -> int:
    """Return the bytes of an edge that travels: two ids, a 64-bit locator, a key of up to 64 bits."""
    return 2 * id_bytes + 16


def dictionary_bytes(id_bytes: int) -> int:
    """Return the bytes that an id takes in a dictionary: a text its own twice, as they are copied where more come."""
    return 0 if id_bytes <= DENSE_ID else _DICTIONARY + 2 * max(0, id_bytes - SPARSE_ID)


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
    bytes_on_disk
        Of a stream whose rows go to disk, at most.
    peak_memory
        Of one worker, in bytes.
    fits
        Whether that is within what the worker may use.
    formulas
        Quantity -> how it was computed.
    gpu_memory, peak_gpu_memory, bytes_over_bus
        Of each worker's GPU (0: there is none) the memory, and how much of it is used; bytes between hosts and GPUs.
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
    bytes_on_disk: int = 0
    gpu_memory: int = 0
    peak_gpu_memory: int = 0
    bytes_over_bus: int = 0


@dataclass(frozen=True, slots=True)
class Work:
    """What is to be done, and what there is to do it with."""

    vertices: int
    edges: int
    partitions: int
    workers: int
    memory: int
    id_bytes: int = DENSE_ID
    device: int = 0  # bytes that tasks may use of a worker's GPU; 0: it has none

    def __post_init__(self) -> None:
        for name, value in asdict(self).items():
            if value < (name != "device"):
                label = {"vertices": "n_vertices", "edges": "n_edges", "memory": "memory_limit"}.get(name, name)
                message = f"{label} is {value}; it must be at least 1"
                raise ValueError(message)

    @property
    def edge(self) -> int:
        """Bytes of an edge that travels: two ids, a 64-bit locator, a key of up to 64 bits."""
        return edge_bytes(self.id_bytes)

    @property
    def part(self) -> int:
        """Bytes a row of a partition that is being read: the file's, its columns, what travels, and what is checked."""
        column = 8 if self.id_bytes <= SPARSE_ID else self.id_bytes - 4
        return 2 * (2 * column + 8) + self.edge + _CHECKED

    @property
    def dictionary(self) -> int:
        """Bytes a vertex of the dictionary of its ids."""
        return dictionary_bytes(self.id_bytes)

    @property
    def group_vertices(self) -> int:
        """Vertices that one worker's share of the rows may have: all, if ids are vertices; else two a row at most."""
        return min(self.vertices, 2 * math.ceil(self.edges / self.workers)) if self.dictionary else self.vertices

    @property
    def rows(self) -> int:
        """Rows of a partition."""
        return math.ceil(self.edges / self.partitions)

    def plan(
        self,
        strategy: str,
        moved: float,
        peak: int,
        formulas: dict[str, str],
        *,
        reads: int = 1,
        rounds: int = 0,
        on_disk: int = 0,
        fits: bool = True,
    ) -> Plan:
        """The plan with these figures; it does not fit where its peak does not."""
        size = (self.vertices, self.edges, self.partitions, self.workers, self.memory)
        fits = fits and peak <= self.memory
        return Plan(*size, strategy, reads, rounds, int(moved), peak, fits, formulas, on_disk)
