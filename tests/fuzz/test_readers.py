"""Mutated files: each reader gives a table or a DfmstError that names the file, whatever the bytes, and soon."""

from __future__ import annotations

import bz2
import gzip
import lzma
import re
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet
import pytest
from hypothesis import given, strategies as st

from dfmst.errors import DfmstError, FormatError
from dfmst.formats import FORMATS, open_edges
from tests.fuzz.conftest import Fuzz
from tests.support.shared_data import SHARED

pytestmark = pytest.mark.slow(seconds=30)

LONGEST_HEAD = 1000  # bytes of a real file
MOST_SECONDS = 60  # of a busy machine; a reader takes milliseconds
WORD = re.compile(rb"[\w.+-]+|\s+|.", re.DOTALL)
OPENERS: dict[str, Callable[[Path], Any]] = {".gz": gzip.open, ".xz": lzma.open}
EDGES = pa.table({"source": [1, 2, 3], "target": [2, 3, 1], "weight": [0.5, 2.0, None], "name": ["a", "b", "ü"]})
SMALL = {
    "a.csv": b'source,target,weight,note\n1,2,0.5,"a, b"\n2,3,7,"two\nlines"\n3,,1e3,\n',
    "b.csv": b"Rome;Bari;5\nBari;Pisa;6.25\n",
    "c.csv": b"source,target,weight\n18446744073709551615,1,9007199254740993\n2,3,4\n",
    "a.tsv": b"source\ttarget\tnote\nNew York\tOslo\t\nRome\tBari\tx y\n",
    "a.txt": b"# Nodes: 4 Edges: 3\n# FromNodeId\tToNodeId\n1\t2\t5\n2\t3\t6\n3\t4\t7\n",
    "b.txt": b"ann bob 1.5\nbob cid 2\n",
    "c.txt": b"# NetworkX\nann bob {'weight': 1.5, 'name': 'x y'}\n\n#bob cid {}\n",
    "d.txt": b"from to weight\nann bob 1\n#bob cid 2\n# a note on cid\n",
    "a.net": b'*Vertices 3\n1 "a b" 0.5 0.5 ic Blue\n2 c\n*Arcs :1 "r"\n1 2 5e-3 c Red\n*Edgeslist\n1 2 3\n',
    "a.gr": b"c roads\np sp 4 3\na 1 2 5\na 2 3 6\nc between\na 3 4 7\n",
    "b.gr": b"p tw 3 2\n1 2\n2 3\n",
    "a.mtx": b"%%MatrixMarket matrix coordinate real symmetric\n% x\n3 3 2\n2 1 0.5\n3 2 -1e3\n",
    "b.mtx": b"%%MatrixMarket matrix coordinate pattern general\n3 3 2\n2 1\n3 2\n",
    "out.a": b"% sym weighted\n% 2 3 3\n1 2 5\n2 3 6\n",
    "a.graph": b"% c\n3 2 011 1\n7 2 5\n7 1 5 3 6\n7 2 6\n",
    "a.tsp": b"NAME: x\nDIMENSION: 3\nEDGE_WEIGHT_TYPE: EUC_2D\nNODE_COORD_SECTION\n1 0 0\n2 3 4\n3 1e1 .5\nEOF\n",
    "b.tsp": b"DIMENSION: 3\nEDGE_WEIGHT_TYPE: GEO\nNODE_COORD_SECTION\n1 38.24 20.42\n2 -3.5 .5\n3 1e1 180\nEOF\n",
    "c.tsp": b"TYPE: TSP\nDIMENSION: 3\nEDGE_WEIGHT_TYPE: EXPLICIT\nEDGE_WEIGHT_FORMAT: UPPER_DIAG_ROW\n"
    b"EDGE_WEIGHT_SECTION\n0 5 7 0\n6 0\nDISPLAY_DATA_SECTION\n1 0 0\nEOF\n",
    "a.cedge": b"0 1 2 0.5\n1 2 3 1\n",
    "a.ewg": b"4\n3\n0 1 5\n1 2 6\n2 3 7\n",
    "a.gml": b'graph [\n directed 0\n node [ id 1 label "a" ]\n node [ id 2 label "b" ]\n'
    b' edge [ source 1 target 2 value 1.5E2 tags "x" nested [ a 1 ] ]\n]\n',
    "a.graphml": b'<?xml version="1.0" encoding="UTF-8"?>\n<!DOCTYPE graphml [<!ENTITY c "Rome">]>\n'
    b'<graphml xmlns="http://graphml.graphdrawing.org/xmlns">\n<key id="w" for="edge" attr.name="weight" '
    b'attr.type="double"><default>1.0</default></key>\n<graph edgedefault="undirected" parse.edges="2">\n'
    b'<node id="1"/><node id="2"/><node id="&c;"/>\n<edge source="1" target="2"><data key="w">2.5</data></edge>\n'
    b'<edge source="1" target="Rome"/>\n</graph></graphml>\n',
    "a.json": b'{"directed": false, "nodes": [{"id": 1}, {"id": 2}],\n "links": [{"source": 1, "target": 2, '
    b'"weight": 0.5, "tags": ["x"]}, {"source": 2, "target": 2, "weight": null}]}\n',
    "b.json": b'[{"source": 1, "target": 2, "weight": 0.5},\n {"source": 2, "target": 3, "at": "x\\u00fc"}]\n',
    "a.ndjson": b'{"source": "a", "target": "7", "weight": 5e-3}\n\n{"source": "7", "target": "b", "on": true}\n'
    b'{"target": "b", "weight": 18446744073709551616, "source": null}\n',
}
ODD = [
    *(b"0", b"-1", b"+3", b"1.0", b"0.5", b"1e400", b"-1e-400", b"nan", b"-inf", b"Infinity", b"0x10", b"1_0", b"007"),
    *(str(2**power + 1).encode() for power in (31, 53, 63, 64, 127)),
    *(b"9" * 39, b"9" * 5000, b"1." + b"3" * 400, b"1e" + b"9" * 30, b"1" * 18 + b".5", b".", b"-", b"e5", b"1.e5"),
    *(b'"', b'""', b'"""', b"'", b",", b";", b"\t", b"  ", b"\r", b"\r\n", b"\n", b"\n\n", b"\v", b"\f", b"\x85"),
    *(b"\0", b"\xff", b"\xef\xbb\xbf", "é".encode(), "\u2028".encode(), "٣".encode(), "１".encode(), b"\xed\xa0\x80"),
    *(b"#", b"%", b"c", b"a 1 2", b"p sp 3 2", b"# Nodes: 2 Edges: 7", b"true", b"null", b"NULL", b"N/A"),
    *(b"&x;", b"&#0;", b"&#xD800;", b"<", b">", b"]]>", b"<!--", b"<![CDATA[", b"<edge source='1' target='2'/>"),
    *(
        b"*Vertices 3",
        b"*Edges",
        b"{'weight': 1}",
        b"LOWER_ROW",
        b"FULL_MATRIX",
        b"EXPLICIT",
        b"#a b 1",
        b"_networkx_list_start",
    ),
    *(b"[", b"]", b"{", b"}", b":", b"edge [ source 1 target 2 ]", b'{"id": 1}', b"x" * 3000, b"[" * 2000),
]
COMPRESS: list[Callable[[bytes], bytes]] = [
    bytes,
    gzip.compress,
    lzma.compress,
    bz2.compress,
    lambda data: bytes(pa.compress(data, codec="zstd", asbytes=True)),
]


def _binary() -> dict[str, bytes]:
    parquet, file, stream = (pa.BufferOutputStream() for _ in range(3))
    pyarrow.parquet.write_table(EDGES, parquet)
    with pa.ipc.new_file(file, EDGES.schema) as writer:
        writer.write_table(EDGES)
    with pa.ipc.new_stream(stream, EDGES.schema) as writer:
        writer.write_table(EDGES)
    sinks = {"a.parquet": parquet, "a.arrow": file, "a.arrows": stream}
    return {name: sink.getvalue().to_pybytes() for name, sink in sinks.items()}


def _heads() -> dict[str, bytes]:
    """The first lines of the real files, under names that tell the same format."""
    heads = {}
    for path in sorted((SHARED / "formats").glob("*")):
        if path.name != "manifest.json":
            opener = OPENERS.get(path.suffix)
            with path.open("rb") if opener is None else opener(path) as file:
                head = file.read(LONGEST_HEAD + 1)
            whole = len(head) <= LONGEST_HEAD
            heads[path.name.removesuffix(path.suffix) if opener else path.name] = (
                head if whole else head[: head.rfind(b"\n") + 1]
            )
    return heads


CORPUS = {**SMALL, **_binary(), **_heads()}
places = st.integers(0, 1 << 20)
changes = st.one_of(
    st.tuples(st.sampled_from(["word", "insert"]), places, st.sampled_from(ODD)),
    st.tuples(st.sampled_from(["flip", "byte"]), places, st.integers(0, 255)),
    st.tuples(st.sampled_from(["cut", "drop line", "double line", "drop word", "double word"]), places, st.none()),
    st.tuples(st.just("swap"), places, places),
    st.tuples(st.just("splice"), places, st.sampled_from(sorted(CORPUS))),
    st.tuples(st.just("ends"), st.just(0), st.sampled_from([b"\r", b"\r\n", b""])),
)


def mutated(data: bytes, change: tuple[str, int, Any]) -> bytes:
    """Change a text by its words and lines, or by bytes."""
    kind, place, value = change
    if kind in ("flip", "byte", "cut"):
        at = place % (len(data) + 1)
        if kind == "cut" or at == len(data):
            return data[:at]
        byte = value if kind == "byte" else data[at] ^ (1 << (int(value) % 8))
        return data[:at] + bytes([byte]) + data[at + 1 :]
    if kind == "ends":
        return data.replace(b"\n", value)
    if kind == "splice":
        other = CORPUS[value]
        return data[: place % (len(data) + 1)] + other[place % (len(other) + 1) :]
    pieces = data.splitlines(keepends=True) if kind.endswith("line") else WORD.findall(data)
    if not pieces:
        return data
    at = place % len(pieces)
    if kind == "swap":
        other_at = value % len(pieces)
        pieces[at], pieces[other_at] = pieces[other_at], pieces[at]
    elif kind == "insert":
        pieces.insert(at, value)
    elif kind == "word":
        pieces[at] = value
    else:
        pieces[at : at + 1] = [] if kind.startswith("drop") else [pieces[at]] * 2
    return b"".join(pieces)


@st.composite
def files(draw: st.DrawFn) -> tuple[str, bytes]:
    """A name and mutated bytes, perhaps compressed, and then perhaps damaged."""
    name = draw(st.sampled_from(sorted(CORPUS)))
    data = CORPUS[name]
    for change in draw(st.lists(changes, min_size=1, max_size=4)):
        data = mutated(data, change)
    compress = draw(st.sampled_from([*COMPRESS[:1] * 6, *COMPRESS]))
    if compress is not bytes:
        data = compress(data)
        for change in draw(st.lists(changes, max_size=1)):
            data = mutated(data, change)
    return draw(st.sampled_from([name, name, "a", "a.txt", "a.csv"])), data


def outcome(path: Path, format_: str | None, counts: str, block_bytes: int) -> pa.Table | str:
    begin = time.monotonic()
    try:
        table = open_edges(path, format_, counts=counts, block_bytes=block_bytes).read_all()  # type: ignore[arg-type]
    except DfmstError as error:
        assert not isinstance(error, FormatError) or str(path) in error.message
        return error.message
    finally:
        assert time.monotonic() - begin < MOST_SECONDS
    table.validate(full=True)
    return table


def test_any_bytes_give_a_table_or_an_error_that_names_the_file(fuzz: Fuzz, tmp_path: Path) -> None:
    @given(
        file=files(),
        format_=st.sampled_from([*[None] * 12, *FORMATS]),
        counts=st.sampled_from(["check", "ignore"]),
        block_bytes=st.sampled_from([16, 64, 256]),
    )
    def check(file: tuple[str, bytes], format_: str | None, counts: str, block_bytes: int) -> None:
        path = tmp_path / file[0]
        path.write_bytes(file[1])
        whole = outcome(path, format_, counts, 1 << 20)
        parts = outcome(path, format_, counts, block_bytes)
        assert isinstance(whole, str) == isinstance(parts, str), (whole, parts)
        if not isinstance(whole, str):
            # As text: a NaN equals a NaN there.
            assert str(parts.schema) == str(whole.schema)
            assert str(parts.to_pydict()) == str(whole.to_pydict())

    fuzz(check)
