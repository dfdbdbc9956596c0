"""Several files as one table."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import dfmst
import dfmst.dask
from dfmst.errors import FormatError, InvalidEdgesError, UnsupportedFrameError
from dfmst.formats import open_edges, read_edges, read_provenance, write_edges

ROADS = pa.table({"source": [1, 2], "target": [2, 3], "weight": [4, 5]})


def test_rows_of_one_file_after_the_other(tmp_path: Path) -> None:
    (tmp_path / "a.gr").write_text("a 1 2 4\na 2 3 5\n")
    (tmp_path / "b.csv").write_text("source,target,weight\n9,8,7\n")
    rows: list[tuple[str, int]] = []
    paths: list[str | Path] = [tmp_path / "a.gr", str(tmp_path / "b.csv")]
    table = read_edges(paths, progress=lambda path, count: rows.append((path.name, count)))
    assert table.to_pydict() == {"source": [1, 2, 9], "target": [2, 3, 8], "weight": [4, 5, 7]}
    assert rows == [("a.gr", 2), ("b.csv", 3)]


def test_progress_of_one_file(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("".join(f"{at} {at + 1}\n" for at in range(1000)))
    counts: list[int] = []
    table = open_edges(tmp_path / "a.txt", block_bytes=1000, progress=lambda _, rows: counts.append(rows)).read_all()
    assert table == read_edges(tmp_path / "a.txt")
    assert counts == sorted(counts)
    assert len(counts) > 5
    assert counts[-1] == 1000


@pytest.mark.parametrize("suffix", ["parquet", "arrow", "arrows"])
def test_metadata_of_the_first_and_nulls_of_the_later(tmp_path: Path, suffix: str) -> None:
    names = [tmp_path / f"a.{suffix}", tmp_path / f"b.{suffix}"]
    schema = pa.schema([pa.field("source", pa.int64(), nullable=False), pa.field("target", pa.int64())])
    first = pa.table({"source": [1], "target": [2]}, schema=schema.with_metadata({"units": "km"}))
    write_edges(first, names[0])
    write_edges(pa.table({"source": pa.array([None], pa.int64()), "target": [3]}), names[1])
    assert read_edges(names[:1]).schema.equals(first.schema, check_metadata=True)
    table = read_edges(names)
    assert table.to_pydict() == {"source": [1, None], "target": [2, 3]}
    assert table.schema.metadata == {b"units": b"km"}
    assert read_provenance(table.schema, len(table)) is None


def test_unlike_columns(tmp_path: Path) -> None:
    names = [tmp_path / name for name in ("a.parquet", "b.arrow")]
    write_edges(ROADS, names[0])
    write_edges(ROADS.select(["target", "source"]).append_column("weight", pa.array([4.0, 5.0])), names[1])
    table = read_edges(names)
    assert table.column_names == ROADS.column_names
    assert table.schema.field("weight").type == pa.float64()
    assert table.to_pylist() == ROADS.to_pylist() * 2


@pytest.mark.parametrize(
    ("other", "difference"),
    [
        (ROADS.drop(["weight"]), r"b\.parquet has other columns than .*a\.parquet: source, target instead of source"),
        (ROADS.set_column(2, "weight", [["3", "4"]]), r"'weight' is .* in .*a\.parquet and string in .*b\.parquet"),
        (ROADS.set_column(2, "weight", [[True, False]]), r"'weight' is .* in .*a\.parquet and bool in .*b\.parquet"),
    ],
)
def test_other_columns(tmp_path: Path, other: pa.Table, difference: str) -> None:
    write_edges(ROADS, tmp_path / "a.parquet")
    write_edges(other, tmp_path / "b.parquet")
    with pytest.raises(InvalidEdgesError, match=difference):
        read_edges([tmp_path / "a.parquet", tmp_path / "b.parquet"])


def test_one_type_for_all_files(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("source,target,weight,zip\n1,2,0.5,170\n")
    (tmp_path / "b.csv").write_text("target,source,weight,zip\n3,07,7,0170\n")
    expected = [("1", "2", 0.5, "170"), ("07", "3", 7.0, "0170")]
    for names in (["a.csv", "b.csv"], ["b.csv", "a.csv"]):
        table = read_edges([tmp_path / name for name in names])
        rows = list(zip(*table.select(["source", "target", "weight", "zip"]).to_pydict().values(), strict=True))
        assert sorted(rows) == sorted(expected)
    write_edges(ROADS.append_column("zip", [["9", "8"]]), tmp_path / "c.parquet")
    (tmp_path / "d.csv").write_text("source,target,weight,zip\n5,6,7,42\n")
    assert read_edges([tmp_path / "c.parquet", tmp_path / "d.csv"])["zip"].to_pylist() == ["9", "8", "42"]
    with pytest.raises(InvalidEdgesError, match=r"'(source|target)' is int64 in .*c\.parquet and string in .*b\.csv"):
        read_edges([tmp_path / "c.parquet", tmp_path / "b.csv"])


def test_every_file_must_be_there(tmp_path: Path) -> None:
    write_edges(ROADS, tmp_path / "a.parquet")
    with pytest.raises(FileNotFoundError, match="no such graph file"):
        open_edges([tmp_path / "a.parquet", tmp_path / "b.parquet"])
    with pytest.raises(InvalidEdgesError, match="no file to read"):
        open_edges([])
    for wrong in (5, None, [5]):
        calls: dict[str, Any] = {
            "path": lambda wrong=wrong: open_edges(wrong),
            "files": lambda wrong=wrong: dfmst.plan(files=wrong),
            "inputs": lambda wrong=wrong: dfmst.dask.forest_of_files(wrong, "out"),
        }
        for argument, call in calls.items():
            with pytest.raises(UnsupportedFrameError, match=f"{argument} holds (5|None), which is not the name"):
                call()


def test_a_later_file_that_is_damaged(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("1 2\n")
    (tmp_path / "b.txt").write_text("3 4\nx y\n")
    with pytest.raises(FormatError, match=r"b\.txt, line 2: not a whole number"):
        read_edges([tmp_path / "a.txt", tmp_path / "b.txt"])


GRAPHML = (
    '<graphml><key id="k" for="node" attr.name="{key}" attr.type="string"/><graph>'
    '<node id="{0}"><data key="k">{2}</data></node><node id="{1}"><data key="k">{3}</data></node>'
    '<edge source="{0}" target="{1}"/></graph></graphml>'
)
NODES = '{{"nodes": [{{"{key}": {2}}}, {{"{key}": {3}}}], "links": [{{"source": 0, "target": 1}}]}}'
#: Files whose ids only count their nodes: ids and labels are to be filled in.
LOCAL = {
    "a.gml": 'graph [ node [ id {0} label "{2}" ] node [ id {1} label "{3}" ] edge [ source {0} target {1} ] ]',
    "b.gml": 'graph [ node [ id {0} name "{2}" ] node [ id {1} name "{3}" ] edge [ source {0} target {1} ] ]',
    "a.net": '*Vertices 9\n{0} "{2}"\n{1} {3}\n*Edges\n{0} {1}\n',
    "a.graphml": GRAPHML.replace("{key}", "label"),
    "n.graphml": GRAPHML.replace("{key}", "name").replace('"{0}', '"n{0}').replace('"{1}', '"n{1}'),
    "a.json": NODES.replace("{key}", "name").replace("{2}", '"{2}"').replace("{3}", '"{3}"'),
}


@pytest.mark.parametrize("name", LOCAL)
def test_ids_that_count_the_nodes_of_a_file(tmp_path: Path, name: str) -> None:
    path, other = tmp_path / name, tmp_path / f"other-{name}"
    first, second = (0, 1) if name == "a.json" else (1, 2)
    path.write_text(LOCAL[name].format(first, second, "Ann", "Bob"))
    other.write_text(LOCAL[name].format(first, second, "Bob", "Eve"))
    with pytest.raises(FormatError, match=r"its ids count its own nodes .* 'Ann'\), and other files") as error:
        read_edges([path, other])
    assert "labels=True" in error.value.hint
    assert read_edges([path, other], labels=True).to_pydict() == {"source": ["Ann", "Bob"], "target": ["Bob", "Eve"]}
    ids = ["n1", "n2"] if name == "n.graphml" else [first, second]
    for table in (read_edges([path, other], labels=False).slice(1), read_edges(path)):
        assert table.to_pydict() == {"source": ids[:1], "target": ids[1:]}
    path.write_text(LOCAL[name].format(first, second, "Ann", "Ann"))
    with pytest.raises(FormatError, match=r"have the same label 'Ann'"):
        read_edges(path, labels=True)


@pytest.mark.parametrize("name", LOCAL)
def test_labels_that_are_the_ids(tmp_path: Path, name: str) -> None:
    path = tmp_path / name
    first, second = (0, 1) if name == "a.json" else (1, 2)
    ids = ("n1", "n2") if name == "n.graphml" else (first, second)
    path.write_text(LOCAL[name].format(first, second, *ids))
    assert read_edges([path, path]).num_rows == 2


def test_ids_of_the_user_next_to_names(tmp_path: Path) -> None:
    (tmp_path / "a.graphml").write_text(LOCAL["a.graphml"].format("BER", "CDG", "Berlin", "Paris"))
    (tmp_path / "b.graphml").write_text(LOCAL["a.graphml"].format(1700, 2600, "Berlin", "Paris"))
    (tmp_path / "a.csv").write_text("source,target\nBER,LHR\n")
    assert read_edges([tmp_path / "a.graphml", tmp_path / "a.csv"])["source"].to_pylist() == ["BER", "BER"]
    assert read_edges([tmp_path / "b.graphml", tmp_path / "b.graphml"])["source"].to_pylist() == [1700, 1700]


def test_a_node_without_a_label(tmp_path: Path) -> None:
    (tmp_path / "a.gml").write_text('graph [ node [ id 1 label "Ann" ] node [ id 2 name "Bob" ] ]')
    with pytest.raises(FormatError, match="node 2 has no label"):
        read_edges(tmp_path / "a.gml", labels=True)


def test_one_type_of_text(tmp_path: Path) -> None:
    kinds = (pa.string_view(), pa.large_string(), pa.string(), pa.binary_view(), pa.large_binary())
    for at, kind in enumerate(kinds):
        schema = pa.schema({"source": kind, "target": kind})
        table = pa.table({"source": [b"a"], "target": [b"b"]}).cast(
            pa.schema({"source": pa.large_binary(), "target": pa.large_binary()})
        )
        write_edges(table.cast(schema), tmp_path / f"{at}.arrow")
    for names, common in (((0, 1), "large_string"), ((2, 0, 1), "large_string"), ((3, 4), "large_binary")):
        table = read_edges([tmp_path / f"{at}.arrow" for at in names])
        assert set(map(str, table.schema.types)) == {common}
        assert table.num_rows == len(names)
