"""Random graphs that are defined by chance alone."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from dfmst._common.arguments import with_numbers
from dfmst._common.types import Array
from dfmst._engines import Engine, select_engine
from dfmst._engines.primitives.flags import FLAG_GRAIN, compact, flag_words
from dfmst.generate.tables import Weight, chance, edge_columns, edge_table, half_bits, require, stream


@with_numbers("scale", "edge_factor", "seed")
def rmat(
    scale: int,
    edge_factor: int = 16,
    *,
    quadrants: tuple[float, float, float] = (0.57, 0.19, 0.19),
    shuffle: bool = True,
    seed: int = 0,
    weight: Weight = "float64",
    engine: str = "auto",
) -> pa.Table:
    """Recursive matrix graph: few hubs, many vertices of low degree, parallel rows and self-loops.

    Parameters
    ----------
    scale
        The vertices are ``2 ** scale``, of which some stay without an edge.
    edge_factor
        Edges per vertex.
    quadrants
        Probabilities of the quadrants a, b and c of the adjacency matrix; the rest is d.
    shuffle
        Whether vertices are renumbered by a random permutation, so that ids say nothing of degrees.
    seed
        What the graph depends on beside its parameters.
    weight
        Kind of weights (see :data:`Weight`).
    engine
        Where the graph is generated: ``"auto"``, ``"cpu"`` or ``"cuda"``; the table is on the host.

    Examples
    --------
    >>> from dfmst.generate import rmat
    >>> rmat(10, 8).num_rows
    8192

    References
    ----------
    Chakrabarti, Zhan, Faloutsos: R-MAT: A recursive model for graph mining. SDM 2004. The default quadrants are those
    of Graph 500.
    """
    require(0 < scale <= 32, f"scale is {scale}; it must be between 1 and 32")
    require(edge_factor >= 0, f"edge_factor is {edge_factor}; it must be at least 0")
    a, b, c = quadrants
    fits = min(a, b, c, 1 - a - b - c) > -1e-9  # a sum of tenths may miss 1 by a rounding
    require(fits, f"quadrants is {quadrants}; the probabilities must add up to at most 1")
    on = select_engine(engine)
    source, target = edge_columns(on, edge_factor << scale, 1 << scale)
    sums = (min(round(total * (1 << 32)), 1 << 32) for total in (a, a + b, a + b + c))
    permutation = stream(seed, 2) if shuffle else 0
    on.launch("rmat_edges", len(source), stream(seed, 1), scale, *sums, permutation, source, target)
    return edge_table(on, source, target, seed, weight)


@with_numbers("vertices", "edges", "seed")
def erdos_renyi(
    vertices: int, edges: int, *, seed: int = 0, weight: Weight = "float64", engine: str = "auto"
) -> pa.Table:
    """Uniformly random pairs of different vertices, drawn with replacement: parallel rows happen.

    Parameters
    ----------
    vertices, edges
        How many.
    seed, weight, engine
        As in :func:`rmat`.

    Examples
    --------
    >>> from dfmst.generate import erdos_renyi
    >>> erdos_renyi(1000, 5000, weight=None).column_names
    ['source', 'target']
    """
    require(edges >= 0, f"edges is {edges}; it must be at least 0")
    require(vertices >= 2 or edges == 0, f"vertices is {vertices}; an edge needs two of them")
    on = select_engine(engine)
    source, target = edge_columns(on, edges, vertices)
    on.launch("random_pairs", edges, stream(seed, 1), vertices, source, target)
    return edge_table(on, source, target, seed, weight)


@with_numbers("vertices", "neighbours", "seed", real=("rewire",))
def watts_strogatz(
    vertices: int,
    neighbours: int = 4,
    rewire: float = 0.1,
    *,
    seed: int = 0,
    weight: Weight = "float64",
    engine: str = "auto",
) -> pa.Table:
    """Small world: a ring in which every vertex is joined to its nearest, and some edges lead anywhere instead.

    Parameters
    ----------
    vertices
        Vertices on the ring.
    neighbours
        Nearest vertices that each is joined to, half of them on either side; even and below `vertices`.
    rewire
        Probability that an edge's target becomes any other vertex. Parallel rows may come of it.
    seed, weight, engine
        As in :func:`rmat`.

    Examples
    --------
    >>> from dfmst.generate import watts_strogatz
    >>> watts_strogatz(5, 2, rewire=0, weight=None).to_pydict()
    {'source': [0, 1, 2, 3, 4], 'target': [1, 2, 3, 4, 0]}

    References
    ----------
    Watts, Strogatz: Collective dynamics of 'small-world' networks. Nature 393, 1998.
    """
    fits = neighbours % 2 == 0 and 0 <= neighbours < max(vertices, 1)
    require(fits, f"neighbours is {neighbours}; it must be even and below the number of vertices")
    require(0 <= rewire <= 1, f"rewire is {rewire}; it must be a probability")
    on, reach = select_engine(engine), neighbours // 2
    source, target = edge_columns(on, vertices * reach, vertices)
    on.launch("ring_edges", len(source), stream(seed, 1), vertices, reach, chance(rewire), source, target)
    return edge_table(on, source, target, seed, weight)


@with_numbers("vertices", "seed", real=("density",))
def exact_density(
    vertices: int, density: float, *, seed: int = 0, weight: Weight = "float64", engine: str = "auto"
) -> pa.Table:
    """Connected graph with an exact number of different edges, as Johnsonbaugh and Kalin (1991) generate them.

    A random tree (each vertex under a random one of those before it, in random order) comes first; the other edges
    are the first pairs outside it in a random permutation of all pairs, so that none is drawn twice.

    Parameters
    ----------
    vertices
        How many.
    density
        Share of the ``vertices * (vertices - 1) / 2`` pairs that are edges; the number of edges is rounded.
    seed, weight, engine
        As in :func:`rmat`.

    Raises
    ------
    ValueError
        Too few edges to connect the vertices.

    Examples
    --------
    >>> from dfmst.generate import exact_density
    >>> exact_density(100, 0.25).num_rows
    1238

    References
    ----------
    Johnsonbaugh, Kalin: A graph generation software package. SIGCSE 1991.
    """
    pairs = vertices * (vertices - 1) // 2
    edges = round(pairs * density)
    fits = vertices > 0 and vertices - 1 <= edges <= pairs
    require(fits, f"density is {density}; it must give between {vertices - 1:,} and {pairs:,} edges")
    on = select_engine(engine)
    source, target = edge_columns(on, edges, vertices)
    parent = on.xp.empty(vertices, np.int64)
    on.launch("tree_parents", vertices, stream(seed, 1), vertices, half_bits(vertices), parent)
    flags = flag_words(on, vertices)
    on.launch("flag_not_own_parent", len(flags), parent, vertices, flags, grain=FLAG_GRAIN)
    children = compact(on, flags, np.uint64)
    on.launch("tree_edges", len(children), children, parent, source, target)
    others = slice(len(children), edges)
    _pairs_outside(on, stream(seed, 2), pairs, parent, source[others], target[others])
    return edge_table(on, source, target, seed, weight)


def _pairs_outside(on: Engine, word: int, pairs: int, parent: Array, source: Array, target: Array) -> None:
    """Fill both columns with different pairs that are not edges of the tree."""
    # However many of the tree's edges come first, so many pairs are enough.
    enough = len(source) + len(parent) - 1
    first, second = on.xp.empty(enough, np.int64), on.xp.empty(enough, np.int64)
    on.launch("distinct_pairs", enough, word, pairs, half_bits(pairs), first, second)
    flags = flag_words(on, enough)
    on.launch("flag_outside_tree", len(flags), first, second, enough, parent, flags, grain=FLAG_GRAIN)
    outside = compact(on, flags, np.uint64)[: len(source)]
    on.launch("gather_pairs", len(outside), outside, first, second, source, target)
