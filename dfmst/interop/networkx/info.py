"""What NetworkX asks a backend before it is used; imports nothing, since NetworkX asks at its own import."""

from __future__ import annotations

from typing import Any

__all__ = ["backend_info"]

_ORDER = "Edges come in Kruskal's order, whichever algorithm is named. Weights that NumPy has no type for, such as \
fractions, are left to NetworkX."
_FUNCTIONS = {
    "minimum_spanning_edges": _ORDER,
    "maximum_spanning_edges": _ORDER,
    "minimum_spanning_tree": _ORDER,
    "maximum_spanning_tree": _ORDER,
    "partition_spanning_tree": _ORDER,
    "connected_components": "",
    "number_connected_components": "",
    "is_connected": "",
    "node_connected_component": "",
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
    }
