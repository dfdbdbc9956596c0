"""The counts of a GPU's work, and the estimate made of them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.support.gpu import standin

BENCH = Path(__file__).parents[2] / "bench"


@pytest.fixture
def counting(bench):
    return bench("gpu.counts")


def test_a_small_graph_is_counted(counting):
    with standin.installed():
        memory = counting.counted_memory(counting.star(500))
        calls = counting.counted_calls(counting.star(500))
    assert memory["edges"] == 500
    assert memory["atomics_per_edge"] > 1  # each leaf offers, is joined and is flagged
    assert memory["sectors_stored_per_edge"] > 0.5  # a record of 16 bytes
    assert 0 < memory["hottest_address_share"] <= 1
    assert 0 <= memory["idle_lane_share"] < 1
    assert calls["launches"] == 4
    assert calls["reads"] == 1


def test_the_estimate_is_the_model(counting):
    calls = {"launches": 10, "array_calls": 5, "reads": 2, "meetings": 20, "allocations": 10}
    memory = {"sectors_loaded_per_edge": 10.0, "sectors_stored_per_edge": 5, "atomics_per_edge": 2}
    memory["hottest_address_share"] = 0.017
    low, high = counting.estimate(calls, memory, 10**7)
    assert low == pytest.approx(0.066 + 1.0 + 0.2)
    assert high == pytest.approx(0.175 + 17 / 6 + 0.34 / 1.2, abs=1e-3)
    # A small graph takes as long as the host takes to launch.
    low, high = counting.estimate(calls, memory, 1)
    assert low == pytest.approx(0.035 + 0.030 + 0.050 + 0.014 + 0.016)
    assert high == pytest.approx(0.070 + 0.060 + 0.100 + 0.030 + 0.040)


def test_the_committed_results_have_the_model_and_both_ends(counting):
    result = json.loads((BENCH / "results" / "gpu_counts.json").read_text(encoding="utf-8"))
    assert result["model"] == {name: list(ends) for name, ends in counting.MODEL.items()}
    for reported in result["graphs"].values():
        low, high = reported["estimated_ms"]
        assert 0 < low < high
    assert {*counting.PUBLISHED} <= {*result["graphs"]}
    reported = {name: result["graphs"][name]["estimated_ms"][1] for name in counting.PUBLISHED}
    behind = {name for name, high in reported.items() if high >= counting.PUBLISHED[name]}
    assert len(behind) <= 3
    assert not behind & {"USA-road-d.NY", "internet"}
