"""What NetworkX asks a backend before it is used; imports nothing, since NetworkX asks at its own import."""

from __future__ import annotations

from typing import Any

__all__ = ["backend_info"]

_ORDER = "Edges are Kruskal's, in its order, whichever algorithm is named: NetworkX's Prim and Borůvka break ties in \
another way. Weights that NumPy has no type for, such as fractions, are left to NetworkX."
_FORESTS = [f"{kind}_spanning_{result}" for kind in ("minimum", "maximum") for result in ("edges", "tree")]
_COMPONENTS = ("connected_components", "number_connected_components", "is_connected", "node_connected_component")
_FUNCTIONS = {
    **dict.fromkeys([*_FORESTS, "partition_spanning_tree"], _ORDER),
    **dict.fromkeys(_COMPONENTS, ""),
    "from_pandas_edgelist": "The graph is made of the columns without a loop over the edges, and keeps them.",
}


def backend_info() -> dict[str, Any]:
    """Return what NetworkX shows of the backend."""
    return {
        "backend_name": "dfmst",
        "project": "dfmst",
        "package": "dfmst",
        "short_summary": "Spanning forests and components by parallel kernels.",
        "functions": {name: {"additional_docs": docs} for name, docs in _FUNCTIONS.items()},
        "default_config": {"engine": "auto"},  # or "cpu", or "cuda"
    }
