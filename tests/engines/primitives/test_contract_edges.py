"""Contraction of an edge table, with and without the vertices that have no edge left."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, strategies as st

from dfmst._engines.primitives.contract import contract_edges, count_roots
from dfmst._engines.primitives.edges import Edges
from tests.support.columns import VERTICES, each_engine, quick, seeds


@each_engine
@pytest.mark.parametrize("drop_isolated", [False, True])
@pytest.mark.parametrize("dtype", VERTICES)
@given(seed=seeds, length=st.integers(0, 300), vertices=st.integers(1, 200), roots=st.integers(1, 200))
@quick
def test_contract_edges(engine, drop_isolated, dtype, seed, length, vertices, roots):
    rng = np.random.default_rng(seed)
    root = rng.choice(vertices, min(roots, vertices), replace=False)
    parent = rng.choice(root, vertices).astype(np.uint32)
    parent[root] = root
    ends = rng.integers(0, vertices, (2, length)).astype(dtype)
    weight = rng.integers(0, 9, length).astype(np.uint32)
    found, left = contract_edges(engine, Edges(*ends, weight, None), parent, 2**32 - 1, drop_isolated)

    source, target = (parent[side.astype(int)] for side in ends)
    kept = np.flatnonzero(source != target)
    numbered = np.unique([source[kept], target[kept]]) if drop_isolated else np.sort(root)
    assert left == len(numbered)
    assert numbered[found.source].tolist() == source[kept].tolist()
    assert numbered[found.target].tolist() == target[kept].tolist()
    assert found.key.tolist() == (~weight[kept]).tolist()
    assert found.row.tolist() == kept.tolist()
    assert count_roots(engine, parent) == len(root)
