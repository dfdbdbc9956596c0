"""``dfmst.report``: a page of any graph, strictly well-formed, that asks for nothing."""

from __future__ import annotations

import json
import re
import struct
from datetime import timedelta
from decimal import Decimal
from importlib import import_module
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import dfmst
import dfmst.forest
from dfmst.errors import ColumnNotFoundError, FormatError, InvalidEdgesError
from tests.report.page import SVG, check_page, drawings, text_of

ROADS = pd.DataFrame(
    {
        "a": ["Bonn", "Köln", "Bonn", "Köln", "Aachen", "Ulm"],
        "b": ["Köln", "Aachen", "Aachen", "Düren", "Düren", "Neu-Ulm"],
        "km": [28.1, 70.4, 77.3, 38.9, 30.2, 2.0],
        "operator": ["north", "west", "west", "west", "west", "south"],
    }
)
TOWNS = pd.DataFrame(
    {
        "town": ["Bonn", "Köln", "Aachen", "Düren", "Ulm"],
        "lat": [50.73, 50.94, 50.78, 50.80, 48.40],
        "lon": [7.10, 6.96, 6.08, 6.49, 9.99],
    }
)


def random_table(rows: int, vertices: int, seed: int = 0) -> pa.Table:
    draw = np.random.default_rng(seed)
    ends = draw.integers(0, vertices, (2, rows))
    return pa.table({"source": ends[0], "target": ends[1], "weight": draw.lognormal(3, 2, rows)})


def test_a_small_table():
    page = dfmst.report(ROADS, "a", "b", "km", title="roads")
    root = check_page(page.html)
    assert set(drawings(root)) == {"picture", "weights", "degrees", "trees", "dendrogram", "rounds", "times"}
    assert "Minimum spanning forest of roads" in " ".join(" ".join(root.itertext()).split())
    keys = [" ".join(entry.itertext()) for entry in root.iter("dd")]
    assert keys[0].startswith("6edges") or keys[0].startswith("6 ")
    edges = text_of(root, "edges")
    for word in ("Köln", "38.90", "operator", "west"):
        assert word in edges
    assert "77.3" not in edges  # not in the forest
    names = [element.text for element in root.iter("span") if element.attrib.get("class") == "name"]
    assert sorted(filter(None, names)) == ["Aachen", "Bonn", "Düren", "Köln", "Neu-Ulm", "Ulm"]


@pytest.mark.parametrize("kind", [pd.DataFrame, pl.DataFrame, pl.LazyFrame, pa.table])
def test_every_kind_of_frame(kind):
    columns = ROADS.to_dict("list")
    root = check_page(dfmst.report(kind(columns), "a", "b", "km").html)
    assert "Bonn" in text_of(root, "edges")


def test_a_solution_and_its_trace():
    solution = dfmst.forest.solve(random_table(2_000, 300), algorithm="boruvka", return_trace=True)
    root = check_page(dfmst.report(solution, run={"seconds": {"read": 1.5, "total": 2.0}, "verified": True}).html)
    assert f"{solution.rows:,}" in " ".join(root.itertext())
    assert "✓ verified" in " ".join(root.itertext())
    assert "2.00 s from start to end" in text_of(root, "run")
    assert text_of(root, "rounds-table").count("–") == 0
    bare = dfmst.forest.solve(random_table(2_000, 300))
    assert "rounds" not in drawings(check_page(dfmst.report(bare).html))
    grouped = dfmst.forest.solve(ROADS, "a", "b", "km", by="operator")
    with pytest.raises(InvalidEdgesError, match="a forest of every group"):
        dfmst.report(grouped)
    for find in (dfmst.forest.solve, lambda frame, *columns: dfmst.stream.fold([frame], *columns)):
        with pytest.raises(InvalidEdgesError, match="ids or weights of several columns: "):
            find(ROADS, ["a", "a"], ["b", "b"], "km").report()


@pytest.mark.parametrize(
    ("run", "words"),
    [
        ({"algorithm": "merge", "driver": "cluster", "threads": 1}, "weight km · merge · on a cluster · 1 thread · "),
        ({"driver": "stream", "threads": 2, "verified": True}, "✓ verified · weight km · as a stream · 2 threads · "),
    ],
)
def test_a_forest_and_the_summary_of_its_run(run, words):
    forest = dfmst.minimum_spanning_forest(ROADS, "a", "b", "km")
    root = check_page(dfmst.report(forest, "a", "b", "km", run=run).html)
    assert words in " ".join("".join(root.itertext()).split())
    assert "weights" in drawings(root)


@pytest.mark.parametrize(
    "algorithm", ["filter-kruskal", "boruvka", "mastiff", "pma", "bsp", "prim", "kruskal", "epmst"]
)
def test_traces_of_every_algorithm(algorithm):
    root = check_page(dfmst.report(random_table(3_000, 400), algorithm=algorithm).html)
    words = text_of(root, "rounds-table")
    own = {"mastiff": "exempt", "pma": "reduction"}
    assert own.get(algorithm, "chosen") in words
    assert {"rounds", "times"} <= set(drawings(root))


def test_counts_of_ids_from_one_on():
    table = random_table(500, 60)
    shifted = table.set_column(0, "source", pa.array(table["source"].to_numpy() + 1))
    shifted = shifted.set_column(1, "target", pa.array(table["target"].to_numpy() + 1))
    cells = [[row.text for row in line] for line in check_page(dfmst.report(shifted).html).iter("tr")]
    components = cells[0].index("components")
    rounds = [line for line in cells if len(line) == len(cells[0]) and line[0] != "round"]
    assert rounds[-1][components] == "1"


HOSTILE = [
    "<script>alert(1)</script>",
    "</style></svg><img src=x onerror=alert(1)>",
    '"><a href="http://example.com">',
    "a\x00b\x1b[31m\n\u2028",
    "\u202eevil\u2066",
    "\ud800",
    "&amp;&lt;]]>",
    "x" * 5_000,
    "{{ 7 * 7 }}{% raw %}",
    "𝕏" * 50,
    "",
]


class Surrogate:
    """A value whose text no encoding takes."""

    def __str__(self) -> str:
        return "\ud800"


INVISIBLE = "\u202e \u2066 \u200f \u061c \u00ad \ufeff \u200b \x07 \x85 \x1b \u2028 \U000e0041"


def test_invisible_characters_are_shown_as_escapes():
    frame = pd.DataFrame({"source": [f"a{INVISIBLE}b"], "target": ["ن\u200cم"], INVISIBLE: [1.0], "text": INVISIBLE})
    plan = {"plan": [[INVISIBLE] * 3], "kind": INVISIBLE, "algorithm": INVISIBLE, "seconds": {INVISIBLE: 1.0}}
    for run in (None, plan):
        page = dfmst.report(frame, weight=INVISIBLE, title=INVISIBLE, note=INVISIBLE, run=run)
        assert not set(page.html) & (set(INVISIBLE) - {" "})
        shown = " ".join(letter.encode("unicode_escape").decode() for letter in INVISIBLE.split(" "))
        text = "".join(check_page(page.html).itertext())
        assert shown in text
        assert "ن\u200cم" in text  # a letter's form


def test_hostile_labels():
    ends = [name for name in HOSTILE if name != "\ud800"]
    frame = pd.DataFrame({ends[0]: ends, ends[1]: [*ends[1:], "z"], ends[2]: range(len(ends)), ends[5]: ends})
    page = dfmst.report(frame, ends[0], ends[1], ends[2], title=ends[0], note=ends[1])
    root = check_page(page.html)
    assert "<script" not in page.html
    assert "49" not in text_of(root, "edges").split()
    assert "<script>alert(1)</script>" in "".join(root.itertext())
    objects = pd.DataFrame({"source": [0], "target": [1], "weight": [1], "name": pd.Categorical(["a"])})
    objects["name"] = np.array([Surrogate()], dtype=object)
    check_page(dfmst.report(objects, title="\ud800").html)


@pytest.mark.parametrize(
    "columns",
    [
        {"source": [], "target": [], "weight": []},
        {"source": [7], "target": [7], "weight": [1.0]},
        {"source": [1], "target": [2], "weight": [0.0]},
        {"source": [1, 2], "target": [2, 3], "weight": [float("inf"), float("-inf")]},
        {"source": [1, 2, 3], "target": [2, 3, 4], "weight": [-1.7e308, 0.0, 1.7e308]},
        {"source": [1, 2, 3], "target": [2, 3, 4], "weight": [5e-324, 1e-300, 1.0]},
        {"source": [1, 2, 3], "target": [2, 3, 4], "weight": [-5, 0, 2**62]},
        {"source": [1, 2], "target": [2, 3], "weight": [Decimal("1.5"), Decimal("2.25")]},
        {"source": [1, 2], "target": [2, 3], "weight": [timedelta(hours=1), timedelta(days=40)]},
        {"source": [1, 2], "target": [2, 3], "weight": [True, False]},
        {"source": [1, 2], "target": [2, 3], "weight": [Decimal(2**70), Decimal(2**70 + 1)]},
    ],
    ids=["empty", "loop", "zero", "infinite", "widest", "tiny", "signed", "decimal", "duration", "boolean", "wide"],
)
def test_odd_graphs(columns):
    table = pa.table(columns)
    if not table.num_rows:
        table = table.cast(pa.schema([("source", pa.int64()), ("target", pa.int64()), ("weight", pa.float64())]))
    for maximum in (False, True):
        root = check_page(dfmst.report(table, maximum=maximum).html)
        assert f"{table.num_rows}" in " ".join(root.itertext())


TIMES: dict[str, Any] = {
    "days": (pa.date32(), [18262, 18263, 19723], "2024-01-01", "2022-01-01"),
    "seconds": (pa.timestamp("s"), [1577836800, 1577836801, 1577837800], "2020-01-01 00:16:40", "00:10"),
    "after 9999": (pa.timestamp("s"), [300_000_000_000, 300_000_000_001, 300_000_086_400], "11476-08-15 05:20:01", ""),
    "zone": (pa.timestamp("ns", "Asia/Tokyo"), [1, 2, 3], "1970-01-01 09:00:00.000000003+0900", ""),
    "time": (pa.time32("s"), [0, 1, 82_800], "23:00:00", "12:00:00"),
    "nanoseconds": (pa.time64("ns"), [1, 2, 3], "00:00:00.000000003", ""),
    "one": (pa.time32("s"), [10_800] * 3, "03:00:00", "03:00:00"),
}


@pytest.mark.parametrize("kind", TIMES)
@pytest.mark.parametrize("make", [lambda table: table, pl.from_arrow])
def test_dates_and_times(make, kind):
    dtype, counts, heaviest, tick = TIMES[kind]
    weight = pa.array(counts, pa.int32() if dtype.bit_width == 32 else pa.int64()).cast(dtype)
    table = pa.table({"source": weight, "target": pa.concat_arrays([weight[1:], weight[:1]]), "weight": weight})
    root = check_page(dfmst.report(make(table)).html)
    text = " ".join(root.itertext())
    assert heaviest in text
    assert tick in text
    assert not re.search(r"\de\+\d", text)


def test_without_weights():
    root = check_page(dfmst.report(ROADS, "a", "b", None).html)
    assert "Spanning forest" in "".join(root.itertext())
    assert not {"weights", "dendrogram", "edges"} & {section.attrib.get("id") for section in root.iter("section")}


def test_dropped_rows_and_conditions():
    frame = ROADS.assign(km=[float("nan"), *ROADS.km[1:]], built=[False, False, True, False, False, False])
    root = check_page(dfmst.report(frame, "a", "b", "km", invalid="drop", keep="built").html)
    assert "1 dropped" in "".join(root.itertext())
    assert "77.30" in text_of(root, "edges")


@pytest.mark.parametrize("rows", [3_000, 60_000])
def test_a_layout_draws_at_most_two_thousand_vertices(rows):
    root = check_page(dfmst.report(random_table(rows, rows)).html)
    (note,) = [note.text for note in root.iter("p") if " vertices, " in (note.text or "")]
    assert 1_000 < int(note.split()[0].replace(",", "")) <= 2_000
    assert len("".join(shape.attrib["d"] for shape in drawings(root)["picture"].iter(f"{SVG}path"))) < 100_000


def test_no_two_edges_of_a_layout_cross():
    from dfmst._edges.read import EdgeColumns
    from dfmst._report.facts import ForestFacts
    from dfmst._report.layout import lay_out

    forest = dfmst.minimum_spanning_forest(random_table(400, 120, seed=3))
    facts = ForestFacts(forest, EdgeColumns())
    x, y, _ = lay_out(facts)
    assert np.isfinite(x).all()
    assert len(set(zip(x.round(6).tolist(), y.round(6).tolist(), strict=True))) == facts.vertices


def geoparquet(encoding: str) -> pa.Table:
    if encoding == "WKB":
        cells = [struct.pack("<BIdd", 1, 1, x, y) for x, y in zip(TOWNS.lon, TOWNS.lat, strict=True)]
        cells[1] = struct.pack(">BIdd", 0, 1, TOWNS.lon[1], TOWNS.lat[1])
        geometry = pa.array(cells)
    else:
        geometry = pa.array([{"x": x, "y": y} for x, y in zip(TOWNS.lon, TOWNS.lat, strict=True)])
    about = {"version": "1.1.0", "primary_column": "place", "columns": {"place": {"encoding": encoding}}}
    table = pa.table({"town": TOWNS.town.tolist(), "place": geometry})
    return table.replace_schema_metadata({"geo": json.dumps(about)})


COLUMNS = ["[]", "7", '"place"', '{"place": []}', '{"place": "WKB"}', '{"place": null}']


@pytest.mark.parametrize(
    "about",
    [
        *(
            "[]",
            '"place"',
            "null",
            "7",
            "",
            "{",
            "[" * 100_000,
            '{"primary_column": ["place"]}',
            '{"primary_column": 7}',
        ),
        *(f'{{"primary_column": "place", "columns": {columns}}}' for columns in COLUMNS),
    ],
)
def test_damaged_geoparquet(about):
    points = geoparquet("WKB").replace_schema_metadata({"geo": about})
    with pytest.raises(FormatError, match=r"GeoParquet metadata are damaged: (?s:.*)coordinates=\('lon', 'lat'\)"):
        dfmst.report(ROADS, "a", "b", "km", points=points)


def test_points_of_texts():
    points = pa.table({"town": ["a"], "place": [{"x": "east", "y": "north"}]})
    with pytest.raises(InvalidEdgesError, match="column 'place' holds string values, which are no coordinates"):
        dfmst.report(ROADS, "a", "b", "km", points=points, coordinates="place")


@pytest.mark.parametrize("form", ["columns", "swapped", "WKB", "point", "beside"])
def test_a_map(form):
    points: Any = TOWNS
    coordinates, edges = None, ROADS
    if form in ("columns", "swapped"):
        coordinates = ("lon", "lat") if form == "columns" else ("lat", "lon")
    elif form == "beside":
        points, coordinates = None, ("lon", "lat")
        place = TOWNS.set_index("town")
        edges = ROADS.assign(
            **{f"{end}_{axis}": ROADS[end].map(place[axis]) for end in ("a", "b") for axis in ("lon", "lat")}
        )
    else:
        points = geoparquet(form)
    root = check_page(dfmst.report(edges, "a", "b", "km", points=points, coordinates=coordinates).html)
    words = text_of(root, "picture")
    assert "The forest on the map" in words
    assert "4 links in 2 trees; 1 vertex has no coordinates" in words
    tags = {e.text: e.attrib["style"] for e in root.iter("span") if e.attrib.get("class") == "name"}
    left = {name: float(style.split("left:")[1].split("%")[0]) for name, style in tags.items()}
    top = {name: float(style.split("top:")[1].split("%")[0]) for name, style in tags.items()}
    assert left["Aachen"] < left["Düren"] < left["Köln"] < left["Bonn"] < left["Ulm"]
    assert top["Köln"] < top["Bonn"] < top["Ulm"]


def test_a_link_over_the_edge_of_the_world_is_drawn_on_both_sides():
    points = pd.DataFrame({"id": ["F", "A", "P"], "lon": [-147.7, 177.5, 2.35], "lat": [64.8, 64.7, 48.9]})
    edges = pd.DataFrame({"source": ["F", "A"], "target": ["A", "P"], "weight": [2, 1]})
    root = check_page(dfmst.report(edges, points=points, coordinates=("lon", "lat")).html)
    tags = [e.text for e in root.iter("span") if e.attrib.get("class") == "tag" and "style" in e.attrib]
    assert tags.count("1") == 2


@pytest.mark.parametrize(
    ("options", "error", "words"),
    [
        ({"points": TOWNS, "coordinates": ("lon", "north")}, ColumnNotFoundError, "north"),
        ({"points": TOWNS, "coordinates": ("town", "lat")}, InvalidEdgesError, "no coordinates"),
        ({"points": TOWNS}, InvalidEdgesError, "no geometry"),
        ({"points": TOWNS, "id": "name", "coordinates": ("lon", "lat")}, ColumnNotFoundError, "name"),
        ({"points": TOWNS.assign(town=range(5)), "coordinates": ("lon", "lat")}, InvalidEdgesError, "none of the"),
        ({"coordinates": ("lon", "lat")}, ColumnNotFoundError, "a_lon"),
        ({"points": geoparquet("WKB"), "coordinates": "town"}, Exception, "not points"),
    ],
)
def test_coordinates_that_are_none(options, error, words):
    with pytest.raises(error, match=words):
        dfmst.report(ROADS, "a", "b", "km", **options)


def test_saving_and_notebooks(tmp_path):
    page = dfmst.report(ROADS, "a", "b", "km")
    path = page.save(tmp_path / "roads.html")
    assert path.read_text(encoding="utf-8") == page.html
    assert [file.name for file in tmp_path.iterdir()] == ["roads.html"]
    frame = page._repr_html_()
    assert frame.startswith("<iframe sandbox=")
    assert "<main>" not in frame  # escaped within srcdoc
    with pytest.raises(dfmst.OutputError):
        page.save(tmp_path / "missing" / "roads.html")


def test_the_accessor():
    for face in ("pandas", "polars"):
        import_module(f"dfmst.{face}")
    frames: list[Any] = [ROADS, pl.DataFrame(ROADS.to_dict("list"))]
    for frame in frames:
        assert "Bonn" in frame.mst.minimum("a", "b", "km").mst.report("a", "b", "km").html


@pytest.mark.slow
def test_a_million_rows_take_seconds():
    import time

    table = random_table(1_000_000, 200_000)
    begin = time.process_time()
    html = dfmst.report(table).html
    assert time.process_time() - begin < 8
    assert len(html) < 400_000
    check_page(html)


def test_a_part_of_the_largest_tree_has_no_legend_of_other_trees():
    table = pa.concat_tables([random_table(9_000, 4_000), pa.table({"source": [-1], "target": [-2], "weight": [0.5]})])
    picture = text_of(check_page(dfmst.report(table).html), "picture")
    assert "those nearest the vertex of most edges" in picture
    assert "largest tree second" not in picture
    assert "largest tree second" in text_of(check_page(dfmst.report(ROADS, "a", "b", "km").html), "picture")
