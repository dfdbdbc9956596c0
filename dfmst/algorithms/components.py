"""Connected components: hooks in any order, the smallest vertex as every component's label.

Edges are united in two parts, as in Sutton, Ben-Nun and Barak (2018, Afforest): a first part finds the giant
component, and most of the rest is then dropped unseen, because it lies inside it.
"""

from __future__ import annotations

import numpy as np

from dfmst._common.types import Array
from dfmst._edges.edge_table import EdgeTable
from dfmst._engines import Engine
from dfmst._engines.primitives.contract import flatten
from dfmst._engines.primitives.crossing import crossing_flags
from dfmst._engines.primitives.flags import compact

__all__ = ["component_labels"]

_SHARE = 2  # edges in the first part, as a multiple of the vertices


def component_labels(engine: Engine, table: EdgeTable) -> Array:
    """Return the smallest vertex of each vertex's component, ``uint32`` of shape ``(vertices,)``."""
    label: Array = engine.xp.arange(table.vertices, dtype=np.uint32)
    first = min(len(table), _SHARE * table.vertices) // 64 * 64
    engine.launch("unite", first, table.source, table.target, None, label)
    flatten(engine, label)
    source, target = table.source[first:], table.target[first:]
    rest = compact(engine, crossing_flags(engine, source, target, label))
    engine.launch("unite", len(rest), source, target, rest, label)
    flatten(engine, label)
    return label
