"""Edge tables of matrices and of other libraries' graphs, and back."""

from dfmst.interop.igraph import from_igraph, to_igraph
from dfmst.interop.matrix import from_matrix
from dfmst.interop.sparse import from_sparse, to_sparse

__all__ = ["from_igraph", "from_matrix", "from_sparse", "to_igraph", "to_sparse"]
