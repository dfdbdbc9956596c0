"""Every generator: sizes, degrees, structure, determinism, and rows pinned for good."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from dfmst import generate
from tests.support.columns import component_labels

#: Generator -> (parameters of a small graph, its first rows of source, target and weight).
PINNED: dict[str, tuple[Any, ...]] = {
    "rmat": (
        {"scale": 8, "edge_factor": 4},
        [162, 11, 188, 143],
        [174, 131, 128, 236],
        [0.8833108082136426, 0.43152799704850997, 0.026433771592597743, 0.9708819781538285],
    ),
    "erdos_renyi": (
        {"n_vertices": 1000, "n_edges": 3000, "weight": "float32"},
        [363, 549, 771, 356],
        [709, 859, 596, 992],
        [0.8833107948303223, 0.4315279722213745, 0.02643376588821411, 0.9708819389343262],
    ),
    "watts_strogatz": (
        {"n_vertices": 100, "neighbors": 4, "rewire": 0.5, "weight": "int32"},
        [0, 0, 1, 1],
        [71, 2, 2, 99],
        [1896895516, 926699317, 56766092, 2084953172],
    ),
    "exact_density": (
        {"n_vertices": 50, "density": 0.3, "weight": "hash24"},
        [0, 1, 2, 3],
        [32, 39, 10, 36],
        [4815422, 4425672, 11858928, 16608283],
    ),
    "road_grid": (
        {"rows": 20, "columns": 30},
        [0, 1, 2, 3],
        [1, 2, 32, 4],
        [1896895516, 926699317, 56766092, 2084953172],
    ),
    "complete_points": (
        {"n_points": 30, "dimensions": 3},
        [0, 0, 0, 0],
        [1, 2, 3, 4],
        [0.501806255719804, 0.5795233735515877, 0.7308871388885549, 0.5098989078430691],
    ),
    "ssca2": (
        {"scale": 7, "largest_clique": 6},
        [0, 0, 1, 3],
        [1, 2, 2, 4],
        [0.8833108082136426, 0.43152799704850997, 0.026433771592597743, 0.9708819781538285],
    ),
}


def ends(table):
    return table["source"].to_numpy(), table["target"].to_numpy()


def degrees(table, vertices):
    return np.bincount(np.concatenate(ends(table)), minlength=vertices)


def different_pairs(table):
    low, high = np.sort(ends(table), axis=0)
    return len(np.unique(low * (high.max() + 1) + high))


@pytest.mark.parametrize("name", PINNED)
def test_pinned_rows(name):
    parameters, *columns = PINNED[name]
    table = getattr(generate, name)(**parameters)
    assert table.schema.types[:2] == [pa.int64()] * 2
    assert [table[column][:4].to_pylist() for column in table.column_names] == columns


@pytest.mark.parametrize("name", PINNED)
def test_same_at_any_number_of_threads(name, monkeypatch):
    parameters = PINNED[name][0]
    tables = []
    for threads in ("1", "4"):
        monkeypatch.setenv("DFMST_NUM_THREADS", threads)
        tables.append(getattr(generate, name)(**parameters))
    assert tables[0].equals(tables[1])


@pytest.mark.parametrize("name", PINNED)
def test_the_seed_matters(name):
    parameters = PINNED[name][0]
    first, second = (getattr(generate, name)(**{**parameters, "seed": seed}) for seed in (1, 2))
    assert not first.equals(second)


@pytest.mark.parametrize("shuffle", [True, False])
def test_rmat(shuffle):
    table = generate.rmat(12, 8, shuffle=shuffle)
    assert table.num_rows == 8 << 12
    degree = np.sort(degrees(table, 1 << 12))[::-1]
    assert len(degree) == 1 << 12
    assert degree[:41].sum() > 0.1 * degree.sum()  # a hundredth of the vertices, over a tenth of the ends
    assert (degree == 0).sum() > 100


def test_rmat_shuffles_vertices():
    plain, shuffled = (generate.rmat(10, 8, shuffle=shuffle) for shuffle in (False, True))
    np.testing.assert_array_equal(np.sort(degrees(plain, 1024)), np.sort(degrees(shuffled, 1024)))
    assert degrees(plain, 1024).argmax() == 0
    assert degrees(shuffled, 1024).argmax() != 0


def test_rmat_quadrants():
    corner = generate.rmat(9, 4, quadrants=(0, 0, 0), shuffle=False)
    assert set(corner["source"].to_pylist()) == {511}
    source, target = ends(generate.rmat(1, 20_000, quadrants=(0.1, 0.2, 0.3), shuffle=False))
    shares = np.bincount(2 * source + target) / 40_000
    np.testing.assert_allclose(shares, [0.1, 0.2, 0.3, 0.4], atol=0.01)


def test_erdos_renyi():
    table = generate.erdos_renyi(1000, 100_000)
    source, target = ends(table)
    assert (source != target).all()
    assert degrees(table, 1000).min() > 130
    assert degrees(table, 1000).max() < 270
    assert generate.erdos_renyi(1, 0).num_rows == 0
    assert {tuple(sorted(pair)) for pair in zip(*ends(generate.erdos_renyi(2, 50)), strict=True)} == {(0, 1)}


def test_watts_strogatz():
    table = generate.watts_strogatz(10_000, 6, 0.1)
    source, target = ends(table)
    assert table.num_rows == 30_000
    assert (source != target).all()
    assert np.bincount(source).tolist() == [3] * 10_000
    moved = (target - source) % 10_000 > 3
    assert abs(moved.mean() - 0.1) < 0.01
    everywhere = ends(generate.watts_strogatz(10_000, 6, 1))[1]
    assert abs(everywhere.mean() - 5000) < 100


@pytest.mark.parametrize(
    ("vertices", "density"), [(1, 0.5), (2, 1), (3, 0.7), (3, 1), (50, 0.25), (50, 0.6), (50, 1), (300, 0.25), (300, 1)]
)
def test_exact_density(vertices, density):
    pairs = vertices * (vertices - 1) // 2
    table = generate.exact_density(vertices, density)
    assert table.num_rows == round(pairs * density)
    if table.num_rows:
        source, target = ends(table)
        assert (source != target).all()
        assert different_pairs(table) == table.num_rows
        assert not component_labels(vertices, source, target).any()


@pytest.mark.parametrize("seed", range(10))
def test_exact_density_of_a_tree(seed):
    table = generate.exact_density(40, 39 / 780, seed=seed)
    assert table.num_rows == 39
    assert not component_labels(40, *ends(table)).any()


def test_road_grid():
    table = generate.road_grid(300, 200, 0.7)
    source, target = ends(table)
    assert set((target - source).tolist()) == {1, 200}
    right = target - source == 1
    assert (source[right] % 200 != 199).all()
    assert abs(right.sum() / (300 * 199) - 0.7) < 0.01
    assert abs((~right).sum() / (299 * 200) - 0.7) < 0.01
    assert (np.diff(source) >= 0).all()
    assert target.max() < 60_000
    assert generate.road_grid(5, 7, 1).num_rows == 5 * 6 + 4 * 7
    assert generate.road_grid(5, 7, 0).num_rows == 0


@pytest.mark.parametrize("dimensions", [1, 2, 3, 20])
def test_complete_points(dimensions):
    table = generate.complete_points(60, dimensions)
    source, target = ends(table)
    expected = np.triu_indices(60, 1)
    np.testing.assert_array_equal(source, expected[0])
    np.testing.assert_array_equal(target, expected[1])
    distance = np.zeros((60, 60))
    distance[source, target] = distance[target, source] = table["weight"].to_numpy()
    through = (distance[:, :, None] + distance[None, :, :]).min(axis=1)
    assert (through >= distance - 1e-12).all()  # the triangle inequality: they are distances
    root_of_mean_square = np.sqrt(dimensions / 6)
    assert 0.6 * root_of_mean_square < table["weight"].to_numpy().mean() < 1.1 * root_of_mean_square


def test_ssca2():
    table = generate.ssca2(12, largest_clique=10, inter_clique=0)
    source, target = ends(table)
    assert (source < target).all()
    label = component_labels(1 << 12, source, target)
    sizes = np.bincount(label, minlength=1 << 12)
    sizes = sizes[sizes > 0]
    assert sizes.max() == 10
    assert table.num_rows == (sizes * (sizes - 1) // 2).sum()
    linked = generate.ssca2(12, largest_clique=10, inter_clique=0.5)
    links = linked.num_rows - table.num_rows
    assert abs(links / (1 << 12) - 1) < 0.05  # 1/2 + 1/4 + ...
    np.testing.assert_array_equal(linked["source"].to_numpy()[: table.num_rows], source)
    between = [label[end[table.num_rows :]] for end in ends(linked)]
    assert (between[0] != between[1]).all()
    assert generate.ssca2(0).num_rows == 0


@pytest.mark.parametrize(
    ("name", "arguments", "message"),
    [
        ("rmat", (0,), "scale is 0"),
        ("rmat", (3, -1), "edge_factor is -1"),
        ("erdos_renyi", (1, 1), "vertices is 1"),
        ("erdos_renyi", (5, -1), "edges is -1"),
        ("watts_strogatz", (5, 3), "neighbors is 3"),
        ("watts_strogatz", (4, 4), "neighbors is 4"),
        ("watts_strogatz", (5, 2, 1.5), "rewire is 1.5"),
        ("exact_density", (50, 0.01), "it must give between 49 and 1,225 edges"),
        ("exact_density", (50, 1.01), "it must give between 49 and 1,225 edges"),
        ("road_grid", (0, 5), "the grid is 0 by 5"),
        ("road_grid", (5, 5, 2), "keep is 2"),
        ("complete_points", (-1,), "points is -1"),
        ("complete_points", (5, 0), "dimensions is 0"),
        ("ssca2", (-1,), "scale is -1"),
        ("ssca2", (5, 0), "largest_clique is 0"),
        ("ssca2", (5, 2, 7), "inter_clique is 7"),
    ],
)
def test_parameters_out_of_range(name, arguments, message):
    with pytest.raises(ValueError, match=message):
        getattr(generate, name)(*arguments)


def test_quadrants_out_of_range():
    with pytest.raises(ValueError, match="quadrants is"):
        generate.rmat(3, quadrants=(0.9, 0.2, 0))
