"""A plan of a run, which prints as a table: the quantity that decides first, each with its formula."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, fields
from html import escape
from typing import Any

from dfmst._fold.budget import Term

#: Strategies of one process without a cluster.
STREAMS = ("stream", "spill", "components", "clusters")
_QUANTITIES = {
    "peak_memory": "peak memory of a process",
    "peak_disk": "on disk of a worker",
    "bytes_on_disk": "on disk in all",
    "peak_gpu_memory": "peak memory of a GPU",
    "bytes_moved": "moved between workers",
    "bytes_over_bus": "between hosts and GPUs",
    "bytes_between_gpus": "from GPU to GPU",
    "rows_in_turn": "rows solved in turn",
    "seconds": "least time",
    "cpu_seconds": "CPU time of all workers",
}
_LABELS = ("components", "clusters", "labels")  # strategies that write no rows
_LIMITS = {"peak_memory": "memory_limit", "peak_disk": "disk_limit", "peak_gpu_memory": "gpu_memory_limit"}
_SHARES = {  # of the least time, and the quantity that each grows with
    "shared": ("work that all workers share", "seconds"),
    "in turn": ("rows solved in turn", "rows_in_turn"),
    "sending": ("bytes between workers", "bytes_moved"),
    "storing": ("bytes on disk", "bytes_on_disk"),
    "labels of all": ("labels of all vertices", "seconds"),
}


@dataclass(frozen=True, slots=True)
class Plan:
    """A prediction of :func:`plan`, which prints as a table.

    Attributes
    ----------
    n_vertices, n_edges, partitions, workers, memory_limit
        The graph, and the processes that find its forest.
    strategy
        The strategy that is planned.
    reason
        Why ``"auto"`` chooses this strategy.
    reads
        How often the rows are read to find the forest. They are read once more to write it.
    rounds
        Number of slices that are solved one after the other; 0 if there are none.
    fits
        Whether each process has enough memory, and enough disk if its limit is known.
    usable_memory
        Bytes of the limit that tasks may use: on a cluster less than the limit, at which Dask ends a worker.
    peak_memory
        Bytes of one process.
    formulas
        Name of a quantity -> its formula: a term with the attributes `value` and `text`, and with the formulas of its
        `parts`.
    bytes_moved, bytes_on_disk, peak_disk
        Bytes between the workers of a cluster; most bytes on the disks of all processes, and of one worker.
    disk_limit
        Bytes of each worker's disk; 0: not known.
    rows_in_turn
        Rows that one task after the other solves, however many workers there are.
    seconds, cpu_seconds
        Least time of a cluster without GPUs, and CPU-seconds of all workers, at the rates of the formulas.
    gpu_memory_limit, peak_gpu_memory, bytes_over_bus
        Memory of each worker's GPU (0: no GPU), the bytes used of it, and the bytes between hosts and GPUs (PCIe).
    bytes_between_gpus
        Bytes that move from GPU to GPU (NVLink, if there is one) with ``protocol="ucx"``.
    """

    n_vertices: int
    n_edges: int
    partitions: int
    workers: int
    memory_limit: int
    strategy: str
    reason: str
    reads: int
    rounds: int
    fits: bool
    usable_memory: int
    peak_memory: int
    formulas: dict[str, Term]
    bytes_moved: int = 0
    bytes_on_disk: int = 0
    peak_disk: int = 0
    disk_limit: int = 0
    rows_in_turn: int = 0
    seconds: float = 0
    cpu_seconds: float = 0
    gpu_memory_limit: int = 0
    peak_gpu_memory: int = 0
    bytes_over_bus: int = 0
    bytes_between_gpus: int = 0

    def to_dict(self) -> dict[str, Any]:
        """Return all attributes as plain values, formulas as text."""
        values = {one.name: getattr(self, one.name) for one in fields(self)}
        return {**values, "formulas": {name: term.text for name, term in self.formulas.items()}}

    def __repr__(self) -> str:
        rows = list(self._rows())
        wide, size = (max(len(row[column]) for row in rows) for column in (0, 1))
        lines = [f"{name:{wide}}  {value:>{size}}  {formula}".rstrip() for name, value, formula in rows]
        return "\n".join([*self._head(), "", *lines])

    def _repr_html_(self) -> str:
        head = "<br>".join(map(escape, self._head()))
        rows = ("".join(f"<td>{escape(cell)}</td>" for cell in row) for row in self._rows())
        return f"<p>{head}</p>\n<table>{''.join(f'<tr>{row}</tr>' for row in rows)}</table>"

    def _head(self) -> list[str]:
        gpu = f", each with a GPU of {_size(self.gpu_memory_limit)}" if self.gpu_memory_limit else ""
        disk = f", and {_size(self.disk_limit)} of disk" if self.disk_limit else ""
        process = "1 process" if self.strategy in STREAMS else f"W = {self.workers:,} workers"
        read = "once" if self.reads == 1 else f"{self.reads} times"
        slices = f", in {self.rounds} slices" if self.rounds else ""
        return [
            f"{self.strategy}{slices}: {'fits' if self.fits else 'does not fit'} ({self.reason})",
            f"n = {self.n_vertices:,} vertices, m = {self.n_edges:,} edges in P = {self.partitions:,} partitions",
            f"{process} of M = {_size(self.memory_limit)}{disk}{gpu}",
            f"rows are read {read}" + ("" if self.strategy in _LABELS else " to find the forest, and once to write it"),
            *self._decides()[1:],
        ]

    def _decides(self) -> tuple[str, ...]:
        """The quantity that decides the run, and a sentence: a limit that is passed, else the largest share of time."""
        for quantity, name in _LIMITS.items():
            used, limit = getattr(self, quantity), self.usable_memory if name == "memory_limit" else getattr(self, name)
            if not self.fits and 0 < limit < used:
                return quantity, f"{_QUANTITIES[quantity]} decides: {_size(used)} do not fit"
        if "seconds" not in self.formulas:
            return ("peak_memory",)
        parts = self.formulas["seconds"].parts
        spent = {
            name: parts[name].value / (self.workers if name == "shared" else 1) for name in _SHARES if name in parts
        }
        share = max(spent, key=lambda name: spent[name])
        percent = 100 * spent[share] / self.seconds
        text, quantity = _SHARES[share]
        return quantity, f"{text} take most of the time: {percent:.0f} % of {_shown(self.formulas['seconds'])} at least"

    def _rows(self) -> Iterator[tuple[str, str, str]]:
        """Quantities with values and formulas, the one that decides first, and the parts that no other has shown."""
        shown: set[str] = set()
        first = self._decides()[0]
        for quantity in sorted(self.formulas, key=lambda name: (name != first, [*_QUANTITIES].index(name))):
            term = self.formulas[quantity]
            yield _QUANTITIES[quantity], _shown(term), term.text
            for name, part in term.parts.items():
                if name not in shown:
                    yield f"  {name}", _shown(part), part.text
            shown |= set(term.parts)
            if getattr(self, _LIMITS.get(quantity, "rounds")) and quantity in _LIMITS:
                shares = f"{_size(self.usable_memory)} for tasks" if quantity == "peak_memory" else ""
                yield "  limit", _size(getattr(self, _LIMITS[quantity])), shares


def _shown(term: Term) -> str:
    """Format a term's value in its unit."""
    if term.unit != "s":
        return f"{term.value:,.0f} {term.unit}" if term.unit else _size(term.value)
    unit, size = next(((name, size) for name, size in _TIMES.items() if term.value >= 2 * size), ("s", 1))
    return f"{term.value / size:,.3g} {unit}"


_TIMES = {"days": 86_400, "h": 3600, "min": 60}


def _size(count: float) -> str:
    """Format bytes with three digits."""
    for unit in ("B", "kB", "MB", "GB", "TB"):
        if count < 999.5:
            return f"{count:.3g} {unit}"
        count /= 1000
    return f"{count:,.0f} PB"
