"""The forest of a frame in memory: its rows, counts, total weight, trace and proof."""

from __future__ import annotations

import os
from contextlib import nullcontext
from dataclasses import dataclass, replace
from importlib import import_module
from typing import TYPE_CHECKING, Any, BinaryIO

import numpy as np
import pyarrow as pa

from dfmst._common.deferred import cached_property
from dfmst._common.types import Array, Frame, Invalid
from dfmst._edges.conditions import Conditions
from dfmst._edges.device_frame import DeviceView
from dfmst._edges.host_frame import FrameView
from dfmst._edges.open import open_frame, open_host_frame
from dfmst._edges.read import EdgeColumns, compose, edge_columns
from dfmst._edges.weights import Total, total_weight
from dfmst._engines import Engine, host_engine, select_engine
from dfmst._engines.primitives.edges import used_vertices
from dfmst.algorithms import Algorithm
from dfmst.algorithms.base import Trace
from dfmst.algorithms.dataframe import Dataframe
from dfmst.algorithms.solve import Solved, Step, name_of, solve_frame
from dfmst.formats import write_edges
from dfmst.formats.provenance import Provenance, with_provenance

if TYPE_CHECKING:
    from dfmst._trees.certificate import Certificate


def open_edges(edges: Frame, engine: str, threads: int | None) -> tuple[FrameView | DeviceView, Engine]:
    """Recognise a frame, and select the engine for it."""
    view = open_frame(edges)
    return view, select_engine(engine, threads, on_device=view.on_device, rows=len(view))


@dataclass(frozen=True)
class Forest:
    """The forest of a frame. Each attribute is computed when it is first read.

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
        """The forest's row positions in the frame, ascending ``int64``; on the GPU if the frame is there."""
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
        input = self.solved.input
        with self.runner.guard():
            if input.forced is None:
                return int(used_vertices(self.runner, input.table).sum())
            return int(used_vertices(host_engine(self.runner), input.whole()).sum())

    @property
    def components(self) -> int:
        """Connected components, that is trees of the forest; a vertex that only has self-loops is one."""
        return self.vertices - self.rows

    @cached_property
    def total_weight(self) -> Total | None:
        """Sum of the forest's weights, exact for integers and decimals; ``None`` without a weight column."""
        if self.columns.weight is None or self.columns.weight in getattr(self.view, "composed", ()):
            return None
        column: Any = open_frame(self.frame).column(self.columns.weight)
        return total_weight(column.to_arrow() if self.view.on_device else column)

    @property
    def algorithm(self) -> str:
        """Name of the algorithm that ran."""
        return name_of(self.solved.algorithm)

    @property
    def engine(self) -> str:
        """``"cpu"`` or ``"cuda"``."""
        return self.runner.name

    @property
    def threads(self) -> int:
        """Threads that kernels ran on."""
        return self.runner.threads

    def verify(self) -> Certificate:
        """Prove that the rows are the forest; :func:`dfmst.verify` does so for rows of any origin."""
        from dfmst._trees.certificate import Certificate, certify_solved  # most forests are not verified

        violation = certify_solved(self.runner, self.solved)
        return Certificate(violation is None, self.rows, self.total_weight, self.components, violation)

    def write(self, path: str | os.PathLike[str] | BinaryIO, format: str | None = None) -> None:
        """Write the rows to a file with the record of how they were made; see :func:`dfmst.formats.write_edges`."""
        write_edges(self.to_arrow(), path, format)

    def report(self, **options: Any) -> Any:
        """Make a page about graph, run and forest; see :func:`dfmst.report`."""
        return import_module("dfmst").report(self, **options)

    def to_arrow(self) -> pa.Table:
        """Return the forest as Arrow, whose schema says how it was made; a forest on a GPU is copied to the host.

        :func:`dfmst.update` and :func:`dfmst.stream.verify` read that record from a file.
        """
        table: pa.Table = open_host_frame(self.frame).to_arrow()
        locator = np.asarray(self.runner.to_host(self.positions)).astype(np.uint64)
        record = Provenance(self.columns.names, self.columns.maximum, self.source_rows, locator)
        record = replace(record, conditions=tuple(self.columns.conditions.words))
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
) -> Forest:
    """Open a frame, choose an engine for it, and find its forest."""
    view, runner = open_edges(edges, engine, threads)
    view = compose(runner, view, columns)
    trace = Trace() if return_trace else None
    with runner.guard():
        solved = solve_frame(runner, view, columns, algorithm, trace, step)
    return Forest(view, runner, columns, solved, trace)


def solve(
    edges: Frame,
    source: Any = "source",
    target: Any = "target",
    weight: Any = "weight",
    *,
    maximum: bool = False,
    by: Any = None,
    keep: Any = None,
    drop: Any = None,
    algorithm: str | Algorithm = "auto",
    engine: str = "auto",
    invalid: Invalid = "raise",
    threads: int | None = None,
    return_trace: bool = False,
    step: Step = nullcontext,
) -> Forest:
    """Find a forest, with its counts, total weight, trace and proof.

    Parameters
    ----------
    edges, source, target, weight, by, keep, drop, algorithm, engine, invalid, threads
        As for :func:`minimum_spanning_forest`.
    maximum
        Whether heavier edges come first.
    return_trace
        Whether the forest has a trace.
    step
        Called with ``"prepare"`` and with ``"solve"``, it gives a context manager that is entered around that step:
        to time it, for example.

    Returns
    -------
    forest : Forest
        Rows and their positions, counts, total weight, algorithm and engine.

    Raises
    ------
    ColumnNotFoundError, InvalidEdgesError, UnsupportedFrameError, EngineUnavailableError, CapacityError
        As for :func:`minimum_spanning_forest`.

    Examples
    --------
    >>> import pandas as pd
    >>> import dfmst
    >>> roads = pd.DataFrame({"source": [0, 1, 0], "target": [1, 2, 2], "weight": [3, 1, 2]})
    >>> forest = dfmst.forest.solve(roads)
    >>> forest.positions, forest.total_weight, forest.components
    (array([1, 2]), 3, 1)
    >>> print(forest.verify())
    verified: 2 rows, 1 component, total weight 3
    """
    columns = edge_columns(source, target, weight, maximum, invalid, Conditions.of(by, keep, drop))
    return solve_edges(edges, columns, algorithm, engine, threads, return_trace=return_trace, step=step)


def find_forest(
    edges: Frame,
    columns: EdgeColumns,
    algorithm: str | Algorithm,
    engine: str,
    threads: int | None,
    return_trace: bool,
) -> Any:
    """Find a forest with kernels, or in the steps of the frame's own library."""
    if isinstance(algorithm, Dataframe) or (isinstance(algorithm, str) and algorithm == "dataframe"):
        if columns.conditions:
            message = f"algorithm='dataframe' takes no {' and '.join(columns.conditions.words)}"
            raise ValueError(message)
        if columns.keys:
            message = "algorithm='dataframe' takes no keys of several columns"
            raise ValueError(message)
        from dfmst.algorithms.frame_forest import frame_forest  # it loads Narwhals, which takes 60 ms

        steps = algorithm if isinstance(algorithm, Dataframe) else Dataframe()
        rows, trace = frame_forest(edges, columns, steps.order_columns, engine, threads, return_trace)
        return (rows, trace) if return_trace else rows
    forest = solve_edges(edges, columns, algorithm, engine, threads, return_trace=return_trace)
    return (forest.frame, forest.trace) if return_trace else forest.frame
