"""The engine of NetworkX's backend and of the estimator: NetworkX's trees, found on the GPU's stand-in."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

nx: Any = pytest.importorskip("networkx")

from dfmst.interop.networkx.info import backend_info  # noqa: E402
from tests.support.gpu.packages import cupy  # noqa: E402


@pytest.fixture
def on_gpu(device, monkeypatch):
    monkeypatch.setattr(nx.config.backends.dfmst, "engine", "cuda")


def drawn() -> Any:
    rng = np.random.default_rng(8)
    graph = nx.Graph()
    graph.add_nodes_from(range(500))
    graph.add_weighted_edges_from((*ends, weight) for *ends, weight in rng.integers(0, 400, (1500, 3)).tolist())
    return graph


def test_the_option_exists():
    assert backend_info()["default_config"] == {"engine": "auto"}
    assert nx.config.backends.dfmst.engine == "auto"


@pytest.mark.parametrize("which", ["minimum", "maximum"])
def test_trees_and_components_are_found_on_the_gpu(on_gpu, which):
    graph = drawn()
    find = getattr(nx, f"{which}_spanning_edges")
    cupy.traffic.reset()
    found = list(find(graph, backend="dfmst"))
    assert cupy.traffic.to_device
    assert found == list(find(graph, backend="networkx"))
    cupy.traffic.reset()
    components = list(nx.connected_components(drawn(), backend="dfmst"))
    assert cupy.traffic.to_device
    assert components == list(nx.connected_components(graph, backend="networkx"))


def test_an_unknown_engine(monkeypatch):
    monkeypatch.setattr(nx.config.backends.dfmst, "engine", "gpu")
    with pytest.raises(ValueError, match="unknown engine 'gpu'; known engines: 'auto', 'cpu', 'cuda'"):
        list(nx.minimum_spanning_edges(drawn(), backend="dfmst"))


@pytest.mark.parametrize("metric", ["euclidean", "precomputed"])
def test_the_estimator(on_gpu, metric):
    pytest.importorskip("sklearn")
    from dfmst.sklearn import SingleLinkage

    points = np.random.default_rng(4).normal(size=(300, 2))
    samples = points if metric == "euclidean" else np.linalg.norm(points[:, None] - points[None], axis=2)
    host = SingleLinkage(5, metric=metric).fit(samples)
    cupy.traffic.reset()
    device = SingleLinkage(5, metric=metric, engine="cuda").fit(samples)
    assert cupy.traffic.to_device
    np.testing.assert_array_equal(device.labels_, host.labels_)
    np.testing.assert_array_equal(device.children_, host.children_)
