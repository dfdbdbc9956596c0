"""A solved frame: its forest, and what there is to tell about it."""

from __future__ import annotations

from contextlib import nullcontext
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import pyarrow as pa

from dfmst._columns.read import EdgeColumns
from dfmst._columns.total import Total, total_weight
from dfmst._engines import Engine, select_engine
from dfmst._frames.device import DeviceView
from dfmst._frames.host import FrameView, open_frame, open_host_frame
from dfmst._primitives.edges import used_vertices
from dfmst.algorithms import REGISTRY, Algorithm
from dfmst.algorithms.solve import Solved, Step, solve_frame
from dfmst.algorithms.trace import Trace
from dfmst.formats.provenance import Provenance, with_provenance
from dfmst.typing import Array, Frame

__all__ = ["Solution", "open_edges", "solve_edges"]


def open_edges(edges: Frame, engine: str, threads: int | None) -> tuple[FrameView | DeviceView, Engine]:
    """Recognise a frame, and select the engine for it."""
    view = open_frame(edges)
    return view, select_engine(engine, threads, on_device=view.on_device, rows=len(view))


@dataclass(frozen=True)
class Solution:
    """The forest of a frame; what is not asked for is not computed.

    Made by :func:`dfmst.forest.solve`.
    """

    view: FrameView | DeviceView
    runner: Engine
    columns: EdgeColumns
    solved: Solved
    records: Trace | None

    @cached_property
    def frame(self) -> Any:
        """The forest's rows, in input order: the same kind of frame, all columns, a pandas index kept."""
        with self.runner.guard():
            return self.view.take(self.runner, self.positions)

    @cached_property
    def trace(self) -> Any:
        """One record a round, as the same kind of frame; ``None`` where no trace was asked for."""
        return None if self.records is None else self.view.build(self.records.columns())

    @cached_property
    def positions(self) -> Array:
        """The forest's row positions in the frame, ascending ``int64``; on a GPU where the frame is there."""
        with self.runner.guard():
            return self.solved.input.frame_rows(self.solved.rows)

    @property
    def rows(self) -> int:
        """Rows of the forest."""
        return len(self.solved.rows)

    @property
    def source_rows(self) -> int:
        """Rows of the frame."""
        return len(self.view)

    @property
    def dropped(self) -> int:
        """Rows that were left out as invalid."""
        return len(self.view) - len(self.solved.input.table)

    @cached_property
    def vertices(self) -> int:
        """Vertices that occur in the frame."""
        with self.runner.guard():
            return int(used_vertices(self.runner, self.solved.input.table).sum())

    @property
    def components(self) -> int:
        """Connected components, that is trees of the forest; a vertex that only has self-loops is one."""
        return self.vertices - self.rows

    @cached_property
    def total_weight(self) -> Total | None:
        """Sum of the forest's weights, exact for integers and decimals; ``None`` without a weight column."""
        if self.columns.weight is None:
            return None
        column: Any = open_frame(self.frame).column(self.columns.weight)
        return total_weight(column.to_arrow() if self.view.on_device else column)

    @property
    def algorithm(self) -> str:
        """Name of the algorithm that ran."""
        return next(name for name, kind in REGISTRY.items() if type(self.solved.algorithm) is kind)

    @property
    def engine(self) -> str:
        """``"cpu"`` or ``"cuda"``."""
        return self.runner.name

    @property
    def threads(self) -> int:
        """Threads that kernels ran on."""
        return self.runner.threads

    def to_arrow(self) -> pa.Table:
        """Return the forest as Arrow, whose schema says how it was made; a forest on a GPU is copied to the host.

        :func:`dfmst.update` and :func:`dfmst.stream.verify` read that record from a file.
        """
        table: pa.Table = open_host_frame(self.frame).frame.to_arrow()
        locator = np.asarray(self.runner.to_host(self.positions)).astype(np.uint64)
        record = Provenance(self.columns.names, self.columns.maximum, self.source_rows, locator)
        return table.replace_schema_metadata(with_provenance(table.schema, record, self.rows).metadata)


def solve_edges(
    edges: Frame,
    columns: EdgeColumns,
    algorithm: str | Algorithm,
    engine: str,
    threads: int | None,
    *,
    return_trace: bool = False,
    step: Step = nullcontext,
) -> Solution:
    """Open a frame, choose an engine for it, and find its forest."""
    view, runner = open_edges(edges, engine, threads)
    trace = Trace() if return_trace else None
    with runner.guard():
        solved = solve_frame(runner, view, columns, algorithm, trace, step)
    return Solution(view, runner, columns, solved, trace)
