"""Graphs to test and measure with, as tables of ``source``, ``target`` and ``weight``.

Every graph depends on its parameters and `seed` alone: not on the engine, the threads or the platform.

====================================  ==================================================================================
paper                                 graphs
====================================  ==================================================================================
Knox and Knox (2025), section 6.1     :func:`exact_density` at 25 %, and by density
Nobari et al. (2012)                  :func:`rmat`, :func:`ssca2`, :func:`erdos_renyi`, :func:`watts_strogatz`
Vasconcellos et al. (2018)            :func:`exact_density` (Johnsonbaugh and Kalin 1991), :func:`road_grid` for DIMACS
Wang, Huang and Guo (2011)            :func:`erdos_renyi` with twice as many edges as vertices, ``weight="int32"``
====================================  ==================================================================================
"""

from __future__ import annotations

from typing import Literal, TypeAlias

import numpy as np
import pyarrow as pa
from numpy.typing import ArrayLike

from dfmst._common.arguments import check_choice, refuse_masked, with_numbers
from dfmst._common.types import ROW_LIMIT, Array
from dfmst._engines import Engine, select_engine
from dfmst._engines.primitives.flags import FLAG_GRAIN, compact, exclusive_sum, flag_words
from dfmst.errors import CapacityError

__all__ = [
    "Weight",
    "complete_points",
    "erdos_renyi",
    "exact_density",
    "hash24",
    "rmat",
    "road_grid",
    "ssca2",
    "watts_strogatz",
]

#: Kinds of weights: uniform in [0, 1) (``"float64"`` of 53 random bits, ``"float32"`` of 24), uniform in [0, 2^31)
#: (``"int32"``), a hash of the ends (``"hash24"``, see :func:`hash24`), or no weight column (``None``).
Weight: TypeAlias = Literal["float64", "float32", "int32", "hash24"] | None

_VERTEX_LIMIT = 1 << 32
_MASK = (1 << 64) - 1
_KERNELS = {"float64": "draw_f64", "float32": "draw_f32", "int32": "draw_i32", "hash24": "hash24"}


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
        The vertices are ``2 ** scale``; some stay without an edge.
    edge_factor
        Edges per vertex.
    quadrants
        Probabilities of the quadrants a, b and c of the adjacency matrix; the rest is d.
    shuffle
        Whether vertices are renumbered by a random permutation, so that ids do not depend on degrees.
    seed
        Seed of the random numbers.
    weight
        Kind of weights (see :data:`Weight`).
    engine
        Engine that generates the graph: ``"auto"``, ``"cpu"`` or ``"cuda"``; the table is in host memory.

    Examples
    --------
    >>> rmat(10, 8).num_rows
    8192

    References
    ----------
    Chakrabarti, Zhan, Faloutsos: R-MAT: A recursive model for graph mining. SDM 2004. The default quadrants are those
    of Graph 500.
    """
    _require(0 < scale <= 32, f"scale is {scale}; it must be between 1 and 32")
    _require(edge_factor >= 0, f"edge_factor is {edge_factor}; it must be at least 0")
    a, b, c = quadrants
    fits = min(a, b, c, 1 - a - b - c) > -1e-9  # a sum of tenths may miss 1 by a rounding
    _require(fits, f"quadrants is {quadrants}; the probabilities must add up to at most 1")
    on = select_engine(engine)
    source, target = _edge_columns(on, edge_factor << scale, 1 << scale)
    sums = (min(round(total * (1 << 32)), 1 << 32) for total in (a, a + b, a + b + c))
    permutation = _stream(seed, 2) if shuffle else 0
    on.launch("rmat_edges", len(source), _stream(seed, 1), scale, *sums, permutation, source, target)
    return _edge_table(on, source, target, seed, weight)


@with_numbers("n_vertices", "n_edges", "seed")
def erdos_renyi(
    n_vertices: int, n_edges: int, *, seed: int = 0, weight: Weight = "float64", engine: str = "auto"
) -> pa.Table:
    """Uniformly random pairs of different vertices, drawn with replacement: parallel rows happen.

    Parameters
    ----------
    n_vertices, n_edges
        Number of vertices, and of rows.
    seed, weight, engine
        As in :func:`rmat`.

    Examples
    --------
    >>> erdos_renyi(1000, 5000, weight=None).column_names
    ['source', 'target']
    """
    _require(n_edges >= 0, f"n_edges is {n_edges}; it must be at least 0")
    _require(n_vertices >= 2 or n_edges == 0, f"n_vertices is {n_vertices}; an edge needs two of them")
    on = select_engine(engine)
    source, target = _edge_columns(on, n_edges, n_vertices)
    on.launch("random_pairs", n_edges, _stream(seed, 1), n_vertices, source, target)
    return _edge_table(on, source, target, seed, weight)


@with_numbers("n_vertices", "neighbors", "seed", real=("rewire",))
def watts_strogatz(
    n_vertices: int,
    neighbors: int = 4,
    rewire: float = 0.1,
    *,
    seed: int = 0,
    weight: Weight = "float64",
    engine: str = "auto",
) -> pa.Table:
    """Small world: a ring in which every vertex is joined to its nearest, and some edges lead anywhere instead.

    Parameters
    ----------
    n_vertices
        Number of vertices on the ring.
    neighbors
        Nearest vertices that each is joined to, half of them on either side; even and below `n_vertices`.
    rewire
        Probability that an edge's target becomes any other vertex. Parallel rows may come of it.
    seed, weight, engine
        As in :func:`rmat`.

    Examples
    --------
    >>> watts_strogatz(5, 2, rewire=0, weight=None).to_pydict()
    {'source': [0, 1, 2, 3, 4], 'target': [1, 2, 3, 4, 0]}

    References
    ----------
    Watts, Strogatz: Collective dynamics of 'small-world' networks. Nature 393, 1998.
    """
    fits = neighbors % 2 == 0 and 0 <= neighbors < max(n_vertices, 1)
    _require(fits, f"neighbors is {neighbors}; it must be even and below the number of vertices")
    rewired, on, reach = _chance("rewire", rewire), select_engine(engine), neighbors // 2
    source, target = _edge_columns(on, n_vertices * reach, n_vertices)
    on.launch("ring_edges", len(source), _stream(seed, 1), n_vertices, reach, rewired, source, target)
    return _edge_table(on, source, target, seed, weight)


@with_numbers("n_vertices", "seed", real=("density",))
def exact_density(
    n_vertices: int, density: float, *, seed: int = 0, weight: Weight = "float64", engine: str = "auto"
) -> pa.Table:
    """Connected graph with an exact number of different edges, as Johnsonbaugh and Kalin (1991) generate them.

    A random tree (each vertex under a random one of those before it, in random order) comes first; the other edges
    are the first pairs outside it in a random permutation of all pairs, so that none is drawn twice.

    Parameters
    ----------
    n_vertices
        Number of vertices.
    density
        Share of the ``n_vertices * (n_vertices - 1) / 2`` pairs that are edges. Their number is rounded; they
        must be enough to connect the vertices.
    seed, weight, engine
        As in :func:`rmat`.

    Examples
    --------
    >>> exact_density(100, 0.25).num_rows
    1238

    References
    ----------
    Johnsonbaugh, Kalin: A graph generation software package. SIGCSE 1991.
    """
    pairs = n_vertices * (n_vertices - 1) // 2
    edges = round(pairs * density)
    fits = n_vertices > 0 and n_vertices - 1 <= edges <= pairs
    _require(fits, f"density is {density}; it must give between {n_vertices - 1:,} and {pairs:,} edges")
    on = select_engine(engine)
    source, target = _edge_columns(on, edges, n_vertices)
    parent = on.xp.empty(n_vertices, np.int64)
    on.launch("tree_parents", n_vertices, _stream(seed, 1), n_vertices, _half_bits(n_vertices), parent)
    flags = flag_words(on, n_vertices)
    on.launch("flag_not_own_parent", len(flags), parent, n_vertices, flags, grain=FLAG_GRAIN)
    children = compact(on, flags, np.uint64)
    on.launch("tree_edges", len(children), children, parent, source, target)
    # The other edges are random pairs outside the tree; enough of them even if all edges of the tree come first.
    first, second = on.xp.empty(edges, np.int64), on.xp.empty(edges, np.int64)
    on.launch("distinct_pairs", edges, _stream(seed, 2), pairs, _half_bits(pairs), first, second)
    flags = flag_words(on, edges)
    on.launch("flag_outside_tree", len(flags), first, second, edges, parent, flags, grain=FLAG_GRAIN)
    outside = compact(on, flags, np.uint64)[: edges - len(children)]
    others = slice(len(children), edges)
    on.launch("gather_pairs", len(outside), outside, first, second, source[others], target[others])
    return _edge_table(on, source, target, seed, weight)


@with_numbers("rows", "columns", "seed", real=("keep",))
def road_grid(
    rows: int, columns: int, keep: float = 0.7, *, seed: int = 0, weight: Weight = "int32", engine: str = "auto"
) -> pa.Table:
    """Grid of streets, some of them missing: sparse, of large diameter, and mostly in one component.

    Parameters
    ----------
    rows, columns
        Crossings each way; vertex ``row * columns + column``.
    keep
        Probability of an edge between two neighbors.
    seed, weight, engine
        As in :func:`dfmst.generate.rmat`.

    Examples
    --------
    >>> road_grid(2, 3, keep=1, weight=None).to_pydict()
    {'source': [0, 0, 1, 1, 2, 3, 4], 'target': [1, 3, 2, 4, 5, 4, 5]}
    """
    _require(rows > 0 and columns > 0, f"the grid is {rows} by {columns}; it must be at least 1 by 1")
    kept, on, vertices = _chance("keep", keep), select_engine(engine), rows * columns
    flags = flag_words(on, 2 * vertices)
    on.launch("flag_grid", len(flags), _stream(seed, 1), kept, rows, columns, flags, grain=FLAG_GRAIN)
    places = compact(on, flags, np.uint64)
    source, target = _edge_columns(on, len(places), vertices)
    on.launch("grid_edges", len(places), places, columns, source, target)
    return _edge_table(on, source, target, seed, weight)


@with_numbers("n_points", "dimensions", "seed")
def complete_points(
    n_points: int,
    dimensions: int = 2,
    *,
    seed: int = 0,
    weight: Weight | Literal["distance"] = "distance",
    engine: str = "auto",
) -> pa.Table:
    """Every pair of random points of the unit cube, weighted by their distance (``float64``).

    Parameters
    ----------
    n_points
        Number of vertices; the rows are all pairs, ``source < target``, in ascending order.
    dimensions
        Of the cube, at most 4,096. Coordinates are multiples of 2^-24.
    weight
        ``"distance"``, or another kind as in :func:`dfmst.generate.rmat`.
    seed, engine
        As in :func:`dfmst.generate.rmat`.

    Examples
    --------
    >>> complete_points(100).num_rows
    4950
    """
    _require(0 <= n_points < 1 << 32, f"n_points is {n_points}; it must be at least 0 and fit 32 bits")
    _require(0 < dimensions <= 1 << 12, f"dimensions is {dimensions}; it must be between 1 and 4,096")
    on = select_engine(engine)
    source, target = _clique_edges(on, on.xp.full(n_points, n_points, np.uint64))
    if not isinstance(weight, str) or weight != "distance":
        return _edge_table(on, source, target, seed, weight)
    distance = on.xp.empty(len(source), np.float64)
    on.launch("distances", len(source), _stream(seed, 1), dimensions, source, target, distance)
    return _edge_table(on, source, target, seed, None, distance)


@with_numbers("scale", "largest_clique", "seed", real=("inter_clique",))
def ssca2(
    scale: int,
    largest_clique: int | None = None,
    inter_clique: float = 0.5,
    *,
    seed: int = 0,
    weight: Weight = "float64",
    engine: str = "auto",
) -> pa.Table:
    """Cliques of random sizes side by side, with links between cliques that are the rarer the further they lead.

    Parameters
    ----------
    scale
        The vertices are ``2 ** scale``.
    largest_clique
        Sizes are uniform from 1 to this; ``None``: ``2 ** (scale / 3)``.
    inter_clique
        Probability that a vertex is linked into the next clique; it halves as the distance doubles.
    seed, weight, engine
        As in :func:`dfmst.generate.rmat`.

    Examples
    --------
    >>> ssca2(2, largest_clique=1, inter_clique=1, weight=None).to_pydict()["source"][:4]
    [0, 1, 2, 3]

    References
    ----------
    Bader, Madduri: Design and implementation of the HPCS graph analysis benchmark on symmetric multiprocessors (SSCA
    2). HiPC 2005. Here every edge is one row: the benchmark's directions and parallel edges are left out.
    """
    _require(0 <= scale <= 32, f"scale is {scale}; it must be between 0 and 32")
    _chance("inter_clique", inter_clique)
    largest = round(2 ** (scale / 3)) if largest_clique is None else largest_clique
    _require(largest > 0, f"largest_clique is {largest}; it must be at least 1")
    on, vertices = select_engine(engine), 1 << scale
    begin = _clique_begins(on, vertices, largest, _stream(seed, 1))
    numbers = on.xp.arange(vertices, dtype=np.uint64)
    clique = (on.xp.searchsorted(begin, numbers, side="right") - 1).astype(np.uint64)
    parts = [_clique_edges(on, begin[1:][clique])]
    for level in range((len(begin) - 2).bit_length()):
        flags, chances = flag_words(on, vertices), _chance("inter_clique", inter_clique / (1 << level))
        on.launch("draw_flags", len(flags), _stream(seed, 2 * level + 2), chances, vertices, flags, grain=FLAG_GRAIN)
        places = compact(on, flags, np.uint64)
        ends = _edge_columns(on, len(places), vertices)
        cliques = (clique, begin, len(begin) - 1, 1 << level)
        on.launch("clique_links", len(places), _stream(seed, 2 * level + 3), places, *cliques, *ends)
        parts.append(ends)
    source, target = (on.xp.concatenate(columns) for columns in zip(*parts, strict=True))
    return _edge_table(on, source, target, seed, weight)


def _clique_begins(on: Engine, vertices: int, largest: int, word: int) -> Array:
    """First vertex of each clique, and the number of vertices."""
    cliques = 2 * vertices // (largest + 1) + 64
    ends = on.xp.zeros(1, np.uint64)
    while int(ends[-1]) < vertices:
        sizes = on.xp.empty(cliques, np.uint64)
        on.launch("draw_below", cliques, word, largest, sizes)
        ends = on.xp.cumsum(sizes + np.uint64(1))
        cliques *= 2  # numbers are counted: those drawn before stay the same
    inner = ends[ends < np.uint64(vertices)]
    begin: Array = on.xp.concatenate([on.xp.zeros(1, np.uint64), inner, on.xp.full(1, vertices, np.uint64)])
    return begin


def _clique_edges(on: Engine, end: Array) -> tuple[Array, Array]:
    """All pairs within cliques; ``end[v]`` is one past the last vertex of the clique of v."""
    later = end - on.xp.arange(1, len(end) + 1, dtype=np.uint64)
    offset, edges = exclusive_sum(on, later)
    source, target = _edge_columns(on, edges, len(end))
    on.launch("clique_edges", len(end), end, offset, source, target, grain=64)
    return source, target


def hash24(source: ArrayLike, target: ArrayLike) -> Array:
    """Weights for graphs that have none: 24 bits of a hash of both ends, from 1 to 2^24.

    The smaller end times ``0x9E3779B97F4A7C15`` plus the larger one times ``0xBF58476D1CE4E5B9`` make a 64-bit word
    (products and sums wrap around). It is folded with itself shifted right by 31 bits, multiplied by
    ``0x94D049BB133111EB`` and folded again by 29 bits; folding is exclusive or. The weight is one more than the word's
    leading 24 bits. Either direction of an edge has the same weight, and so have parallel edges.

    Parameters
    ----------
    source, target
        Integer vertices of each edge.

    Examples
    --------
    >>> hash24([0, 7], [7, 0])
    array([10010074, 10010074], dtype=int32)
    """
    refuse_masked("source", source)
    refuse_masked("target", target)
    try:
        first, second = (np.ascontiguousarray(column, np.int64) for column in (source, target))
    except OverflowError:
        raise ValueError("vertices are integers of 64 bits") from None
    return _weights(select_engine("cpu"), first, second, 0, "hash24")


def _stream(seed: int, number: int) -> int:
    """First word of one of a seed's independent streams of random numbers."""
    word = (seed * 0x9E3779B97F4A7C15 + number * 0xD1342543DE82EF95) & _MASK
    for shift, factor in ((30, 0xBF58476D1CE4E5B9), (27, 0x94D049BB133111EB)):
        word = (word ^ word >> shift) * factor & _MASK
    return word ^ word >> 31


def _chance(name: str, probability: float) -> int:
    """Turn a probability into the kernels' chance out of 2^53."""
    _require(0 <= probability <= 1, f"{name} is {probability}; it must be a probability")
    return round(probability * (1 << 53))


def _half_bits(length: int) -> int:
    """Bits of one half of a permutation's numbers."""
    return max(1, -(-(length - 1).bit_length() // 2))


def _require(condition: bool, message: str) -> None:
    """Raise ValueError if a condition on a parameter is false."""
    if not condition:
        raise ValueError(message)


def _edge_columns(engine: Engine, edges: int, vertices: int) -> tuple[Array, Array]:
    """Allocate both columns of ends."""
    if edges > ROW_LIMIT or vertices > _VERTEX_LIMIT:
        message = f"the graph has {vertices:,} vertices and {edges:,} edges"
        raise CapacityError(message, f"ask for at most {_VERTEX_LIMIT:,} vertices and {ROW_LIMIT:,} edges")
    return engine.xp.empty(edges, np.int64), engine.xp.empty(edges, np.int64)


def _edge_table(
    engine: Engine, source: Array, target: Array, seed: int, weight: Weight, values: Array | None = None
) -> pa.Table:
    """Return the table of edges, with weights at random, or those in `values`."""
    if values is None and weight is not None:
        message = f"weight is {weight!r}; it must be 'float64', 'float32', 'int32', 'hash24' or None"
        check_choice(weight, tuple(_KERNELS), message)
        values = _weights(engine, source, target, seed, weight)
    columns = {"source": source, "target": target} | ({} if values is None else {"weight": values})
    return pa.table({name: pa.array(engine.to_host(column)) for name, column in columns.items()})


def _weights(engine: Engine, source: Array, target: Array, seed: int, weight: str) -> Array:
    weights: Array = engine.xp.empty(len(source), np.int32 if weight == "hash24" else weight)
    drawn_from = (source, target) if weight == "hash24" else (_stream(seed, 0),)
    engine.launch(_KERNELS[weight], len(source), *drawn_from, weights)
    return weights
