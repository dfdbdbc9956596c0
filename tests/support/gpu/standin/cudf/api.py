"""``cudf.api.extensions``."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

__all__ = ["extensions"]


def register_dataframe_accessor(name: str) -> Any:
    """As cuDF's: the accessor is made anew at every access."""
    from tests.support.gpu.standin.cudf.frame import DataFrame

    def register(accessor: type) -> type:
        setattr(DataFrame, name, property(accessor))
        return accessor

    return register


extensions = SimpleNamespace(register_dataframe_accessor=register_dataframe_accessor)
