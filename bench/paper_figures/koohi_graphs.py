"""The graphs that Mastiff's figures are measured on."""

from __future__ import annotations

from functools import cache

from dfmst._columns.edge_table import EdgeTable
from dfmst.generate import rmat, road_grid
from paper_figures.setting import Setting, edges_of, renumbered

__all__ = ["SMALLER", "graphs", "is_powerlaw"]

SMALLER = (
    "R-MAT stands for their power-law graphs, which are orders of magnitude larger; isolated vertices are taken out, "
    "as there."
)


@cache
def graphs(setting: Setting) -> dict[str, EdgeTable]:
    """Name -> graph."""
    made = {}
    for scale, degree in ((16, 16), (18, 8)):
        bits = setting.scale(scale)
        table = edges_of(rmat(bits, degree), 1 << bits)
        made[f"R-MAT {bits}×{degree}"] = renumbered(table.source, table.target, table.weight)
    for name in ("email_enron", "ego_twitter"):
        real = setting.real(name, derived=True)
        if real is not None:
            made[name] = real
    side = setting.scaled(400, 16)
    grid = edges_of(road_grid(side, side), side * side)
    made["road grid"] = renumbered(grid.source, grid.target, grid.weight)
    return made


def is_powerlaw(name: str) -> bool:
    """Whether a graph stands for a power-law graph."""
    return name != "road grid"
