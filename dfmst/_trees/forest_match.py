"""A frame of edges and the frame said to be its forest."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

from dfmst._common.types import Array
from dfmst._edges.edge_table import Input
from dfmst._edges.host_frame import FrameView
from dfmst._engines import Engine


@dataclass(frozen=True, slots=True)
class ForestMatch:
    """A frame of edges, its edge table, and the frame said to be its forest.

    ``engine`` works on the host, ``names`` are the columns of ids and weights, ``describe`` names a row of the table in
    messages. Rows match only where they agree in the columns of ``groups`` as well.
    """

    engine: Engine
    edges: FrameView
    input: Input
    forest: FrameView
    names: tuple[Any, Any, Any]
    describe: Callable[[int], str]
    groups: tuple[Any, ...] = ()

    def rows(self, rows: Array) -> FrameView:
        """Take rows of the table from the edge frame."""
        return self.edges.rows(self.engine, self.input.frame_rows(rows))


class Ends(NamedTuple):
    """Vertices of the forest's rows, ``uint32``."""

    source: Array
    target: Array
