"""NetworkX's backend ``"dfmst"``: its spanning trees and components, by dfmst.

Nothing has to be imported: NetworkX finds the backend by itself once dfmst is installed. Name it in a call,
``nx.minimum_spanning_tree(G, backend="dfmst")``, or for all calls: ``nx.config.backend_priority = ["dfmst"]``.

A graph is converted once and NetworkX keeps the conversion with it, so further calls on it take a fraction of the time.
Attributes are read at every call: ``G[u][v]["weight"] = 2`` counts in the next one. A method that adds or removes nodes
or edges, such as ``G.add_edge``, drops the conversion. Code that writes to ``G._adj`` itself must drop it by
``G.__networkx_cache__.clear()``. With ``nx.config.cache_converted_graphs = False`` none is kept. Views, such as
``G.subgraph(nodes)``, are read at every call.

``nx.from_pandas_edgelist(frame, ..., backend="dfmst")`` makes a graph of columns without a loop over its edges. Results
are those of NetworkX's Kruskal: the same edges with the same keys and attributes, in the same order. Of equal weights,
the edge that comes first in ``G.edges`` counts as lighter. NetworkX's ``"prim"`` and ``"boruvka"`` break ties in
another way; ``backend="dfmst"`` answers as Kruskal if they are named, and ``backend_priority`` leaves them to NetworkX.
"""

from __future__ import annotations

__all__: list[str] = []
