"""Small graphs of the four kinds that the papers measure: road network, Erdős–Rényi, R-MAT and SSCA#2."""

from __future__ import annotations

import numpy as np

from dfmst._edges.edge_table import EdgeTable


def weighted(source, target, vertices: int) -> EdgeTable:
    """The edges in a shuffled order, with distinct weights."""
    rng = np.random.default_rng(len(source))
    order = rng.permutation(len(source))
    ends = [np.ascontiguousarray(column[order], np.uint32) for column in (source, target)]
    return EdgeTable(ends[0], ends[1], rng.permutation(len(source)).astype(np.float32), vertices)


def erdos_renyi(vertices: int, degree: int) -> EdgeTable:
    """Uniform random ends."""
    return weighted(*np.random.default_rng(degree).integers(0, vertices, (2, vertices * degree // 2)), vertices)


def _road(side: int) -> EdgeTable:
    """A grid that three of ten edges are missing from."""
    at = np.arange(side * side).reshape(side, side)
    source = np.concatenate([at[:, :-1].ravel(), at[:-1].ravel()])
    target = np.concatenate([at[:, 1:].ravel(), at[1:].ravel()])
    kept = np.random.default_rng(side).random(len(source)) < 0.7
    return weighted(source[kept], target[kept], side * side)


def _rmat(scale: int, edges: int) -> EdgeTable:
    """Each level puts an edge into one quarter of the matrix, by 57, 19, 19 and 5 percent."""
    quarter = np.random.default_rng(scale).choice(4, (scale, edges), p=[0.57, 0.19, 0.19, 0.05])
    place = 1 << np.arange(scale)[:, None]
    return weighted((quarter // 2 * place).sum(0), (quarter % 2 * place).sum(0), 1 << scale)


def _ssca2(cliques: int, largest: int) -> EdgeTable:
    """Cliques of random sizes, and fewer links between cliques the further they are apart."""
    rng = np.random.default_rng(cliques)
    ends = np.cumsum(rng.integers(1, largest + 1, cliques))
    begins = np.concatenate([[0], ends[:-1]])
    pairs = [np.array(np.triu_indices(end - begin, 1)) + begin for begin, end in zip(begins, ends, strict=True)]
    apart = 1 << np.arange(int(ends[-1]).bit_length() - 1)
    links = [rng.integers(0, ends[-1], (1, ends[-1] // (2 + level))) for level in range(len(apart))]
    far = [np.concatenate([link, (link + step) % ends[-1]]) for link, step in zip(links, apart, strict=True)]
    return weighted(*np.concatenate([*pairs, *far], axis=1), int(ends[-1]))


GRAPHS: dict[str, EdgeTable] = {
    "road": _road(90),
    "Erdős–Rényi": erdos_renyi(8_000, 20),
    "R-MAT": _rmat(13, 60_000),
    "SSCA#2": _ssca2(800, 20),
}
