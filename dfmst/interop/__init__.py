"""Edge tables of matrices and of other libraries' graphs, and back."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from dfmst.interop.tables import from_igraph, from_matrix, from_sparse, to_igraph, to_sparse

__all__ = ["from_igraph", "from_matrix", "from_sparse", "to_igraph", "to_sparse"]


def __getattr__(name: str) -> Any:
    """Load a function at its first use: NetworkX imports the backend next to them, which must stay light."""
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.tables"), name)
