"""Forests of frames in memory."""

from __future__ import annotations

from contextlib import nullcontext
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from dfmst._common.deferred import cached_property
from dfmst._common.types import Array, Frame, FrameT
from dfmst._edges.composite import compose
from dfmst._edges.device_frame import sum_column
from dfmst._edges.frames import open_frame, open_host_frame
from dfmst._edges.read import EdgeColumns
from dfmst._edges.view import View
from dfmst._edges.weights import Total, total_weight
from dfmst._engines import Engine, host_engine, select_engine
from dfmst._engines.primitives.edges import used_vertices
from dfmst._trees.request import Request
from dfmst._trees.result import Forest, ForestRows, Progress
from dfmst.algorithms.base import Trace
from dfmst.algorithms.dataframe import Dataframe
from dfmst.algorithms.solve import Solved, Step, name_of, solve_frame
from dfmst.formats.provenance import Provenance, with_provenance

if TYPE_CHECKING:
    from dfmst._trees.certificate import Certificate


@dataclass(eq=False)
class FrameRows(ForestRows):
    """Rows of a frame in memory, by their positions."""

    view: View
    runner: Engine
    columns: EdgeColumns
    solved: Solved
    records: Trace | None

    @property
    def table_engine(self) -> Engine:
        """The engine of the table's memory: the host's for a table that a GPU took slice by slice."""
        stays = self.solved.input.moved_by is None and not self.view.on_device
        return host_engine(self.runner) if stays else self.runner

    @cached_property
    def frame(self) -> Frame:
        return self.take()

    @cached_property
    def positions(self) -> Array:
        with self.runner.guard():
            return self.solved.input.frame_rows(self.solved.rows)

    def take(self) -> Frame:
        """Return the rows as the user's kind of frame."""
        with self.runner.guard():
            return self.view.take(self.runner, self.solved.input.frame_rows(self.solved.rows))

    @cached_property
    def trace(self) -> Any:
        return None if self.records is None else self.view.build(self.records.columns())

    @cached_property
    def vertices(self) -> int:
        input = self.solved.input
        with self.runner.guard():
            if input.forced is None:
                return int(used_vertices(self.table_engine, input.table).sum())
            reader = self.view.engine(self.runner)
            return int(used_vertices(reader, input.whole()).sum())

    @cached_property
    def total_weight(self) -> Total | None:
        if self.columns.weight is None or self.columns.has_joint_weight:
            return None
        with self.runner.guard():
            return total_weight(sum_column(open_frame(self.frame).column(self.columns.weight)))

    def certify(self, progress: Progress) -> Certificate:
        from dfmst._trees.certificate import Certificate, certify_solved  # most forests are not verified

        violation, rows = certify_solved(self.table_engine, self.solved), len(self.solved.rows)
        return Certificate(violation is None, rows, self.total_weight, self.vertices - rows, violation)

    def arrow(self) -> pa.Table:
        table: pa.Table = open_host_frame(self.frame).to_arrow()
        locator = np.asarray(self.runner.to_host(self.positions)).astype(np.uint64)
        conditions = tuple(self.columns.conditions.words)
        record = Provenance(self.columns.given, self.columns.maximum, len(self.view), locator, conditions)
        return table.replace_schema_metadata(with_provenance(table.schema, record, len(locator)).metadata)


def open_edge_frame(edges: Frame, engine: str, threads: int | None, argument: str = "edges") -> tuple[View, Engine]:
    """Recognise a frame, and select the engine for it."""
    view = open_frame(edges, argument)
    return view, select_engine(engine, threads, on_device=view.on_device, rows=len(view))


def find(edges: Frame, request: Request, return_trace: bool = False, step: Step = nullcontext) -> Forest:
    """Find the forest of a frame in memory."""
    found = find_rows(edges, request, return_trace, step)
    return Forest(
        found,
        request.columns,
        "memory",
        rows=len(found.solved.rows),
        source_rows=len(found.view),
        dropped=len(found.view) - len(found.solved.input.table),
        algorithm=name_of(found.solved.algorithm),
        engine=found.runner.name,
        threads=found.runner.threads,
    )


def find_rows(edges: Frame, request: Request, return_trace: bool = False, step: Step = nullcontext) -> FrameRows:
    """Read and solve a frame in memory."""
    columns, solver = request.columns, request.solver
    view, runner = open_edge_frame(edges, solver.engine, solver.threads)
    view = view if columns.keys is None else compose(runner, view, columns)
    trace = Trace() if return_trace else None
    with runner.guard():
        solved = solve_frame(runner, view, columns, solver.algorithm, trace, step)
    return FrameRows(view, runner, columns, solved, trace)


def solved_rows(edges: FrameT, request: Request, return_trace: bool = False) -> FrameT | tuple[FrameT, FrameT]:
    """Return the rows of a frame's forest, and its trace if wanted."""
    found = find_rows(edges, request, return_trace)
    rows: FrameT = found.take()
    return (rows, found.trace) if return_trace else rows


def in_frame_steps(request: Request) -> bool:
    """Whether the algorithm runs in the steps of the frame's own library: :func:`rows_in_steps`."""
    algorithm = request.solver.algorithm
    return isinstance(algorithm, Dataframe) or (isinstance(algorithm, str) and algorithm == "dataframe")


def rows_in_steps(edges: FrameT, request: Request, return_trace: bool = False) -> FrameT | tuple[FrameT, FrameT]:
    """Return the rows of a forest that is found in the steps of the frame's own library, and its trace if wanted."""
    columns, solver = request.columns, request.solver
    refused = columns.conditions.words or (["keys of several columns"] if columns.keys else [])
    if refused:
        raise ValueError(f"algorithm='dataframe' takes no {' and '.join(refused)}")
    from dfmst.algorithms.frame_forest import frame_forest  # it loads Narwhals, which takes 60 ms

    steps = solver.algorithm if isinstance(solver.algorithm, Dataframe) else Dataframe()
    rows, trace = frame_forest(edges, columns, steps, solver.engine, solver.threads, return_trace)
    return rows if trace is None else (rows, trace)
