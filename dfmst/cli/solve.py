"""The steps of :func:`dfmst.minimum_spanning_forest`, one by one, to time and to count them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from dfmst._columns.edge_table import EdgeTable
from dfmst._columns.read import read_table
from dfmst._columns.total import Total, total_weight
from dfmst._engines import Engine, select_engine
from dfmst._frames.device import DeviceView
from dfmst._frames.host import FrameView, open_frame
from dfmst._primitives.edges import used_vertices
from dfmst._verification.optimality import certify_rows
from dfmst.algorithms import REGISTRY, Algorithm, resolve
from dfmst.algorithms.trace import Trace
from dfmst.cli.console import Progress, Stopwatch, plural
from dfmst.cli.device import column_on_host
from dfmst.formats import Provenance, with_provenance

if TYPE_CHECKING:
    from dfmst.cli.job import ForestJob

__all__ = ["Solution", "solve"]


@dataclass(frozen=True, slots=True)
class Solution:
    """A forest and what there is to tell about it.

    Attributes
    ----------
    forest, trace
        The forest's rows (of the kind that the table was), and one row for each round.
    total
        Exact sum of the weights; ``None`` where there are none.
    vertices
        Vertices that occur in the table.
    dropped
        Rows that were left out as invalid.
    algorithm, engine
        What ran.
    """

    forest: Any
    trace: pa.Table
    total: Total | None
    vertices: int
    dropped: int
    algorithm: str
    engine: Engine


def solve(table: Any, job: ForestJob, watch: Stopwatch, progress: Progress) -> Solution:
    """Find the forest of a table, and verify it where that is asked for.

    Raises
    ------
    RuntimeError
        The forest is not minimal, which would be a bug.
    """
    view = open_frame(table)
    engine = select_engine(job.engine, job.threads, on_device=view.on_device, rows=len(view))
    with engine.guard():
        return _solve(engine, view, job, watch, progress)


def _solve(
    engine: Engine, view: FrameView | DeviceView, job: ForestJob, watch: Stopwatch, progress: Progress
) -> Solution:
    progress.show(f"preparing {plural(len(view), 'row')}")
    with watch.step("prepare"):
        names = (job.source, job.target, job.weight)
        given = read_table(engine, view, *names, maximum=job.maximum, invalid=job.invalid)
    progress.show(f"finding the forest of {plural(len(view), 'row')}")
    trace = Trace()
    with watch.step("solve"):
        algorithm = resolve(job.algorithm, engine, given.table)
        rows = algorithm.run(engine, given.table, trace)
    if job.verify:
        progress.show(f"verifying {plural(len(rows), 'row')}")
        with watch.step("verify"):
            _certify(engine, given.table, rows)
    with watch.step("gather"):
        rows = given.frame_rows(rows)
        forest = view.take(engine, rows)
        if isinstance(forest, pa.Table):
            made = Provenance(names, job.maximum, len(view), rows.astype(np.uint64))
            forest = forest.replace_schema_metadata(with_provenance(forest.schema, made, len(rows)).metadata)
        total = None if job.weight is None else total_weight(column_on_host(forest, job.weight))
        vertices = int(used_vertices(engine, given.table).sum())
    dropped = len(view) - len(given.table)
    return Solution(forest, pa.table(trace.columns()), total, vertices, dropped, _name(algorithm), engine)


def _name(algorithm: Algorithm) -> str:
    return next(name for name, kind in REGISTRY.items() if type(algorithm) is kind)


def _certify(engine: Engine, table: EdgeTable, rows: Any) -> None:
    violation = certify_rows(engine, table, rows)
    if violation is not None:
        message = f"the forest is wrong, which is a fault of dfmst: {violation.message}"
        raise RuntimeError(message)
