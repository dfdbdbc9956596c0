"""``dfmst.report``: a page of any graph, strictly well-formed, that asks for nothing."""

from __future__ import annotations

import json
import re
import struct
from datetime import timedelta
from decimal import Decimal
from importlib import import_module
from itertools import combinations
from typing import Any

import networkx as nx
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
    assert set(drawings(root)) == {"picture", "weights", "degrees", "trees", "dendrogram"}
    (grid,) = [element for element in root.iter("div") if "grid" in element.attrib.get("class", "")]
    assert grid.attrib["class"] == "grid n4"
    assert "Aachen" not in text_of(root, "trees")
    assert "tree of Düren: 4 vertices" in text_of(root, "trees")  # of the vertices with most edges the smallest
    assert "Minimum spanning forest of roads" in " ".join(" ".join(root.itertext()).split())
    keys = [" ".join(entry.itertext()) for entry in root.iter("dd")]
    assert keys[0] == "6none dropped" or keys[0] == "6 none dropped"
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
    (details,) = root.iter("details")
    charts = {"rounds", "times"} if len(list(details.iter("tr"))) > 2 else set()  # a single point makes no chart
    assert {section.attrib["id"] for section in details.iter("section")} == {"rounds-table", *charts}
    assert charts <= set(drawings(root))


def test_counts_of_ids_from_one_on():
    table = random_table(500, 60)
    shifted = table.set_column(0, "source", pa.array(table["source"].to_numpy() + 1))
    shifted = shifted.set_column(1, "target", pa.array(table["target"].to_numpy() + 1))
    (details,) = check_page(dfmst.report(shifted).html).iter("details")
    cells = [[row.text for row in line] for line in details.iter("tr")]
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
    ("columns", "words"),
    [
        ({"source": [], "target": [], "weight": []}, "Trees 0 Solved in .* The table has no rows. The whole run"),
        ({"source": [7], "target": [7], "weight": [1.0]}, "Forest 0 0 % of the rows .* no row joins two vertices"),
        ({"source": [1], "target": [2], "weight": [0.0]}, "1 100 % of the rows Total weight 0 weight Trees 1 with all"),
        ({"source": [1], "target": [2], "weight": [0.99999]}, "Total weight 0.99999 100 % of all weight"),
        (
            {"source": range(0, 240, 2), "target": range(1, 240, 2), "weight": range(120)},
            "Total weight 7,140 100 % of all weight Trees 120 largest: 2 vertices .* Share of the trees",
        ),
        ({"source": range(999), "target": range(1, 1000), "weight": [*range(20)] + [0] * 979}, "axis of rows is log"),
        ({"source": [1, 2], "target": [2, 3], "weight": [float("inf"), float("-inf")]}, ""),
        ({"source": [1, 2, 3], "target": [2, 3, 4], "weight": [-1.7e308, 0.0, 1.7e308]}, ""),
        ({"source": [1, 2, 3], "target": [2, 3, 4], "weight": [5e-324, 1e-300, 1.0]}, ""),
        ({"source": [1, 2, 3], "target": [2, 3, 4], "weight": [-5, 0, 2**62]}, ""),
        ({"source": [1, 2], "target": [2, 3], "weight": [Decimal("1.5"), Decimal("2.25")]}, ""),
        ({"source": [1, 2], "target": [2, 3], "weight": [timedelta(hours=1), timedelta(days=40)]}, ""),
        ({"source": [1, 2], "target": [2, 3], "weight": [True, False]}, ""),
        ({"source": [1, 2], "target": [2, 3], "weight": [Decimal(2**70), Decimal(2**70 + 1)]}, ""),
    ],
)
def test_odd_graphs(columns, words):
    table = pa.table(columns)
    if not table.num_rows:
        table = table.cast(pa.schema([("source", pa.int64()), ("target", pa.int64()), ("weight", pa.float64())]))
    for maximum in (False, True):
        text = " ".join(" ".join(check_page(dfmst.report(table, maximum=maximum).html).itertext()).split())
        assert f"{table.num_rows}" in text
        assert re.search(words, text)


TIMES: dict[str, Any] = {
    "days": (pa.date32(), [18262, 18263, 19723], "2024-01-01", "2022-01-01"),
    "seconds": (pa.timestamp("s"), [1577836800, 1577836801, 1577837800], "2020-01-01 00:16:40", "00:10"),
    "after 9999": (pa.timestamp("s"), [300_000_000_000, 300_000_000_001, 300_000_086_400], "11476-08-15 05:20:01", ""),
    "zone": (pa.timestamp("ns", "Asia/Tokyo"), [1, 2, 3], "1970-01-01 09:00:00.000000003+0900", ""),
    "time": (pa.time32("s"), [0, 1, 82_800], "23:00:00", "12:00:00"),
    "nanoseconds": (pa.time64("ns"), [1, 2, 3], "00:00:00.000000003", ""),
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


def numbers(text: str) -> list[int]:
    return [int(word.replace(",", "")) for word in re.findall(r"[\d,]*\d", text)]


@pytest.mark.parametrize(("rows", "vertices"), [(2_900, 3_000), (700, 3_000)])
def test_trees_of_up_to_three_thousand_vertices_are_laid_out(rows, vertices):
    root = check_page(dfmst.report(random_table(rows, vertices)).html)
    assert "The forest, laid out" in text_of(root, "picture")
    dots = [shape.attrib for shape in drawings(root)["picture"].iter(f"{SVG}path") if "dots" in shape.attrib["class"]]
    drawn = sum(shape["d"].count("M") for shape in dots) or len(circles(root))
    assert drawn == numbers(text_of(root, "picture").partition("laid out ")[2])[0]


def circles(root: Any) -> list[str]:
    """Titles of the circles of a picture."""
    return [str(element[0].text) for element in drawings(root)["picture"].iter(f"{SVG}circle")]


@pytest.mark.parametrize("weight", ["weight", None])
def test_a_larger_tree_is_drawn_in_parts(weight):
    root = check_page((page := dfmst.report(random_table(40_000, 12_000), weight=weight)).html)
    words = text_of(root, "picture")
    drawn = numbers(words.partition("The forest in parts ")[2])[0]
    parts = numbers(words.partition(" vertices in ")[2])[0]
    discs = [numbers(title)[0] for title in circles(root)]
    assert (len(discs), sum(discs)) == (parts, drawn)
    kinds = [shape.attrib["class"] for shape in drawings(root)["picture"].iter(f"{SVG}path")]
    assert (kinds.count("long"), kinds.count("long") + kinds.count("join")) == (5 if weight else 0, parts - 1)
    assert len(page.html) < 90_000
    names = [element.text for element in root.iter("span") if (element.attrib.get("class") or "").startswith("name")]
    assert len(names) > 5
    assert {f"around {name}" for name in names} <= {title[title.index("around") :] for title in circles(root)}


def facts_of(table: pa.Table) -> Any:
    from dfmst._edges.read import EdgeColumns
    from dfmst._report.facts import ForestFacts

    return ForestFacts(dfmst.minimum_spanning_forest(table), EdgeColumns())


@pytest.mark.parametrize("seed", range(4))
def test_parts_are_cut_at_the_heaviest_edges_with_many_vertices_on_both_sides(seed):
    from dfmst._report.picture import contract_picture

    facts = facts_of(random_table(900, 400, seed))
    parts = contract_picture(facts, np.array([0]))
    graph = nx.Graph()
    edges = list(zip(facts.ordered.source.tolist(), facts.ordered.target.tolist(), strict=True))
    graph.add_edges_from(edges)
    expected: list[int] = []
    for at in reversed(range(len(edges))):  # a heavier edge that did not fit does not fit later
        graph.remove_edge(*edges[at])
        smaller = min(len(nx.node_connected_component(graph, end)) for end in edges[at])
        if smaller >= parts.least and len(expected) < 90:
            expected.append(at)
        else:
            graph.add_edge(*edges[at])
    assert parts.edges.tolist() == sorted({0, *expected})
    graph.remove_edges_from([edges[0]])
    pieces = {frozenset(np.flatnonzero(parts.of == part).tolist()) for part in range(len(parts.size))}
    assert pieces == set(map(frozenset, nx.connected_components(graph)))


@pytest.mark.parametrize("seed", range(3))
def test_a_layout_spreads_vertices_and_discs(seed):
    from dfmst._report.layout import lay_out

    facts = facts_of(random_table(120 + 200 * seed, 120, seed))
    ends = facts.ordered.source, facts.ordered.target
    x, y = lay_out(*ends, np.zeros(facts.vertices))
    assert len(set(zip(x.round(6).tolist(), y.round(6).tolist(), strict=True))) == facts.vertices
    places = [np.column_stack([x[end], y[end]]) for end in ends]
    pairs = combinations(range(facts.ordered.source.size), 2)
    assert sum(crosses(*(place[list(pair)] for place in places)) for pair in pairs) == 0
    radius = np.random.default_rng(seed).uniform(0.1, 3, facts.vertices)
    x, y = lay_out(*ends, radius)
    apart = np.hypot(x[:, None] - x, y[:, None] - y) - radius[:, None] - radius
    assert apart[~np.eye(len(x), dtype=bool)].min() > 0


def crosses(begin: Any, end: Any) -> bool:
    """Whether two segments cross at an inner point of both."""

    def side(a: Any, b: Any, c: Any) -> float:
        return float((b[0] - a[0]) * (c[1] - a[1]) - (b[1] - a[1]) * (c[0] - a[0]))

    first = side(begin[0], end[0], begin[1]) * side(begin[0], end[0], end[1])
    second = side(begin[1], end[1], begin[0]) * side(begin[1], end[1], end[0])
    return first < -1e-12 and second < -1e-12


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


def test_a_text_with_a_leading_zero_is_no_number():
    points = pa.table({"id": ["07", "08"], "lon": [7.0, 8.0], "lat": [50.0, 51.0]})
    edges = pa.table({"source": [7], "target": [8], "weight": [1.0]})
    with pytest.raises(InvalidEdgesError, match="none of the 2 vertices is among the 2 points"):
        dfmst.report(edges, points=points, ids="id", coordinates=("lon", "lat"))
    points = points.set_column(0, "id", pa.array(["7", "8"]))
    assert "<svg" in dfmst.report(edges, points=points, ids="id", coordinates=("lon", "lat")).html


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


SECTORS = {"Bonn": "Rhine", "Köln": "Rhine", "Aachen": "west", "Düren": "west", "Ulm": None, "Neu-Ulm": "Danube"}
TOWN_SECTORS = pd.DataFrame({"town": list(SECTORS), "sector": list(SECTORS.values())})
TEXTS = pa.table({"town": ["a"], "place": [{"x": "east", "y": "north"}]})


@pytest.mark.parametrize(
    ("options", "error", "words"),
    [
        ({"points": TOWNS, "coordinates": ("lon", "north")}, ColumnNotFoundError, "north"),
        ({"points": TOWNS, "coordinates": ("town", "lat")}, InvalidEdgesError, "not coordinates"),
        ({"points": TOWNS}, InvalidEdgesError, "no geometry"),
        ({"points": TOWNS, "ids": "name", "coordinates": ("lon", "lat")}, ColumnNotFoundError, "name"),
        ({"points": TOWNS.assign(town=range(5)), "coordinates": ("lon", "lat")}, InvalidEdgesError, "none of the"),
        ({"coordinates": ("lon", "lat")}, ColumnNotFoundError, "a_lon"),
        ({"points": geoparquet("WKB"), "coordinates": "town"}, Exception, "not points"),
        ({"points": TEXTS, "coordinates": "place"}, InvalidEdgesError, "'place' holds string values, not coordinates"),
        ({"color": "sectr", "points": TOWN_SECTORS}, ColumnNotFoundError, "did you mean 'sector'"),
        ({"color": "none"}, ColumnNotFoundError, "with color="),
        ({"color": TOWN_SECTORS[["town"]]}, InvalidEdgesError, "vertices and their groups"),
        ({"color": TOWN_SECTORS.assign(town=range(6))}, InvalidEdgesError, "none of the 6 vertices"),
        ({"color": ["sector"]}, TypeError, "color"),
        ({"color": pa.table({"town": ["Bonn"], "list": [[1]]})}, InvalidEdgesError, "not categories"),
        ({"color": TOWN_SECTORS.assign(sector=[1, "a"] * 3)}, InvalidEdgesError, "values of several types"),
    ],
)
def test_coordinates_and_colors_that_are_none(options, error, words):
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


def test_a_legend_of_trees_is_of_drawn_trees():
    table = pa.concat_tables([random_table(9_000, 4_000), pa.table({"source": [-1], "target": [-2], "weight": [0.5]})])
    assert "largest tree second" not in text_of(check_page(dfmst.report(table).html), "picture")
    assert "largest tree second" in text_of(check_page(dfmst.report(ROADS, "a", "b", "km").html), "picture")
    three = pa.table({"source": [1, 3, 5], "target": [2, 4, 6], "weight": [1, 2, 3]})
    assert "largest tree second third" in text_of(check_page(dfmst.report(three).html), "picture")


def colored(**options: Any) -> tuple[str, dict[str, str]]:
    """Words of a picture, and the style of each vertex by its name."""
    root = check_page(dfmst.report(options.pop("edges", ROADS), "a", "b", "km", **options).html)
    dots = {str(dot[0].text): dot.attrib["class"] for dot in drawings(root)["picture"].iter(f"{SVG}circle")}
    return text_of(root, "picture"), dots


@pytest.mark.parametrize("form", ["points", "map", "ends", "ends of objects", "frame", "categorical"])
def test_colors_of_vertices(form):
    options: dict[str, Any] = {"color": "sector", "points": TOWN_SECTORS}
    if form == "map":
        options |= {"points": TOWN_SECTORS.merge(TOWNS, how="left"), "coordinates": ("lon", "lat")}
    elif form == "categorical":
        options["points"] = TOWN_SECTORS.astype({"sector": "category"})
    elif form == "frame":
        options = {"color": pl.DataFrame({"town": list(SECTORS), "sector": list(SECTORS.values())})}
    elif form.startswith("ends"):
        kind: Any = object if form.endswith("objects") else "category"
        ends = {f"{end}_sector": ROADS[end].map(SECTORS).astype(kind) for end in "ab"}
        options = {"color": "sector", "edges": ROADS.assign(**ends)}
    words, dots = colored(**options)
    # Of equally frequent values the first row's comes first.
    assert "Vertices by sector" in words
    assert "Rhine: 2 vertices west: 2 vertices Danube: 1 vertex others: 1 vertex" in words
    kinds = {name: kind[-2:] for name, kind in dots.items()}
    expected = {"Bonn": "s0", "Köln": "s0", "Aachen": "s1", "Düren": "s1", "Neu-Ulm": "s2", "Ulm": "s3"}
    assert kinds == {name: kind for name, kind in expected.items() if form != "map" or name != "Neu-Ulm"}


def test_colors_of_edges_and_of_clusters():
    words, dots = colored(color="operator")
    assert "west: 2 edges south: 1 edge" in words or "west: 2 edges north: 1 edge" in words
    assert dots["Düren"] == "node s0"
    assert dots["Köln"] == "node s3"  # of two operators
    clusters = dfmst.clusters(ROADS, "a", "b", "km", n_clusters=4)
    noise = pd.DataFrame({"town": list(SECTORS), "label": [-1, 0, 0, *[-1] * (len(SECTORS) - 3)]})
    assert "numbered. 0: 2 vertices others: 4 vertices" in colored(color=noise)[0]
    words, dots = colored(color=clusters)
    assert "Vertices by cluster" in words
    groups = clusters.groupby("cluster").vertex.agg(set).tolist()
    assert [len({dots[name] for name in group}) for group in groups] == [1] * 4
    assert len(set(dots.values())) == 4
    chain = pa.table({"source": range(3_999), "target": range(1, 4_000), "weight": [1e9] * 3_999})
    many = pa.concat_tables([random_table(9_000, 4_000), chain])
    labels = dfmst.clusters(many, n_clusters=6)
    root = check_page(dfmst.report(many, color=labels).html)
    assert "The forest in parts" in text_of(root, "picture")
    legend = sorted(numbers(item)[-1] for item in re.findall(r"\d+: [\d,]+ vert", text_of(root, "picture")))
    assert legend == sorted(labels["cluster"].value_counts().field("counts").to_pylist())
    styles = {dot.attrib["class"] for dot in drawings(root)["picture"].iter(f"{SVG}circle")}
    assert len(styles) == 6  # the edges between clusters are cut, so every cluster has a disc


def test_one_point_is_no_chart():
    root = check_page(dfmst.report(pa.table({"source": ["a"], "target": ["b"], "weight": [3.5]})).html)
    assert set(drawings(root)) == {"picture"}
    assert not [element for element in root.iter("div") if "grid" in element.attrib.get("class", "")]
    assert "Edges of the forest 1 of 1, with their columns. source target weight a b 3.50" in text_of(root, "edges")
    same = check_page(dfmst.report(ROADS.assign(km=1.0), "a", "b", "km").html)
    assert not {"weights", "dendrogram"} & set(drawings(same))
    assert "numbered" not in text_of(same, "picture")


def test_geometries_and_bytes_are_not_printed():
    lines = [struct.pack("<BIIdddd", 1, 2, 2, at, 50, at + 1, 51) for at in range(3)]
    table = pa.table({"source": [1, 2, 3], "target": [2, 3, 4], "weight": [1.5, 2, 30], "way": lines, "raw": lines})
    about = {"version": "1.1.0", "primary_column": "way", "columns": {"way": {"encoding": "WKB"}}}
    root = check_page(dfmst.report(table.replace_schema_metadata({"geo": json.dumps(about)})).html)
    assert "The forest on the map" in text_of(root, "picture")
    edges = text_of(root, "edges")
    assert "with their columns (1 further column is left out)" in edges
    assert "3 4 30.00 41 bytes 2 3 2.00 41 bytes 1 2 1.50 41 bytes" in edges
    assert "\\x" not in "".join(root.itertext())


def bent_roads(form: str, last: float) -> pa.Table:
    """Two roads, of which the second has a bend."""
    ways = [[(7.0, 50.0), (8.0, 50.0)], [(8.0, 50.0), (8.5, 52.0), (8.5, 52.0), (9.0, last)]]
    heads = [struct.pack("<BII", 1, 2, len(way)) for way in ways]
    cells = [
        head + b"".join(struct.pack("<dd", *place) for place in way) for head, way in zip(heads, ways, strict=True)
    ]
    if form == "WKB":
        geometry: Any = pa.array(cells)
    else:
        geometry = pa.array([[{"x": x, "y": y} for x, y in way] for way in ways])
    about = {"version": "1.1.0", "primary_column": "way", "columns": {"way": {"encoding": form}}}
    table = pa.table({"source": ["a", "b"], "target": ["b", "c"], "weight": [1.0, 2.0], "way": geometry})
    return table.replace_schema_metadata({"geo": json.dumps(about)})


@pytest.mark.parametrize("form", ["WKB", "linestring"])
@pytest.mark.parametrize("maximum", [False, True])
def test_lines_are_drawn_with_their_bends(form, maximum):
    picture = drawings(check_page(dfmst.report(bent_roads(form, 51.0), maximum=maximum).html))["picture"]
    shapes = {shape.attrib["class"]: shape.attrib["d"] for shape in picture.iter(f"{SVG}path")}
    bent = next(part for part in shapes["link c0"].split("M") if part.count("L") == 2)
    places = [tuple(map(int, place.split())) for place in bent.split("L")]
    assert places[0][0] < places[1][0] < places[2][0]
    assert places[1][1] < places[2][1] < places[0][1]  # downwards: the bend is in the north
    assert min(place[1] for place in places) >= 0  # and within the picture
    world = dfmst.report(bent_roads(form, 51.0 - 130), maximum=maximum).html
    assert 'class="map world' in world


def test_lines_with_a_position_that_is_no_number():
    page = dfmst.report(bent_roads("WKB", float("nan"))).html
    assert "1 vertex has no coordinates" in text_of(check_page(page), "picture")


@pytest.mark.parametrize("most", range(2, 60))
def test_ticks_of_counts_are_whole(most):
    """Counts of rows upwards, and whole weights from left to right."""
    weight = [*range(1, most + 1), *[most] * most]
    table = pa.table({"source": range(2 * most), "target": range(1, 2 * most + 1), "weight": weight})
    shown = drawings(check_page(dfmst.report(table).html))["weights"].iter(f"{SVG}text")
    ticks = [str(text.text) for text in shown if text.attrib["class"] == "tick"]
    assert all(word.isdigit() for word in ticks)
    assert len(ticks) >= 4


@pytest.mark.parametrize(
    ("values", "words"),
    [
        ([1.0, 20.0, 3000.0], ["1", "20", "3,000"]),
        ([1.5, 20.0, 3000.25], ["1.50", "20.00", "3,000.25"]),
        ([0.25, 0.5], ["0.2500", "0.5000"]),
        ([1.5, 0.0, 0.00012, float("inf"), None], ["1.50", "0.00", "0.00012", "inf", "–"]),
        ([1e-9, 1e-8], ["1e-09", "1e-08"]),
        ([Decimal("2.5")], ["2.50"]),
        ([0.99997, 0.5], ["0.99997", "0.50000"]),  # not 1.0000
        ([0.9999999999, 0.25], ["0.9999999999", "0.2500"]),
        ([0.99982, 0.99981], ["0.99982", "0.99981"]),
    ],
)
def test_numbers_of_a_column_have_one_format(values, words):
    rows = list(range(len(values)))
    table = pa.table({"source": rows, "target": [row + 1 for row in rows], "weight": rows[::-1], "more": values})
    weight = "more" if isinstance(values[0], Decimal) else "weight"
    page = check_page(dfmst.report(table, weight=weight).html)
    cells = [[cell.text for cell in line.iter("td")] for line in page.iter("tr")]
    assert [line[2 if weight == "more" else 3] for line in cells if len(line) == 4] == words


def test_weights_that_are_all_equal():
    for weight in (7.0, -1e306, 0.0):
        report = dfmst.report(ROADS.assign(km=weight), "a", "b", "km")
        assert repr(report) == f"Report of {len(report.html):,} characters; .save('report.html') writes it"
        check_page(report.html)


@pytest.mark.parametrize(
    ("points", "message"),
    [
        ({"x": [np.nan] * 2, "y": [1.0, 2.0], "town": ["Köln", "Bonn"]}, "no vertex has coordinates that are numbers"),
        ({"x": [1.0, 2.0], "y": [1.0, 2.0], "town": [1.5, 2.5]}, "vertices is among the 2 "),
        ({"x": [1.0, 2.0], "y": [1.0, 2.0], "town": [[1], [2]]}, "vertices is among the 2 "),
        ({"x": [1.0, 2.0], "y": [1.0, 1.0], "town": ["Bonn", "Bonn"]}, "'Bonn' in two places, in rows 0 and 1"),
    ],
)
def test_points_without_a_place(points, message):
    with pytest.raises(InvalidEdgesError, match=message):
        dfmst.report(ROADS, "a", "b", "km", points=pa.table(points), ids="town", coordinates=("x", "y"))


def test_names_of_coordinates_say_their_order():
    """The map is the same, whichever of longitude and latitude is named first."""
    towns = pd.DataFrame({"town": sorted({*ROADS.a, *ROADS.b})})
    towns["stop_lon"], towns["decimalLat"] = 6.0 + towns.index, 50.0 + 0.1 * towns.index**2
    maps = []
    for names in (("stop_lon", "decimalLat"), ("decimalLat", "stop_lon")):
        page = dfmst.report(ROADS, "a", "b", "km", points=towns, ids="town", coordinates=names).html
        maps.append(page.split("<svg")[1].split("</svg>")[0])
    assert maps[0] == maps[1]
