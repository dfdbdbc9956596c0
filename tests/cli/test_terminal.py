"""What people see on a terminal, and what a misspelt name prints."""

from __future__ import annotations

import json
import os
import re
import struct
import sys
from datetime import timedelta
from decimal import Decimal
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet
import pytest
from click.testing import CliRunner

import dfmst as library
from dfmst._common.machine import RowBar, showing
from dfmst.cli import main

pty = pytest.importorskip("pty", reason="terminals are those of POSIX")
fcntl, termios = pytest.importorskip("fcntl"), pytest.importorskip("termios")


def open_terminal(columns: int) -> tuple[int, int]:
    leader, follower = pty.openpty()
    fcntl.ioctl(follower, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))
    return leader, follower


def drain(descriptor: int) -> bytes:
    """Read what a terminal got until its other side is closed."""
    text = b""
    while True:
        try:
            piece = os.read(descriptor, 1 << 16)
        except OSError:  # Linux says so where macOS gives no bytes
            return text
        if not piece:
            return text
        text += piece


def shown_on(leader: int) -> list[str]:
    """The lines that a terminal shows over time: what overwrites another comes after it."""
    text = drain(leader).decode()
    os.close(leader)
    return [re.sub(r"\x1b\[[A-Z]", "", line) for line in re.split(r"[\r\n]+", text)]


def on_a_terminal(start, columns: int, *arguments, code: int = 0) -> list[str]:
    """The lines of a process on a terminal of a width."""
    leader, follower = open_terminal(columns)
    process = start(*arguments, stderr=follower, env={"COLUMNS": str(columns)})
    os.close(follower)
    lines = shown_on(leader)
    output, _ = process.communicate(timeout=60)
    assert (process.returncode, output) == (code, b""), lines
    return lines


def test_progress_and_the_result(start, roads):
    lines = on_a_terminal(start, 80, "forest", roads, "-o", "out.parquet")
    for step in ("reading roads.parquet ", "preparing 9 rows", "finding the forest of 9 rows", "writing"):
        assert [line for line in lines if line.startswith(step)]
    assert "minimum spanning forest: roads.parquet -> out.parquet" in lines


def test_an_error_is_alone_on_its_line(start, parquet):
    parquet("bad.parquet", {"source": [1], "target": [2], "weight": ["x"]})
    lines = on_a_terminal(start, 200, "forest", "bad.parquet", code=2)
    assert [line for line in lines if line.startswith("Error: column 'weight' holds string values")]


@pytest.fixture
def many(parquet) -> Path:
    draw = np.random.default_rng(0)
    ends = draw.integers(0, 20_000, (2, 3_000_000))
    table = pa.table({"source": ends[0], "target": ends[1], "km": draw.random(3_000_000)})
    pyarrow.parquet.write_table(table, "many.parquet", row_group_size=200_000)
    return Path("many.parquet")


@pytest.mark.slow
def test_a_stream_shows_a_bar_and_then_the_result(start, many):
    columns = ("many.parquet", "-w", "km", "--checkpoint", "saved", "-o", "out.parquet", "--memory-limit", "2GiB")
    narrow = on_a_terminal(start, 60, "forest", *columns)
    bars = [line for line in narrow if line.startswith("finding the forest ")]
    assert bars
    assert all(re.search(r"\d+ % [\d:?]+ left", line) for line in bars)  # not cut off
    assert max(map(len, bars)) <= 60
    assert not [line for line in bars if " 0.0" in line or "0.00" in line]
    assert "minimum spanning forest: many.parquet -> out.parquet" in narrow  # alone on its line
    wide = on_a_terminal(start, 120, "forest", *columns, "--verify")
    bars = [line for line in wide if line.startswith("finding the forest ")]
    assert re.search(r"rows/s, [\d,]+ of 2,048 MiB$", bars[-1].rstrip())
    assert any(line.startswith("verifying ") for line in wide)


def test_the_result_stands_in_rows(monkeypatch, roads):
    leader, follower = open_terminal(30)
    monkeypatch.setenv("COLUMNS", "30")
    with monkeypatch.context() as patch, os.fdopen(follower, "w") as screen:
        patch.setattr(sys, "stderr", screen)
        main.main(["forest", str(roads), "--verify", "-o", "out.parquet"], standalone_mode=False)
    lines = shown_on(leader)
    assert "finding the forest of 9 rows"[:29] in lines  # a step takes one line
    at = lines.index("minimum spanning forest: roads.parquet -> out.parquet")
    shown = [line.split() for line in lines[at + 1 :] if line.strip()]
    assert [line[0] for line in shown] == ["rows", "weight", "trees", "verified", "time"]
    assert shown[0] == ["rows", "4", "of", "9"]


@pytest.mark.parametrize(
    ("weights", "shown"),
    [
        ([1e-7, 2.5e-7], "3.5e-07"),
        ([1e15, 2e15], "3e+15"),
        ([1.0, float("inf")], "Infinity"),
        ([0.0, -0.0], "0.0"),
        ([10**12, 1], "1,000,000,000,001"),
        ([timedelta(seconds=90), timedelta(milliseconds=5)], "90.005 s"),
    ],
)
def test_totals_of_any_size(dfmst, parquet, weights, shown):
    file = parquet("long.parquet", {"source": [1, 2], "target": [2, 3], "weight": weights})
    assert f"total weight {shown}, " in dfmst("forest", file, "-o", "out.parquet").stderr


def test_totals_for_people_and_for_programs(dfmst, parquet):
    file = parquet("long.parquet", {"source": [1, 2], "target": [2, 3], "km": [120_000.5, 308.4712345]})
    assert "total weight 120,308.97, " in dfmst("forest", file, "-w", "km", "-o", "out.parquet").stderr
    assert "total weight 120,308.97, " in dfmst("verify", file, "out.parquet", "-w", "km").stderr
    assert json.loads(dfmst("forest", file, "-w", "km", "--json").stdout)["total_weight"] == 120_000.5 + 308.4712345


def test_a_total_of_decimals(dfmst, parquet):
    kilometres = pa.array([Decimal("120000.50"), Decimal("308.47")])
    file = parquet("long.parquet", pa.table({"source": [1, 2], "target": [2, 3], "km": kilometres}))
    for limit in ([], ["--memory-limit", "300MB", "--checkpoint", "saved"]):
        reported = dfmst("forest", file, "-w", "km", "-o", "out.parquet", *limit).stderr
        assert "total weight 120,308.97, " in reported
        summary = dfmst("forest", file, "-w", "km", "-o", "out.parquet", "--json", *limit).stdout
        assert json.loads(summary)["total_weight"] == "120308.97"


def test_did_you_mean(dfmst, parquet):
    file = parquet("roads.parquet", {"source": ["a"], "target": ["b"], "km": [1.5], "name": ["x"]})
    assert "Hint: name your columns, for example -w km" in dfmst("forest", file, code=2).stderr
    two = parquet("two.parquet", {"source": ["a"], "target": ["b"], "km": [1.5], "minutes": [2]})
    assert "did you mean" not in dfmst("forest", two, code=2).stderr
    table = pa.table({"source": [0], "target": [1], "weight": [1]})
    for option, meant in (("--threshold", "--distance"), ("--num-clusters", "--n-clusters"), ("--wieght", "--weight")):
        assert f"{option}'. Did you mean '{meant}'?" in dfmst("clusters", file, option, "3", code=2).stderr
    with pytest.raises(ValueError, match="did you mean 'boruvka'"):
        library.minimum_spanning_forest(table, algorithm="boruvk")


def test_a_limit_is_named_as_it_was_written(dfmst, roads):
    for text, shown in (("3MB", "3 MB"), ("3MiB", "3 MiB"), ("3000001", "3 MiB")):
        result = dfmst("forest", roads, "--memory-limit", text, "--checkpoint", "saved", code=1)
        assert f"a memory limit of {shown} is below the least, " in result.stderr
        unit = shown.partition(" ")[2]
        assert re.search(rf"is below the least, \d+ {unit}\nHint: raise the limit: \d+ {unit} and ", result.stderr)


@pytest.mark.parametrize(
    ("rows", "shown"),
    [
        ("a,b,3\nb,,4\n", "(bad.csv, line 3)"),
        ("a,b,3\nb,c,4\nc,d,nan", "(bad.csv, line 4)"),
        ('"a\nz",b,3\nb,,4\n', ""),  # a value of two lines: rows are no lines
        ("a,b,3\nb,c,x\n", "bad.csv, line 3: "),
    ],
)
def test_errors_of_text_files_name_the_line(dfmst, rows, shown):
    Path("bad.csv").write_text(f"source,target,weight\n{rows}")
    first = dfmst("forest", "bad.csv", code=2).stderr.splitlines()[0]
    assert shown in first
    assert bool(shown) == ("line" in first)


def test_the_demos_files_are_inputs(dfmst):
    assert "33,995 of 170,522 rows" in dfmst("forest", "demo:cities", "-w", "km", "-o", "out.parquet").stderr
    assert dfmst("components", "demo:cities", "-o", "out.csv").exit_code == 0
    assert "demo:cities and demo:points" in dfmst("forest", "demo:towns", code=2).stderr
    Path("demo:cities").write_text("source,target,weight\n1,2,3\n")
    assert "1 of 1 row" in dfmst("forest", "demo:cities", "--format", "csv", "-o", "out.parquet").stderr


def test_a_bar_in_python(capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "100")
    table = pa.table({"source": [0, 1, 0], "target": [1, 2, 2], "weight": [3, 1, 2]})
    forest = library.stream.minimum_spanning_forest([table], progress=True)
    assert forest.num_rows == 2
    assert "finding the forest" in capsys.readouterr().err
    library.formats.write_edges(table, "edges.csv")
    assert library.read_edges("edges.csv", progress=True).num_rows == 3
    assert "reading edges.csv" in capsys.readouterr().err
    for quiet in (None, False):
        library.stream.minimum_spanning_forest([table], progress=quiet)
        assert capsys.readouterr().err == ""
    reported: list[tuple[int, int | None]] = []
    library.stream.minimum_spanning_forest([table], progress=lambda *rows: reported.append(rows))
    assert reported == [(3, None)]
    with pytest.raises(TypeError, match="progress is a str"):
        library.stream.minimum_spanning_forest([table], progress="yes")  # type: ignore[arg-type]
    RowBar("x").close()
    with showing(True, "x"):
        pass


@pytest.mark.slow
def test_a_cluster_shows_a_bar_of_tasks(start, roads):
    pytest.importorskip("distributed")
    lines = on_a_terminal(start, 80, "forest", roads, "--workers", "1", "-o", "out")
    assert [line for line in lines if re.match(r"finding the forest +\d+ % .* tasks?/s", line)]
    assert [line for line in lines if line.startswith("minimum spanning forest: ")]


UNSAFE = re.compile("[\x00-\x09\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\u2028\u2029]")
EVIL = ["-s", "sou\u202erce\x9b", "-t", "tar\x07get", "-w", "we\x1b[31might"]
HEADER = '"sou\u202erce\x9b","tar\x07get","we\x1b[31might","x"\n'
EVIL_ROWS = "".join(f'"{a}\x1b[2J\u2028","{b}\x7f","{w}","1"\n' for a, b, w in ("ab1", "bc2", "ac3", "de4"))
EVIL_FILES = {
    "e\x1b[2J\u202e.csv": HEADER + EVIL_ROWS,
    "nan\x1b.csv": HEADER + EVIL_ROWS + '"q\x1b","r\x1b","nan","1"\n',
    "null\x1b.csv": HEADER + EVIL_ROWS + '"q\x1b",,"5","1"\n',
    "word\x1b.csv": HEADER + EVIL_ROWS + '"q\x1b","z","hea\x1b[2Jvy","1"\n',
    "cut\x1b.csv": HEADER + EVIL_ROWS + '"q\x1b","z\n',
    "twin\x1b.csv": '"a\x1b","a\x1b","weight"\n1,2,3\n',
    "bad\x1b.parquet": "PAR1\x1b[2J",
    "line\x1b.gr": "p sp 3 2\na 1 2 \x1b[2J\n",
    "line\x1b.mtx": "%%MatrixMarket matrix \x1b[2J real general\n1 1 1\n",
    "line\x1b.gml": "graph [\x1b[2J node [ id 1 ]",
    "line\x1b.tsp": "NAME: \x1b[2J\nTYPE: X\x1b\nDIMENSION: x\x1b\n",
}
EVIL_CALLS = [
    ["forest", *EVIL, "-o", "forest\x1b.parquet", "--verify", "--report", "page\x1b.html"],
    ["forest", *EVIL, "-o", "no\x1b/forest.csv", "--debug"],
    ["forest", *EVIL, "--json"],
    ["forest", "-s", EVIL[1], "-t", EVIL[3], "-w", "wei\x1bght"],
    ["forest", *EVIL, "--by", "z\x1b"],
    ["forest", *EVIL, "--memory-limit", "1\x1bGiB"],
    ["forest", *EVIL, "--memory-limit", "1MiB", "--spill-dir", "spill\x1b"],
    ["forest", *EVIL, "--format", "x\x1b"],
    ["forest", *EVIL, "--algorithm", "x\x1b"],
    ["forest", *EVIL, "--wor\x1bkers"],
    ["fo\x1brest"],
    ["report", *EVIL, "-o", "page.html", "--points", "e\x1b[2J\u202e.csv", "--coordinates", "x", EVIL[5]],
    ["clusters", *EVIL, "-k", "99", "-o", "clusters.csv"],
    ["clusters", *EVIL, "-d", "2\x1b", "-o", "clusters.csv"],
    ["linkage", *EVIL, "-o", "merges\x1b.csv"],
    ["components", *EVIL[:4], "-o", "labels\x1b.csv"],
    ["newick", *EVIL, "-o", "trees\x1b.nwk"],
    ["hdbscan", *EVIL, "-o", "labels\x1b.csv"],
    ["points-forest", "-c", "x", "-c", EVIL[5], "--ids", EVIL[1], "-o", "tree\x1b.csv"],
    ["knn-edges", "-c", "x", "-c", "y\x1b", "-o", "tree.csv"],
    ["linked-rows", "--on", "x", "--max-group", "1", "-o", "once\x1b.csv"],
    ["linked-rows", "--on", "x\x1b", "-o", "once.csv"],
    ["verify", *EVIL, "forest\x1b.parquet"],
    ["verify", *EVIL, "word\x1b.csv"],
    ["update", "forest\x1b.parquet", "-o", "more.parquet"],
    ["convert", "-o", "edges\x1b.parquet"],
    ["convert", "-o", "edges\x1b"],
    ["plan", *EVIL[:4]],
]


@pytest.mark.parametrize("call", EVIL_CALLS, ids=lambda call: ascii(call[0] + "-" + call[-1]))
def test_text_of_files_and_arguments_is_shown_not_obeyed(call):
    for name, text in EVIL_FILES.items():
        Path(name).write_text(text)
    for name in [*EVIL_FILES, "absent\x1b.csv", "."]:
        result = CliRunner().invoke(main, [call[0], name, *call[1:]], prog_name="dfmst")
        assert not UNSAFE.search(result.output), ascii(result.output)
        assert "should not happen" not in result.output
    for page in Path().glob("*.html"):
        assert not UNSAFE.search(page.read_text())


def test_rows_on_a_terminal_are_shown_not_obeyed(start):
    name = next(iter(EVIL_FILES))
    Path(name).write_text(HEADER + EVIL_ROWS)
    leader, follower = open_terminal(80)
    process = start("forest", name, *EVIL, stdout=follower)
    os.close(follower)
    text = drain(leader).decode()
    os.close(leader)
    assert process.wait(60) == 0
    assert text.splitlines()[1] == r'"a\x1b[2J\u2028","b\x7f","1","1"'
    piped = start("forest", name, *EVIL).communicate(timeout=60)[0].decode()  # data for programs stays as it is
    assert piped.split("\n")[1] == '"a\x1b[2J\u2028","b\x7f","1","1"'
