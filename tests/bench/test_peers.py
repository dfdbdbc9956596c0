"""The quick table of peers: every library on every graph, and no silence where forests differ."""

from __future__ import annotations

import importlib

import pytest

pytest.importorskip("pandas")
pytest.importorskip("scipy")


@pytest.fixture
def peers(bench, monkeypatch):
    quick = bench("support.quick_table")
    machine = {"processor": "one", "cores": 2, "python": "3", "date": "today", "packages": {"dfmst": "0"}}
    monkeypatch.setattr(quick, "describe", lambda *_: machine)
    return bench("peers")


def test_a_line_a_library(peers, capsys):
    graphs = {"road": lambda: importlib.import_module("support.graphs").road(20)}
    peers.print_table(peers.runs_of, ["scipy", "not_there"], graphs)
    reported = capsys.readouterr().out.splitlines()
    assert reported[:2] == ["one, 2 cores, today; Python 3, dfmst 0", "left out: not_there (pip install not_there)"]
    assert reported[4].split()[:3] == ["road", "400", "532"]
    assert [line[32:48].strip() for line in reported[4:]] == ["dfmst", "dfmst, 1 thread", "scipy"]
    assert float(reported[-1].split()[-1]) > 0


def test_forests_of_different_weight(peers):
    graphs = importlib.import_module("support.graphs")

    def runs_of(graph, names):
        return {"dfmst": lambda: [1.0], "other": lambda: [2.0]}

    with pytest.raises(AssertionError, match=r"other found weight 2\.0, dfmst 1\.0"):
        peers.print_table(runs_of, [], {"road": lambda: graphs.road(3)})
