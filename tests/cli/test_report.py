"""``dfmst report``, and ``--report`` of a run in memory, of a stream and of a cluster."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from dfmst.cli import main
from tests.report.page import check_page, text_of


def page(name: str) -> str:
    html = Path(name).read_text(encoding="utf-8")
    check_page(html)
    return html


def test_a_page_named_after_the_input(dfmst, roads):
    result = dfmst("report", roads, "--verify")
    assert result.stderr.endswith(" s -> roads.html\n")
    assert result.stderr.startswith("minimum spanning forest: 4 of 9 rows, ")
    html = page("roads.html")
    assert "✓ verified" in html
    assert "roads.parquet" in html
    assert "ab again" not in html
    assert dfmst("report", roads, "-o", "-").stdout.startswith("<!doctype html>")


def test_a_page_does_not_name_the_directory_of_the_input(dfmst, roads):
    dfmst("report", roads.resolve(), "-o", "page.html")
    assert f"{roads.resolve().parent}" not in page("page.html")
    assert "from roads.parquet" in page("page.html")


def test_colors(dfmst, roads):
    Path("sectors.csv").write_text("town,sector\n" + "".join(f"{town},{town in 'abc'}\n" for town in "abcdxy"))
    dfmst("report", roads, "-o", "colors.html", "--points", "sectors.csv", "--color", "sector")
    assert "Vertices by sector" in text_of(check_page(page("colors.html")), "picture")
    result = dfmst("report", roads, "-o", "none.html", "--color", "sectr", code=2)
    assert "--color" in result.stderr
    assert not Path("none.html").exists()


def test_a_page_of_clusters(dfmst, roads):
    result = dfmst("clusters", roads, "-k", "3", "-o", "clusters.csv", "--report", "clusters.html")
    assert "3 clusters of 6 vertices" in result.stderr
    words = text_of(check_page(page("clusters.html")), "picture")
    assert "Vertices by cluster" in words
    labels = [line.split(",")[1].strip('"') for line in Path("clusters.csv").read_text().splitlines()[1:]]
    for name in set(labels):
        assert re.search(rf"\b{name}: {labels.count(name)} ", words)
    dfmst("clusters", roads, "-k", "3", "-k", "4", "--report", "several.html")
    assert "Vertices by k3" in page("several.html")
    unwritten = [(["--report", "same.html", "-o", "./same.html"], "-o and --report name the same file")]
    unwritten += [(["--report", "x.html", "--checkpoint", "saved"], "needs the rows in memory")]
    unwritten += [(["--report", "missing/x.html"], "missing does not exist")]
    for arguments, words in unwritten:
        assert words in dfmst("clusters", roads, "-k", "3", *arguments, code=2).stderr


def test_a_map_from_a_file_of_points(dfmst, roads):
    lines = [f"{name},{at},{50 - at}" for at, name in enumerate("abcdxy")]
    Path("points.csv").write_text("\n".join(["town,lon,lat", *lines]) + "\n")
    dfmst("report", roads, "-o", "map.html", "--points", "points.csv", "--coordinates", "lon", "lat", "--title", "<Us>")
    assert "The forest on the map" in page("map.html")
    both = ["--points", "points.csv", "-o", "points.csv"]
    assert "points.csv is also an input" in dfmst("report", roads, *both, code=2).stderr
    assert "&lt;Us&gt;" in page("map.html")
    result = dfmst("report", roads, "--points", "points.csv", "--coordinates", "lon", "late", code=2)
    assert "did you mean 'lat'?" in result.stderr
    assert not Path("roads.html").exists()


def test_points_of_integer_and_of_padded_ids(dfmst, parquet):
    edges = Path("edges.parquet")
    for ends in ([1, 2], ["01", "02"]):
        parquet("edges.parquet", {"source": ends[:1], "target": ends[1:], "weight": [1]})
        Path("p.tsv").write_text(f"town\tx\ty\n{ends[0]}\t0.5\t1\n{ends[1]}\t2.5\t3\n")
        dfmst("report", edges, "-o", "map.html", "--points", "p.tsv", "--coordinates", "x", "y")
        assert "have no coordinates" not in page("map.html")
    Path("p.tsv").write_text("")
    assert "p.tsv, line 1: the file is empty" in dfmst("report", edges, "--points", "p.tsv", code=2).stderr


def test_beside_a_run_in_memory(dfmst, roads):
    result = dfmst("forest", roads, "-o", "out.parquet", "--report", "out.html", "--maximum", "--algorithm", "boruvka")
    assert "report -> out.html\n" in result.stderr
    html = page("out.html")
    assert "Maximum spanning forest" in html
    assert "boruvka" in html
    assert "write" in text_of(check_page(html), "run")


def test_beside_a_stream(dfmst, roads):
    limit = ("--checkpoint", "saved", "--memory-limit", "2GiB")
    dfmst("forest", roads, "-o", "out.parquet", "--report", "out.html", *limit)
    root = check_page(page("out.html"))
    assert "of the 2.0 GiB of the limit" in text_of(root, "run")
    run = text_of(root, "run")
    assert "fold" in run
    assert "planned happened strategy stream stream rows read 9 9 vertices" in run
    assert re.search(r"peak memory of a process [\d.,]+ MB [\d.,]+ MB", run)
    assert "filter-kruskal · as a stream · " in " ".join(root.itertext())
    dfmst("forest", roads, "--report", "json.html", "--checkpoint", "saved", "--json")
    assert "planned happened strategy stream" in text_of(check_page(page("json.html")), "run")


@pytest.mark.slow
def test_beside_a_cluster(dfmst, roads):
    pytest.importorskip("distributed")
    dfmst("forest", roads, "-o", "out", "--workers", "1", "--report", "out.html")
    words = text_of(check_page(page("out.html")), "run")
    assert "planned happened strategy" in words
    assert re.search(r"strategy auto merge rows read 9 9", words)
    assert re.search(r"bytes between workers [\d.]+ MB 0.0 MB", words)  # one worker
    assert re.search(r"peak memory of a process [\d.,]+ MB [1-9][\d.,]+ MB", words)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["forest", "--points", "p.csv"], "--points is for the picture of a report"),
        (["forest", "--report", "out.html", "--by", "name"], "--report is of one forest"),
        (["forest", "--report", "same.csv", "-o", "same.csv"], "-o and --report name the same file"),
        (["forest", "--trace", "same.csv", "--report", "./same.csv"], "--trace and --report name the same file"),
        (["linkage", "--labels", "same.csv", "-o", "same.csv"], "-o and --labels name the same file"),
        (["forest", "--report", "-"], "--report - would mix the page with other output"),
        (["forest", "--report", "missing/out.html"], "missing does not exist"),
        (["report", "-o", "roads.pdf"], "a report is a page of HTML, and the name ends in .pdf"),
        (["clusters", "-k", "2", "--report", "c.parquet"], "and the name ends in .parquet"),
        (["report", "--points", "none.csv", "--coordinates", "x", "y"], "none.csv: no such file"),
    ],
)
def test_what_cannot_be(dfmst, roads, arguments, words):
    result = dfmst(arguments[0], roads, *arguments[1:], code=2)
    assert words in result.stderr
    assert sorted(path.name for path in Path().iterdir()) == ["roads.parquet"]


def test_help_of_forest_stands_in_groups(dfmst):
    often, everything = (dfmst("forest", option).stdout for option in ("--help", "--help-all"))
    every = ["Input:", "Output:", "Picture of the report:", "Algorithm:", "Files larger than memory:", "Cluster:"]
    for text, titles in ((often, ["Used often:", "Large tables:", "Other:"]), (everything, [*every, "Other:"])):
        assert re.findall(r"^[A-Z][\w ]+:$", text, re.MULTILINE) == titles
        assert max(map(len, text.splitlines())) <= 80
        for option in ("--weight", "--output", "--workers", "--debug", "--help"):
            assert f"  {option}" in text or f", {option}" in text
    listed = {*re.findall(r"(?:^  |, |/ )(--?[a-z][a-z-]*)", everything, re.MULTILINE)}
    assert {name for param in main.commands["forest"].params for name in param.opts if name[0] == "-"} <= {
        *listed,
        "--help-all",
    }
    assert "--help-all" in often
    assert "--thousands" not in often


def test_help_of_plan_has_the_memory_of_workers_in_the_group_of_the_cluster(dfmst):
    graph, _, cluster = dfmst("plan", "--help").stdout.partition("\nCluster:\n")
    assert "\nGraph:\n" in graph
    cluster, _, other = cluster.partition("\nOther:\n")
    for option in ("--workers", "--memory-limit", "--gpus", "--gpu-memory-limit", "--strategy"):
        assert f"\n  {option} " in f"\n{cluster}"
    assert "--json" in other
