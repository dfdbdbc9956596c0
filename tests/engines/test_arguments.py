"""Arguments of a launch on the host: addresses, and checks that are made once for launches of one description."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from dfmst._engines import CpuEngine, cpu
from dfmst._engines.cpu import described
from dfmst._engines.kernels import TYPES

COLUMNS = {
    "whole": np.arange(10, dtype=np.uint32),
    "part": np.arange(10, dtype=np.uint32)[3:],
    "strided": np.arange(10, dtype=np.int64)[::2],
    "empty": np.empty(0, np.float64),
    "text": np.array(["a", "b"]),
}


@pytest.mark.parametrize("column", COLUMNS.values(), ids=COLUMNS)
def test_addresses_are_numpy_s(column):
    assert described("k", (column,))[1] == [column.__array_interface__["data"][0]]


@pytest.mark.parametrize("dtype", TYPES.values(), ids=TYPES)
def test_columns_of_one_kind_have_one_description(dtype):
    first, second = np.zeros(3, dtype), np.ones(8, dtype)
    assert described("k", (first, None, 3))[0] == described("k", (second, None, 4))[0]
    others = [(first[::2], None, 3), (first, first, 3), (first, None, None), (first, None, np.int64(3))]
    read_only = first.copy()
    read_only.flags.writeable = False
    assert described("k", (first, None, 3))[0] not in [
        described("k", arguments)[0] for arguments in [*others, (read_only, None, 3)]
    ]


@pytest.mark.parametrize("column", COLUMNS.values(), ids=COLUMNS)
def test_without_known_fields(column, monkeypatch):
    arguments = (column, 1, None, column.view(type("Column", (np.ndarray,), {})), column)
    _, addresses = described("k", arguments)
    monkeypatch.setattr(cpu, "_KNOWN_FIELDS", False)
    assert described("k", arguments) == (None, addresses)


def test_other_kinds_have_none(tmp_path: Path):
    mapped = np.memmap(tmp_path / "column", np.uint32, "w+", shape=3)
    swapped = np.zeros(3, np.dtype(np.uint32).newbyteorder())
    assert [described("k", (column,))[0] for column in (mapped, swapped)] == [None, None]


def test_a_launch_is_checked_again_where_a_column_differs():
    engine, words = CpuEngine(1), np.zeros(4, np.uint32)
    engine.launch("leading_bits", 4, words, 0, 0, words)
    read_only = words.copy()
    read_only.flags.writeable = False
    engine.launch("leading_bits", 4, read_only, 0, 0, words)  # it is only read
    for wrong in (read_only, words[::2], words.astype(np.float32), words.view(words.dtype.newbyteorder()), 7):
        for _ in range(2):
            with pytest.raises(TypeError, match="kernel leading_bits"):
                engine.launch("leading_bits", 2, words, 0, 0, wrong)
