"""Tables of unlike types, one after the other: the forest is that of their values, in memory, streams and on Dask."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from decimal import Decimal
from functools import partial
from pathlib import Path
from typing import Any

import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet
import pytest

import dfmst
from tests.support.oracle import kruskal_rows

SOURCE, TARGET, WEIGHT = [1, 2, 3, 1, 2, 4], [2, 3, 1, 4, 4, 1], [5, 6, 7, 4, 3, 9]
SECONDS = {"s": 1, "ms": 10**3, "us": 10**6, "ns": 10**9}


def timed(make: Callable[[str], pa.DataType], unit: str) -> Callable[[list[int]], pa.Array]:
    storage = pa.int32() if make(unit).bit_width == 32 else pa.int64()
    return lambda numbers: pa.array([at * SECONDS[unit] for at in numbers], storage).view(make(unit))


def plain(kind: pa.DataType) -> Callable[[list[int]], pa.Array]:
    return lambda numbers: pa.array([Decimal(at) if pa.types.is_decimal(kind) else at for at in numbers]).cast(kind)


def texts(kind: pa.DataType) -> Callable[[list[int]], pa.Array]:
    return lambda numbers: pa.array([f"{at:02}" for at in numbers]).cast(kind)


#: Two types that hold the same numbers.
BOTH = {
    "timestamps": (timed(pa.timestamp, "us"), timed(pa.timestamp, "ns")),
    "instants": tuple(timed(lambda unit: pa.timestamp(unit, "Asia/Tokyo"), unit) for unit in ("ms", "us")),
    "durations": (timed(pa.duration, "s"), timed(pa.duration, "ns")),
    "times": (timed(pa.time32, "ms"), timed(pa.time64, "us")),
    "long times": (timed(pa.time64, "us"), timed(pa.time64, "ns")),
    "dates": (
        lambda numbers: pa.array(numbers, pa.int32()).view(pa.date32()),
        lambda numbers: pa.array([at * 86_400_000 for at in numbers], pa.int64()).view(pa.date64()),
    ),
    "decimals": (plain(pa.decimal128(10, 0)), plain(pa.decimal128(12, 2))),
    "decimals and integers": (plain(pa.int64()), plain(pa.decimal128(10, 2))),
    "integers": (plain(pa.int32()), plain(pa.int64())),
    "signs": (plain(pa.uint32()), plain(pa.int64())),
}
IDS = {
    **BOTH,
    "texts": (texts(pa.string()), texts(pa.large_string())),
    "dictionaries": (texts(pa.string()), texts(pa.dictionary(pa.int8(), pa.string()))),
}
WEIGHTS = {
    **BOTH,
    "floats": (plain(pa.float32()), plain(pa.float64())),
    "floats and integers": (plain(pa.int64()), plain(pa.float64())),
    "narrow": (plain(pa.int8()), plain(pa.float16())),
}
CASES = [*((kinds, "ids") for kinds in IDS), *((kinds, "weights") for kinds in WEIGHTS)]


def pair(kinds: str, role: str) -> list[pa.Table]:
    """Half of the rows in each of two tables, the ids or the weights of either in types of their own."""
    tables = []
    for place, make in enumerate((IDS if role == "ids" else WEIGHTS)[kinds]):
        rows = slice(3 * place, 3 * place + 3)
        ids, weights = (make, pa.array) if role == "ids" else (pa.array, make)
        columns = {"source": ids(SOURCE[rows]), "target": ids(TARGET[rows]), "weight": weights(WEIGHT[rows])}
        tables.append(pa.table({**columns, "row": list(range(6)[rows])}))
    return tables


def forest_of(tables: list[pa.Table]) -> list[int]:
    rows = [row for table in tables for row in table["row"].to_pylist()]
    source, target, weight = ([column[row] for row in rows] for column in (SOURCE, TARGET, WEIGHT))
    forest = kruskal_rows(source, target, weight)
    return [rows[at] for at in sorted(forest)]


def files(tables: list[pa.Table], folder: Path) -> Path:
    for number, table in enumerate(tables):
        pyarrow.parquet.write_table(table, folder / f"{number}.parquet")
    return folder


def to_pandas(table: pa.Table) -> pd.DataFrame:
    return table.to_pandas(types_mapper=pd.ArrowDtype)


def on_dask(parts: list[pd.DataFrame], strategy: Any, **options: Any) -> Any:
    import dask
    import dask.dataframe as dd

    import dfmst.dask

    edges = dd.from_delayed([dask.delayed(part) for part in parts], verify_meta=False)
    return dfmst.dask.minimum_spanning_forest(edges, strategy=strategy, **options).compute(scheduler="sync")


READERS: dict[str, Callable[[list[pa.Table], Path], Any]] = {
    "memory": lambda tables, folder: dfmst.minimum_spanning_forest(dfmst.read_edges(files(tables, folder))),
    "files": lambda tables, folder: dfmst.stream.minimum_spanning_forest(files(tables, folder)),
    "tables": lambda tables, folder: dfmst.stream.minimum_spanning_forest(tables),
    "pandas": lambda tables, folder: dfmst.stream.minimum_spanning_forest([to_pandas(each) for each in tables]),
    "polars": lambda tables, folder: dfmst.stream.minimum_spanning_forest([pl.from_arrow(each) for each in tables]),
    "merge": lambda tables, folder: on_dask(list(map(to_pandas, tables)), "merge"),
    "shuffle": lambda tables, folder: on_dask(list(map(to_pandas, tables)), "shuffle"),
}


@pytest.mark.parametrize("reader", READERS)
@pytest.mark.parametrize(("kinds", "role"), CASES)
def test_values_are_compared(tmp_path: Path, kinds: str, role: str, reader: str) -> None:
    if (kinds, reader) == ("dates", "polars"):
        pytest.skip("polars makes a timestamp of date64")
    tables = pair(kinds, role)
    for order in (tables, tables[::-1]):
        forest = READERS[reader](order, tmp_path)
        assert list(
            map(int, forest["row"].to_pylist() if isinstance(forest, pa.Table) else forest["row"])
        ) == forest_of(order)


GROUPS: dict[str, Any] = {**IDS, "floats and integers": WEIGHTS["floats and integers"]}
GROUP_READERS: dict[str, Callable[[list[pa.Table], Path], Any]] = {
    "files": lambda tables, folder: dfmst.stream.minimum_spanning_forest(files(tables, folder), by="group"),
    "pandas": lambda tables, folder: dfmst.stream.minimum_spanning_forest(list(map(to_pandas, tables)), by="group"),
    "merge": lambda tables, folder: on_dask(list(map(to_pandas, tables)), "merge", by="group"),
}


@pytest.mark.parametrize("reader", GROUP_READERS)
@pytest.mark.parametrize("kinds", GROUPS)
def test_groups_are_compared(tmp_path: Path, kinds: str, reader: str) -> None:
    """Rows 0 and 3, and 1 and 4, are parallel edges of one group; rows 2 and 5 of two groups."""
    tables = [
        pa.table({"source": [1, 2, 3], "target": [2, 3, 4], "weight": [place] * 3, "group": make(groups)})
        for place, make, groups in zip((2, 1), GROUPS[kinds], ([1, 2, 3], [1, 2, 4]), strict=True)
    ]
    forest = pa.table(GROUP_READERS[reader](tables, tmp_path))
    assert forest["weight"].to_pylist() == [2, 1, 1, 1]


@pytest.mark.parametrize("strategy", ["merge", "shuffle"])
@pytest.mark.parametrize("convert", [True, False])
@pytest.mark.parametrize("kind", ["category", "object", "string"])
def test_texts_of_dask(kind: str, convert: bool, strategy: str) -> None:
    import dask

    tables = [table.to_pandas() for table in pair("texts", "ids")]
    frames = [table.astype({"source": kind, "target": kind}).set_index(pd.Index([1, None, 2.5])) for table in tables]
    with dask.config.set({"dataframe.convert-string": convert}):
        for parts in (
            frames,
            [frames[0], tables[1].set_index(frames[1].index)] if kind != "category" else frames[::-1],
        ):
            forest = on_dask(parts, strategy)
            assert forest["row"].tolist() == forest_of([pa.table({"row": part["row"]}) for part in parts])
            whole = pd.concat([part.reset_index() for part in parts]).set_index("row")
            assert forest.index.isna().tolist() == whole.loc[forest["row"], "index"].isna().tolist()


@pytest.mark.parametrize("strategy", ["merge", "shuffle"])
def test_decimals_in_objects_have_no_scale(strategy: str) -> None:
    import dask

    tables = [table.to_pandas() for table in pair("decimals", "ids")]
    assert tables[0]["source"].dtype == object
    with dask.config.set({"dataframe.convert-string": False}):  # Dask makes texts of all objects otherwise
        for parts in (tables, tables[::-1]):
            expected = forest_of([pa.table({"row": part["row"]}) for part in parts])
            assert on_dask(parts, strategy)["row"].tolist() == expected


HALVES = [
    pa.table({"source": [1, 2], "target": [2, 3], "weight": [5, 6]}),
    pa.table({"source": [1], "target": [3], "weight": [4]}),
]


def write_folder(folder: Path, names: list[str], tables: list[pa.Table]) -> Path:
    for name, table in zip(names, tables, strict=True):
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        pyarrow.parquet.write_table(table, folder / name)
    return folder


def of_memory(folder: Path) -> pa.Table:
    return dfmst.minimum_spanning_forest(dfmst.read_edges(folder))


def of_stream(folder: Path) -> pa.Table:
    forest = dfmst.stream.fold(folder)
    assert forest.verify()
    return forest.frame.replace_schema_metadata()


def of_cluster(folder: Path, *columns: str, **options: Any) -> pa.Table:
    from distributed import Client, LocalCluster

    import dfmst.dask

    quiet: Any = {"processes": False, "dashboard_address": ":0", "silence_logs": "CRITICAL"}
    with LocalCluster(n_workers=1, threads_per_worker=1, **quiet) as cluster, Client(cluster) as client:
        output = folder.with_name(folder.name + " forest")
        dfmst.dask.forest_of_files(folder, output, *columns, client=client, **options)
    return dfmst.read_edges(output)


FOLDERS = pytest.mark.parametrize("find", [of_memory, of_stream, of_cluster])


@FOLDERS
def test_folders_of_other_writers(tmp_path: Path, find: Callable[[Path], pa.Table]) -> None:
    unlike = HALVES[1].select(["weight", "target", "source"]).set_column(0, "weight", pa.array([4.0], pa.float32()))
    names = ["kind=a%20b/000000_0", "kind=__HIVE_DEFAULT_PARTITION__/part-0.snappy.parquet"]
    write_folder(tmp_path, names, [HALVES[0], unlike])
    empty = pa.table({"source": pa.array([], pa.float64()), "weight": pa.array([], pa.string())})
    write_folder(
        tmp_path, ["kind=c/none.parquet", "_temporary/half.parquet", ".hidden.parquet"], [empty, unlike, unlike]
    )
    for junk in ("_SUCCESS", "_metadata", ".part-0.crc", "kind=c/zero.parquet", "README"):
        (tmp_path / junk).write_bytes(b"" if junk != "README" else b"no table")
    # "kind=__..." sorts before "kind=a".
    expected = {"source": [1, 1], "target": [3, 2], "weight": [4.0, 5.0], "kind": [None, "a b"]}
    assert find(tmp_path).to_pydict() == expected


@FOLDERS
def test_columns_in_paths_have_pyarrows_values(tmp_path: Path, find: Callable[[Path], pa.Table]) -> None:
    write_folder(tmp_path, ["year=2024/n=07/a.parquet", "year=2025/n=x/a.parquet"], [HALVES[0].slice(0, 1), HALVES[1]])
    assert find(tmp_path).to_pydict() == pyarrow.parquet.read_table(tmp_path).to_pydict()


@pytest.mark.parametrize("strategy", ["stream", "merge", "shuffle"])
def test_names_of_directories_are_ids(tmp_path: Path, strategy: str) -> None:
    tables = [pa.table({"to": ["b", "c", "d"], "w": [3, 1, 2]}), pa.table({"to": ["a", "c"], "w": [4, 2]})]
    write_folder(tmp_path / "in", ["from=a/0.parquet", "from=b/0.parquet"], tables)
    names = ("from", "to", "w")
    assert dfmst.plan(files=[tmp_path / "in"], source="from", target="to").n_vertices == 4
    if strategy == "stream":
        found = dfmst.stream.minimum_spanning_forest(tmp_path / "in", *names)
    else:
        found = of_cluster(tmp_path / "in", *names, strategy=strategy)
    assert found.to_pydict() == {"to": ["c", "d", "c"], "w": [1, 2, 2], "from": ["a", "a", "b"]}
    assert found.equals(dfmst.minimum_spanning_forest(dfmst.read_edges(tmp_path / "in"), *names))


LARGE = pa.array([2**53 + 1, 1])
INSTANTS = pa.array([2, 1], pa.timestamp("us", "UTC")), pa.array([4], pa.timestamp("us", "Asia/Tokyo"))


@FOLDERS
@pytest.mark.parametrize(
    ("weights", "message"),
    [
        ((LARGE, pa.array(["4"])), r"column 'weight' is int64 in .*a\.parquet and string in .*b\.parquet"),
        ((LARGE, pa.array([0.5])), r"is double in .*b\.parquet and int64 in .*a\.parquet, and double does not"),
        (INSTANTS, r"is timestamp\[us, tz=UTC\] in .*a\.parquet and timestamp\[us, tz=Asia/Tokyo\] in .*b\.parquet"),
    ],
)
def test_values_without_a_common_type(
    tmp_path: Path, find: Callable[[Path], pa.Table], weights: tuple[pa.Array, pa.Array], message: str
) -> None:
    tables = [half.set_column(2, "weight", column) for half, column in zip(HALVES, weights, strict=True)]
    write_folder(tmp_path, ["a.parquet", "b.parquet"], tables)
    with pytest.raises(dfmst.InvalidEdgesError, match=message):
        find(tmp_path)


@pytest.mark.parametrize("find", [partial(dfmst.read_edges, weight="weight"), of_stream, of_cluster])
def test_a_file_lacks_a_column(tmp_path: Path, find: Callable[[Path], pa.Table]) -> None:
    write_folder(tmp_path, ["a.parquet", "b.parquet"], [HALVES[0], HALVES[1].drop(["weight"])])
    with pytest.raises(dfmst.ColumnNotFoundError, match=r"b\.parquet.*'weight'"):
        find(tmp_path)


@FOLDERS
def test_columns_of_files_and_of_paths(tmp_path: Path, find: Callable[[Path], pa.Table]) -> None:
    """The values of a path complete those of files, and contradict none."""
    names = ["n=01/a.parquet", "n=1/a.parquet"]
    write_folder(tmp_path / "text", names, [HALVES[0], HALVES[1]])
    assert find(tmp_path / "text")["n"].to_pylist() == ["01", "1"]
    named = [half.append_column("n", pa.array([1] * len(half))) for half in HALVES]
    write_folder(tmp_path / "same", names, [named[0], HALVES[1]])
    assert find(tmp_path / "same")["n"].to_pylist() == [1, 1]
    write_folder(tmp_path / "other", ["n=2/a.parquet", names[1]], named)
    with pytest.raises(dfmst.InvalidEdgesError, match=r"column 'n' is 1 in .*n=2.a\.parquet, whose folder says '2'"):
        find(tmp_path / "other")


TEXTS = [pa.string(), pa.large_string(), pa.string_view(), pa.run_end_encoded(pa.int32(), pa.string())]
TEXTS += [pa.dictionary(pa.int8(), kind) for kind in TEXTS[:3]]
WORDS = "abbaab", "bccdcd", "xyxyxy"  # sources, targets and names
LIBRARIES: dict[str, Callable[[pa.Table], Any]] = {
    "pyarrow": lambda table: table,
    "pandas": to_pandas,
    "polars": pl.from_arrow,
}


def words(kind: pa.DataType, rows: slice) -> pa.Table:
    def column(text: str) -> pa.Array:
        if pa.types.is_dictionary(kind):
            values = pa.array(sorted(set(text))).cast(kind.value_type)
            return pa.DictionaryArray.from_arrays(pa.array(map(sorted(set(text)).index, text), kind.index_type), values)
        array = pa.array(list(text))
        return pc.run_end_encode(array) if pa.types.is_run_end_encoded(kind) else array.cast(kind)

    ends = {name: column(text[rows]) for name, text in zip(("source", "target", "name"), WORDS, strict=True)}
    return pa.table({**ends, "weight": [5, 1, 4, 2, 6, 3][rows]})


def lists(frame: Any) -> list[list[Any]]:
    frame = frame.to_arrow() if isinstance(frame, pl.DataFrame) else frame
    columns = [frame[name] for name in (frame.column_names if isinstance(frame, pa.Table) else frame.columns)]
    arrow = [getattr(column, "array", column) for column in columns]  # pandas does not list views
    arrow = [column.__arrow_array__() if hasattr(column, "__arrow_array__") else column for column in arrow]
    return [column.to_pylist() if hasattr(column, "to_pylist") else column.tolist() for column in arrow]


JOINS: dict[str, Callable[[Any, Any], Any]] = {
    "stream": lambda first, second: dfmst.stream.minimum_spanning_forest([first, second]),
    "components": lambda first, second: dfmst.stream.connected_components([first, second]),
    "groups": lambda first, second: dfmst.stream.minimum_spanning_forest([first, second], by="name"),
    "update": lambda first, second: dfmst.update(dfmst.minimum_spanning_forest(first), second),
    "verify": lambda first, second: [str(dfmst.verify(first, second[:2])), str(dfmst.verify(first, second))],
    "keys": lambda first, second: str(dfmst.verify(first, second, ["source", "name"], ["target", "name"], by="name")),
    "bottlenecks": lambda first, second: dfmst.bottlenecks(first, second[:1], "source", "target", "weight"),
    "vertices": lambda first, second: dfmst.connected_components(first[:1], vertices=second["source"][:2]),
    "relabel": lambda first, second: dfmst.relabel(
        *(dfmst.clusters(each, distance=limit) for each, limit in ((first, 3), (second, 9)))
    )[0],
}


@pytest.mark.parametrize("library", LIBRARIES)
@pytest.mark.parametrize("join", JOINS)
def test_any_two_types_of_text(join: str, library: str) -> None:
    """Two tables that meet have one type of text."""
    parts = slice(0, 3), slice(3 if join in ("stream", "components", "groups", "update") else 0, 6)
    results = []
    for kinds in itertools.product(TEXTS, TEXTS):
        if any(map(pa.types.is_run_end_encoded, kinds)) and (library != "pyarrow" or join == "relabel"):
            continue
        if library == "polars" and any("view" in str(kind) for kind in kinds):  # it crashes on views of PyArrow 21
            continue
        result = JOINS[join](*(LIBRARIES[library](words(*each)) for each in zip(kinds, parts, strict=True)))
        results.append(result if isinstance(result, (str, list)) else lists(result))
    assert all(result == results[0] for result in results)
