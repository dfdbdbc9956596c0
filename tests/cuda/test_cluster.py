"""The tasks of a cluster with partitions on a GPU: solved there, gathered there, only the forest copied."""

from __future__ import annotations

import itertools

import pytest
from hypothesis import given, strategies as st

import dfmst
from tests.support.gpu.standin import cudf, cupy
from tests.support.oracle import kruskal_rows
from tests.support.tables import edge_tables

pytest.importorskip("dask")

from dfmst._drive.cluster.groups import fold, group_parts
from dfmst._drive.cluster.partitions import Part
from dfmst._drive.cluster.rows import gather, locate
from dfmst._drive.cluster.two_pass import digests_of, fold_light, fold_residue, light_bound, sample
from dfmst._edges.read import EdgeColumns
from tests.support.lanes import examples

pytestmark = pytest.mark.usefixtures("shared_device")


class Partition(Part):
    """A partition that can be read again."""

    name = "a partition"

    def __init__(self, frame: cudf.DataFrame) -> None:
        self.frame = frame

    def read(self) -> cudf.DataFrame:
        return self.frame


def partitions(table, count):
    arrow = table.arrow()
    bounds = [arrow.num_rows * number // count for number in range(count + 1)]
    slices = [arrow.slice(begin, end - begin) for begin, end in itertools.pairwise(bounds)]
    return [Partition(cudf.DataFrame.from_arrow(part)) for part in slices]


@examples(60)
@given(edge_tables(), st.integers(1, 4), st.booleans())
def test_rows_of_device_partitions(table, count, maximum):
    parts = partitions(table, count)
    columns = EdgeColumns("u", "v", None if table.weight is None else "w", maximum)
    (group,) = group_parts(parts, 1)
    try:
        forest = fold(group, None, columns)
    except dfmst.InvalidEdgesError as error:
        assert "64-bit" in str(error)
        return
    chosen = locate(forest, count, True)
    taken = [gather(part, rows, number, columns) for number, (part, rows) in enumerate(zip(parts, chosen, strict=True))]
    assert all(isinstance(frame, cudf.DataFrame) for frame in taken)
    rows = [row for frame in taken for row in frame["payload"].to_arrow().to_pylist()]
    assert rows == sorted(kruskal_rows(table.source, table.target, table.weight, maximum and table.weight is not None))


def test_two_passes_over_device_partitions_and_what_they_copy():
    frame = cudf.DataFrame({"u": [0, 1, 2, 0] * 500, "v": [1, 2, 0, 2] * 500, "w": list(range(2000))})
    columns = EdgeColumns("u", "v", "w")
    (group,) = group_parts([Partition(frame)], 1)
    drawn = sample(group, None, columns, 1)
    bound = light_bound([drawn], 3)
    cupy.traffic.reset()
    light = fold_light(group, None, columns, bound, drawn)
    assert light["row"].to_pylist() == [0, 1]
    assert fold_residue(group, None, columns, bound, None, digests_of(light)).num_rows == 0
    assert sum(cupy.traffic.to_host) < 8 * 2000
