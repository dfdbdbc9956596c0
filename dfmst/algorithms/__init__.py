"""The algorithms: frozen dataclasses, all returning the same rows.

A name selects a default object: ``"boruvka"`` is ``Boruvka()``, ``"filter-kruskal"`` is ``FilterKruskal()``;
``"auto"`` picks one for the engine and the table. Each is loaded at its first use.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from importlib import import_module
from typing import TYPE_CHECKING, Any

from dfmst.algorithms.base import Algorithm as Algorithm

if TYPE_CHECKING:
    from dfmst.algorithms.bader_cong import BaderCong as BaderCong
    from dfmst.algorithms.boruvka import Boruvka as Boruvka
    from dfmst.algorithms.bsp import BSP as BSP
    from dfmst.algorithms.dataframe import Dataframe as Dataframe
    from dfmst.algorithms.epmst import EPMST as EPMST
    from dfmst.algorithms.filter_boruvka import FilterBoruvka as FilterBoruvka
    from dfmst.algorithms.filter_kruskal import FilterKruskal as FilterKruskal
    from dfmst.algorithms.kruskal import Kruskal as Kruskal
    from dfmst.algorithms.mastiff import Mastiff as Mastiff
    from dfmst.algorithms.pma import PMA as PMA
    from dfmst.algorithms.prim import Prim as Prim
    from dfmst.algorithms.vineet import Vineet as Vineet

#: Name -> class; the name is that of its module, too.
_CLASSES = {
    "boruvka": "Boruvka",
    "bsp": "BSP",
    "dataframe": "Dataframe",
    "epmst": "EPMST",
    "filter-boruvka": "FilterBoruvka",
    "filter-kruskal": "FilterKruskal",
    "pma": "PMA",
    "bader-cong": "BaderCong",
    "kruskal": "Kruskal",
    "mastiff": "Mastiff",
    "prim": "Prim",
    "vineet": "Vineet",
}
_NAMES = {class_: name for name, class_ in _CLASSES.items()}
__all__ = ["REGISTRY", "Algorithm", *_NAMES]


class _Registry(Mapping[str, type[Algorithm]]):
    """Classes by name, loaded when asked for."""

    def __getitem__(self, name: str) -> type[Algorithm]:
        class_ = _CLASSES[name]
        found: type[Algorithm] = getattr(import_module(f"dfmst.algorithms.{name.replace('-', '_')}"), class_)
        return found

    def __contains__(self, name: object) -> bool:
        return name in _CLASSES  # without an import

    def __iter__(self) -> Iterator[str]:
        return iter(_CLASSES)

    def __len__(self) -> int:
        return len(_CLASSES)


#: Name -> class; the name selects its default object.
REGISTRY: Mapping[str, type[Algorithm]] = _Registry()


def __getattr__(name: str) -> Any:
    if name not in _NAMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = globals()[name] = REGISTRY[_NAMES[name]]
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
