"""The kinds of graphs that Nobari et al. (2012) measure on, an eighth as large."""

from __future__ import annotations

from collections.abc import Callable

from dfmst._columns.edge_table import EdgeTable
from dfmst.generate import erdos_renyi, rmat, road_grid, ssca2, watts_strogatz
from paper_figures.setting import Setting, edges_of

__all__ = ["BITS", "KINDS", "SMALLER", "road", "scale_free"]

BITS = 17  # 131,072 vertices, where the paper has a million
SMALLER = "An eighth of the published vertices, on two threads instead of a GPU."


def _erdos_renyi(bits: int, degree: int) -> EdgeTable:
    return edges_of(erdos_renyi(1 << bits, (degree << bits) // 2, weight="float32"), 1 << bits)


def _watts_strogatz(bits: int, degree: int) -> EdgeTable:
    return edges_of(watts_strogatz(1 << bits, degree, weight="float32"), 1 << bits)


def scale_free(bits: int, degree: int) -> EdgeTable:
    """R-MAT of an average degree."""
    return edges_of(rmat(bits, degree // 2, weight="float32"), 1 << bits)


def _ssca2(bits: int, degree: int) -> EdgeTable:
    # A vertex of a clique whose size is uniform in [1, c] has 2c/3 neighbours in it.
    return edges_of(ssca2(bits, max(2, degree * 3 // 2), weight="float32"), 1 << bits)


#: By an average degree, given the logarithm of the number of vertices.
KINDS: dict[str, Callable[[int, int], EdgeTable]] = {
    "Erdős–Rényi": _erdos_renyi,
    "Watts–Strogatz": _watts_strogatz,
    "R-MAT": scale_free,
    "SSCA#2": _ssca2,
}


def road(setting: Setting, side: int = 500) -> EdgeTable:
    """A grid of streets for the DIMACS road network of Florida."""
    length = setting.scaled(side, 24)
    return edges_of(road_grid(length, length), length * length)
