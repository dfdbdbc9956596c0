"""More rows than 31 bits number: positions are unsigned 32-bit words, and nothing else may be narrower."""

from __future__ import annotations

import sys

import numpy as np
import pytest

from dfmst._common.types import ROW_LIMIT
from dfmst._edges.edge_table import EdgeTable, check_capacity
from dfmst._engines import CpuEngine
from dfmst.algorithms import FilterBoruvka, FilterKruskal
from dfmst.algorithms.base import Trace
from dfmst.errors import CapacityError

ROWS, PATH = (1 << 31) + 1000, 500


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="needs pages of zeros that take no memory")
@pytest.mark.parametrize("algorithm", [FilterKruskal(light=0.05), FilterBoruvka(light=0.05)], ids=repr)
def test_rows_beyond_31_bits(algorithm):
    # Self-loops of equal weight, which nobody ever writes down, but for a path in the very last rows.
    source, target, weight = (np.zeros(ROWS, np.uint32) for _ in range(3))
    source[-PATH:] = np.arange(PATH)
    target[-PATH:] = np.arange(1, PATH + 1)
    rows = algorithm.run(CpuEngine(), EdgeTable(source, target, weight, 1 << 22), Trace())
    np.testing.assert_array_equal(rows, np.arange(ROWS - PATH, ROWS))


def test_rows_beyond_32_bits_are_refused():
    check_capacity(ROW_LIMIT)
    message = "the table has 4,294,967,295 rows; row positions hold at most 4,294,967,294"
    with pytest.raises(CapacityError, match=message):
        check_capacity(ROW_LIMIT + 1)
