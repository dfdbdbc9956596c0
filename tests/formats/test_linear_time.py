"""No text takes more than linear time: four times the text, at most eight times the CPU time."""

from __future__ import annotations

import gzip
import json
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from dfmst.errors import CapacityError, DfmstError, FormatError
from dfmst.formats import open_edges, read_edges
from tests.support.files import read_columns, refusal

NOISE = 0.3  # seconds; where a text of size n took quadratic time, 4 n took more than a second
GRAPHML = '<?xml version="1.0"?>{}<graphml xmlns="http://graphml.graphdrawing.org/xmlns">{}<graph>{}</graph></graphml>'
GML = "graph [ node [ id 1 ] edge [ source 1 target 1 value {} ] ]"
MATRIX = "DIMENSION: 9\nEDGE_WEIGHT_TYPE: EXPLICIT\nEDGE_WEIGHT_FORMAT: FULL_MATRIX\nEDGE_WEIGHT_SECTION\n"
POINTS = "DIMENSION: 1\nEDGE_WEIGHT_TYPE: EUC_2D\nNODE_COORD_SECTION\n"


def digits(text: str) -> Callable[[int], str]:
    return lambda n: text.format("9" * n + "x")


def columns(cell: str) -> Callable[[int], str]:
    return lambda n: ",".join(f"c{at}" for at in range(n)) + "\n" + ",".join([cell] * n) + "\n"


def uses(n: int) -> str:
    return GRAPHML.format('<!DOCTYPE graphml [<!ENTITY a "R">]>', "", f'<node id="1">{"&a;" * n}</node>')


def declared(text: str) -> Callable[[int], str]:
    return lambda n: GRAPHML.format(f'<!DOCTYPE graphml [<!ENTITY a "{text * n}">]>', "", "")


def keys(n: int) -> str:
    """As many defaults as edges."""
    each = '<key id="{0}" for="edge" attr.name="{0}" attr.type="int"><default>1</default></key>'
    edges = '<node id="1"/>' + '<edge source="1" target="1"/>' * n
    return GRAPHML.format("", "".join(each.format(at) for at in range(n)), edges)


def attributes(n: int) -> str:
    """An attribute of its own for each edge."""
    links = [{"source": 1, "target": 1, f"a{at}": at} for at in range(n)]
    return json.dumps({"nodes": [{"id": 1}], "links": links})


TEXTS: dict[str, tuple[str, int, Callable[[int], str]]] = {
    "digits and a letter in a.csv": ("a.csv", 4_000, digits("a,b\n1,{}\n")),
    "digits and a letter in a.txt": ("a.txt", 4_000, digits("1 2 3\n1 2 {}\n")),
    "digits and a letter in a.gr": ("a.gr", 4_000, digits("a 1 2 3\na 1 2 {}\n")),
    "digits and a letter in a.tsp": ("a.tsp", 4_000, digits(POINTS + "1 0 {}\n")),
    "digits in a.gml": ("a.gml", 20_000, lambda n: GML.format("9" * n)),
    "digits in a.net": ("a.net", 20_000, digits("*Vertices 2\n*Edges\n1 2 {}\n")),
    "digits in an attribute": ("a.txt", 20_000, digits("1 2 {{'weight': {} }}\n")),
    "lists in a.gml": ("a.gml", 20_000, lambda n: "graph [ " + "x [ " * n),
    "comments in a.gml": ("a.gml", 60_000, lambda n: "graph [ " + "# x\n" * n + "]"),
    "a key with many values": ("a.gml", 40_000, lambda n: "graph [ " + "x 1 " * n + "]"),
    "quotes in a.net": ("a.net", 40_000, lambda n: "*Vertices 2\n1 " + '"a" ' * n + '"'),
    "many vertices": ("a.net", 60_000, lambda n: "*Vertices 9" + "\n*Edges" * n),
    "marks at the start of rows": ("a.txt", 20_000, lambda n: "a b 1\n" + "# b\n#a b 1\n" * n),
    "heads of LGL": ("a", 60_000, lambda n: "# a\n" * n + "# b"),
    "rows of LGL": ("a", 10_000, lambda n: "# a\n" + "b c\n" * n),
    "comments of DOT": ("a", 60_000, lambda n: "/**/" * n + "/*" * n),
    "processing instructions": ("a", 60_000, lambda n: "<?x?>" * n + "<!--" * n),
    "rows of TGF": ("a", 15_000, lambda n: "1 2\n" * n + " #"),
    "brackets of Newick": ("a", 30_000, lambda n: "(" * n + ")" * n),
    "numbers of a matrix": ("a.tsp", 90_000, lambda n: MATRIX + "1 " * n),
    "columns": ("a.csv", 5_000, columns("1")),
    "a line without an end": ("a.csv", 8_000_000, lambda n: "x" * n),
    "a header without an end": ("a.txt", 8_000_000, lambda n: "# " + "x" * n),
    "a quote that is never closed": ("a.csv", 20_000, lambda n: '"x,1\n' + '"a","b"\n' * n),
    "uses of an entity": ("a.graphml", 12_000, uses),
    "comments that do not end": ("a.graphml", 40_000, declared("<!--")),
    "sections that do not end": ("a.graphml", 20_000, declared("<![CDATA[")),
    "defaults of as many edges": ("a.graphml", 1_500, keys),
}


def cpu_seconds(path: Path, text: str) -> float:
    path.write_text(text)
    begin = time.process_time()
    try:
        for _ in open_edges(path):
            pass
    except DfmstError:
        pass
    return time.process_time() - begin


@pytest.mark.parametrize("case", TEXTS)
def test_time(case: str, tmp_path: Path) -> None:
    name, size, text = TEXTS[case]
    cpu_seconds(tmp_path / name, text(10))  # imports

    def growth() -> float:
        once, again = (cpu_seconds(tmp_path / name, text(length)) for length in (size, 4 * size))
        return again / (8 * once + NOISE)

    # Pages of new memory cost many times more while other processes take it, too.
    assert any(growth() < 1 for _ in range(3))


REFUSED: dict[str, tuple[str, str, str]] = {
    "columns": ("a.csv", "," * 100_000 + "\n", "line 1: 100,001 columns, more than the 100,000 that are read"),
    "blanks": ("a.txt", "1 " * 100_001 + "\n", "line 1: 100,001 columns, more than the 100,000 that are read"),
    "attributes": ("a.json", attributes(4_200), "4,200 attributes of 4,200 edges, of which nearly all are missing"),
    "a header": ("a.txt", "# " + "x" * (17 << 20), "line 1: a line, or a value in quotes, of more than 16 MiB"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_refused(case: str) -> None:
    name, text, message = REFUSED[case]
    assert message in refusal(text, name)


@pytest.mark.slow
def test_a_small_file_of_one_endless_line(tmp_path: Path) -> None:
    with gzip.open(tmp_path / "a.csv.gz", "wb", 1) as file:
        for _ in range(32):
            file.write(b"x" * (16 << 20))
    with pytest.raises(FormatError, match="line 1: a line, or a value in quotes, of more than 256 MiB: 'xxx"):
        read_edges(tmp_path / "a.csv.gz")


def test_a_complete_graph_that_no_memory_holds(tmp_path: Path) -> None:
    count = 25_000
    points = "".join(f"{at} {at} 0\n" for at in range(count))
    (tmp_path / "a.tsp").write_text(POINTS.replace("1", str(count), 1) + points)
    with pytest.raises(CapacityError, match=r"a.tsp: the complete graph of 25,000 points has 312,487,500 rows"):
        read_edges(tmp_path / "a.tsp")


def test_comments_longer_than_a_block_before_the_rows() -> None:
    found = read_columns("# comment\n" * 10_000 + "1,2,5\n", "a.csv")
    assert found == {"source": [1], "target": [2], "weight": [5]}
