"""Bars of rows, and the memory of processes on systems that report less of it."""

from __future__ import annotations

import os
import sys

import pytest

from dfmst._common import machine


def _no_file(*_, **__):
    raise FileNotFoundError


def test_memory_without_the_files_of_linux(monkeypatch):
    resource = pytest.importorskip("resource")
    exact = machine.peak_memory()
    monkeypatch.setattr("builtins.open", _no_file)
    assert machine.memory_now() == 0
    peak = machine.peak_memory()
    assert exact is not None
    assert peak is not None
    assert exact >> 1 <= peak <= resource.getrusage(resource.RUSAGE_SELF).ru_maxrss << (sys.platform != "darwin") * 10
    monkeypatch.delattr(os, "sysconf")
    assert machine.machine_memory() is None


def test_a_system_without_resource_usage(monkeypatch):
    monkeypatch.setattr("builtins.open", _no_file)
    monkeypatch.setitem(sys.modules, "resource", None)
    assert machine.peak_memory() is None


@pytest.mark.parametrize("used", [0, 3 << 20])
def test_a_bar_learns_the_number_of_rows(capsys, monkeypatch, used):
    monkeypatch.setenv("COLUMNS", "100")
    monkeypatch.setattr(machine, "memory_now", lambda: used)
    bar = machine.RowBar("folding \x1b]0;", limit=8 << 20)
    bar(10)
    for done in (20, 40):
        bar(done, 40)
        assert (bar._bar.n, bar._bar.total) == (done, 40)
        assert bar._bar.postfix == (f"{used >> 20} of 8 MiB" if used else None)
    bar.close()
    assert r"folding \x1b]0; 10.0 rows" in capsys.readouterr().err


def test_a_bar_without_rows_draws_nothing(capsys):
    with machine.showing(True, "folding"):
        pass
    assert capsys.readouterr().err == ""


def test_progress_that_is_no_function():
    with pytest.raises(TypeError, match="progress is a int; it must be True, or a function"), machine.showing(1, "x"):
        pass
