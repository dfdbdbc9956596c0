"""Before and after a forest of a Dask frame: what it will take, and whether it is right."""

from __future__ import annotations

from typing import Any

import dask.dataframe as dd
from dask.dataframe.utils import make_meta

from dfmst._common.types import Invalid
from dfmst._drive.cluster.client import computed, resources
from dfmst._drive.cluster.partitions import frame_parts
from dfmst._drive.plan.plan import plan as plan_of_sizes
from dfmst._drive.plan.plan import size_of_groups
from dfmst._drive.plan.work import DENSE_ID, SPARSE_ID, Plan
from dfmst._edges.open import open_frame
from dfmst._trees.certificate import Certificate
from dfmst._trees.certificate import verify as verify_rows
from dfmst.errors import UnsupportedFrameError


def plan(
    edges: Any,
    source: Any = "source",
    target: Any = "target",
    *,
    vertices: int | None = None,
    workers: int | None = None,
    memory: int | str | None = None,
    strategy: str = "auto",
) -> Plan:
    """Predict what the forest of a Dask frame takes; see :func:`dfmst.plan`.

    Rows and vertices are read from the footers of Parquet files; of other frames they are counted, which computes the
    id columns once (vertices within a few percent).

    Parameters
    ----------
    edges
        A Dask frame.
    source, target
        Its id columns.
    vertices
        How many there are, if that is known.
    workers, memory
        Processes, and the bytes that each may use; ``None``: those of the current client, or of this machine.
    strategy
        As for :func:`dfmst.plan`.

    Returns
    -------
    Plan
        Strategy, reads, rounds, bytes moved, peak memory of a worker and whether that fits, and the formulas.

    Raises
    ------
    ColumnNotFoundError, UnsupportedFrameError
        As for :func:`minimum_spanning_forest`.
    ValueError, TypeError
        As for :func:`dfmst.plan`.

    Examples
    --------
    >>> import pandas as pd
    >>> import dask.dataframe as dd
    >>> import dfmst.dask
    >>> roads = dd.from_pandas(pd.DataFrame({"source": [0, 1, 0], "target": [1, 2, 2]}), npartitions=2)
    >>> dfmst.dask.plan(roads, workers=2, memory="1GiB").strategy
    'merge'
    """
    if not isinstance(edges, dd.DataFrame):
        message = f"edges is a {type(edges).__name__}, not a Dask frame"
        raise UnsupportedFrameError(message, "call dfmst.plan with the numbers of vertices and edges")
    view = open_frame(make_meta(edges))
    for name in (source, target):
        view.column(name)
    parts = frame_parts(edges, list(dict.fromkeys((source, target)))).edges
    if all(hasattr(part, "groups") for part in parts):
        groups = [(part.path, part.groups) for part in parts]
        vertices, rows, id_bytes = size_of_groups(groups, (source, target), vertices, None)
    else:
        vertices, rows, id_bytes = _counted(edges, source, target, vertices)
    at_hand = resources()
    return plan_of_sizes(
        vertices,
        rows,
        partitions=edges.npartitions,
        workers=at_hand.workers if workers is None else workers,
        memory=at_hand.memory if memory is None else memory,
        strategy=strategy,
        id_bytes=id_bytes,
    )


def _counted(edges: Any, source: Any, target: Any, vertices: int | None) -> tuple[int, int, int]:
    """Vertices, rows and the bytes of an id of a frame that has no footers."""
    ids = dd.concat([edges[source], edges[target]])
    whole = ids.dtype.kind in "iu"
    most = ids.max() if whole else ids.astype(str).str.len().mean()
    rows, distinct, most = computed(edges[source].size, ids.nunique_approx() if vertices is None else 0, most)
    vertices = max(1, round(distinct)) if vertices is None else vertices
    if whole:
        return vertices, max(1, rows), DENSE_ID if rows == 0 or most < 2 * rows else SPARSE_ID
    return vertices, max(1, rows), SPARSE_ID + (round(most) if rows else 0)


def verify(
    edges: Any,
    forest: Any,
    source: Any = "source",
    target: Any = "target",
    weight: Any = "weight",
    *,
    maximum: bool = False,
    invalid: Invalid = "raise",
) -> Certificate:
    """Check whether a frame holds the rows of a Dask frame's minimum spanning forest, without solving it.

    The columns of the forest are computed of all rows, so that this process must have memory for those. Of Parquet
    files :func:`dfmst.stream.verify` needs memory for the forest alone.

    Parameters
    ----------
    edges
        A Dask frame.
    forest
        The frame to check: of Dask, or in memory.
    source, target, weight, maximum, invalid
        As for :func:`dfmst.verify`.

    Returns
    -------
    certificate
        True where the forest is right; otherwise it says which row is wrong and why.

    Raises
    ------
    ColumnNotFoundError, InvalidEdgesError, UnsupportedFrameError, CapacityError
        As for :func:`dfmst.verify`; a wrong forest is no error.

    Examples
    --------
    >>> import pandas as pd
    >>> import dask.dataframe as dd
    >>> import dfmst.dask
    >>> roads = pd.DataFrame({"source": ["a", "b", "a"], "target": ["b", "c", "c"], "weight": [3, 1, 2]})
    >>> parts = dd.from_pandas(roads, npartitions=2)
    >>> print(dfmst.dask.verify(parts, parts.mst.minimum()))
    verified: 2 rows, 1 component, total weight 3
    """
    if not isinstance(edges, dd.DataFrame):
        message = f"edges is a {type(edges).__name__}, not a Dask frame"
        raise UnsupportedFrameError(message, "call dfmst.verify for frames in memory")
    shared = [name for name in edges.columns if name in getattr(forest, "columns", ())]
    rows, claimed = computed(edges[shared] if shared else edges, forest)
    return verify_rows(rows, claimed, source, target, weight, maximum=maximum, invalid=invalid)
