"""The algorithms: frozen dataclasses, all returning the same rows.

A name selects a default object: ``"boruvka"`` is ``Boruvka()``, ``"filter-kruskal"`` is ``FilterKruskal()``;
``"auto"`` picks one for the engine and the table.
"""

from __future__ import annotations

from dfmst._columns.edge_table import EdgeTable
from dfmst._engines import Engine
from dfmst.algorithms.bader_cong import BaderCong
from dfmst.algorithms.base import Algorithm
from dfmst.algorithms.boruvka import Boruvka
from dfmst.algorithms.bsp import BSP
from dfmst.algorithms.dataframe import Dataframe
from dfmst.algorithms.epmst import EPMST
from dfmst.algorithms.filter_boruvka import FilterBoruvka
from dfmst.algorithms.filter_kruskal import FilterKruskal
from dfmst.algorithms.kruskal import Kruskal
from dfmst.algorithms.mastiff import Mastiff
from dfmst.algorithms.pma import PMA
from dfmst.algorithms.prim import Prim
from dfmst.algorithms.vineet import Vineet
from dfmst.errors import did_you_mean

__all__ = [
    "BSP",
    "EPMST",
    "PMA",
    "REGISTRY",
    "Algorithm",
    "BaderCong",
    "Boruvka",
    "Dataframe",
    "FilterBoruvka",
    "FilterKruskal",
    "Kruskal",
    "Mastiff",
    "Prim",
    "Vineet",
    "resolve",
]

#: Name -> class; its default object is what the name selects.
REGISTRY: dict[str, type[Algorithm]] = {
    "boruvka": Boruvka,
    "bsp": BSP,
    "dataframe": Dataframe,
    "epmst": EPMST,
    "filter-boruvka": FilterBoruvka,
    "filter-kruskal": FilterKruskal,
    "pma": PMA,
    "bader-cong": BaderCong,
    "kruskal": Kruskal,
    "mastiff": Mastiff,
    "prim": Prim,
    "vineet": Vineet,
}


_ON_HOST = FilterKruskal()


def resolve(algorithm: str | Algorithm, engine: Engine, table: EdgeTable) -> Algorithm:
    """Return the algorithm that a name or an object stands for.

    Raises
    ------
    ValueError
        An unknown name.
    TypeError
        Neither a name nor an object of this package.
    """
    if isinstance(algorithm, str):
        if algorithm == "auto":
            return _choose(engine, table)
        if algorithm not in REGISTRY:
            message = f"unknown algorithm {algorithm!r}; known: 'auto', {', '.join(map(repr, REGISTRY))}"
            suggestion = did_you_mean(algorithm, ("auto", *REGISTRY))
            raise ValueError(f"{message}; {suggestion}" if suggestion else message)
        return REGISTRY[algorithm]()
    if isinstance(algorithm, tuple(REGISTRY.values())):
        return algorithm
    message = f"algorithm is a {type(algorithm).__name__}; it must be a name or an object of dfmst.algorithms"
    raise TypeError(message)


def _choose(engine: Engine, table: EdgeTable) -> Algorithm:
    """Kruskal's scan is sequential: fast on a CPU, and no work for a GPU."""
    return _ON_HOST if engine.on_host else FilterBoruvka()
