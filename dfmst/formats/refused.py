"""Formats that are recognized and not read, each with the call that converts them."""

from __future__ import annotations

import re
from typing import NamedTuple

from dfmst.formats.files import GraphFile


class Refused(NamedTuple):
    """A format that is not read: its suffixes, the pattern of its first bytes, and how to convert it."""

    name: str
    suffixes: tuple[str, ...]
    sign: re.Pattern[bytes]
    fix: str


def _sign(pattern: bytes) -> re.Pattern[bytes]:
    return re.compile(pattern, re.DOTALL | re.IGNORECASE)


def _networkx(call: str, options: str = "") -> str:
    """Return the call for a file that NetworkX reads; PATH stands for its name."""
    return f"dfmst.minimum_spanning_forest(networkx.to_pandas_edgelist(networkx.{call}(PATH)){options})"


_NO_WEIGHT = ", weight=None"
_IGRAPH = "dfmst.minimum_spanning_forest(dfmst.from_igraph(igraph.Graph.{}(PATH)))"
_HEADS = rb"#[ \t]+\S++\n(?:[^#\s]\S*+(?:[ \t]+\S++)?[ \t]*\n)++#[ \t]+\S++\s"
_STAR = rb"#[ \t]+\S++\n(?:[^#\s\d]\S*+[ \t]+[\d.e+-]++[ \t]*(?:\n|\Z))++\Z"
_DOT = rb"(?:\s|//[^\n]*|#[^\n]*|/\*.*?\*/)*+(?:strict\s+)?(?:di)?graph\b[^\[\]{}\n]*\s*\{"
FORMATS = (
    Refused("GEXF", (".gexf",), _sign(rb"(?:\s|<\?[^>]*>|<!--.*?-->)*+<gexf\b"), _networkx("read_gexf")),
    Refused("DOT", (".dot", ".gv"), _sign(_DOT), _networkx("nx_pydot.read_dot", ".astype({'weight': float})")),
    Refused("LGL", (".lgl",), _sign(rb"%b|%b" % (_HEADS, _STAR)), _IGRAPH.format("Read_Lgl")),
    Refused(
        "LEDA",
        (".lgr", ".leda", ".gw"),
        _sign(rb"LEDA\.GRAPH\b"),
        _networkx("read_leda", ".astype({'label': float}), weight='label'"),
    ),
    Refused("UCINET DL", (".dl",), _sign(rb"DL[\s,]+(?:N|NM|NR|NC|FORMAT|LABELS|DATA)\b"), _IGRAPH.format("Read_DL")),
    Refused("sparse6", (".s6",), _sign(rb">>sparse6<<|:[!-~]+\s*\Z"), _networkx("read_sparse6", _NO_WEIGHT)),
    Refused("graph6", (".g6", ".d6"), _sign(rb">>(?:di)?graph6<<"), _networkx("read_graph6", _NO_WEIGHT)),
    Refused(
        "adjacency list",
        (".adjlist", ".multiline_adjlist"),
        _sign(rb"#[^\n]*\n# GMT [^\n]*\n"),
        _networkx("read_adjlist", _NO_WEIGHT) + ", or networkx.read_multiline_adjlist",
    ),
    Refused(
        "SteinLib",
        (".stp",),
        _sign(rb"33D32945\b|SECTION\s+(?:Comment|Graph)\b"),
        "keep its edges: grep -i '^ *E ' PATH | tr -s ' ' | cut -d ' ' -f 2- > edges.txt",
    ),
    Refused("GDF", (".gdf",), _sign(rb"nodedef\s*>"), "keep the rows after 'edgedef>' as a CSV file, with a header"),
    Refused("VNA", (".vna",), _sign(rb"\*\s*(?:node|tie)\b"), "keep the rows after '*tie data' as an edge list"),
    Refused("LEMON", (".lgf",), _sign(rb"(?:#[^\n]*\n|\s)*+@(?:nodes|arcs|edges)\b"), "keep its @arcs as an edge list"),
    Refused("TGF", (".tgf",), _sign(rb"(?:[^#%\s][^\n]*\n)++#[ \t]*\n"), "keep the rows after '#' as an edge list"),
    Refused("SIF", (".sif",), _sign(rb"(?!)"), "leave out its second column: the ends are the first and the third"),
    Refused("Newick", (".nwk", ".newick"), _sign(rb"\([^\n]*\)[^\n()]*;\s*\Z"), "write its branches as an edge list"),
)


def refuse(file: GraphFile, suffix: str, head: bytes) -> None:
    """Raise FormatError if the suffix or the first bytes are those of a format that is not read."""
    found = next((one for one in FORMATS if suffix in one.suffixes), None)
    found = found or next((one for one in FORMATS if one.sign.match(head)), None)
    if found is not None:
        sign = f"suffix {suffix}" if suffix in found.suffixes else "first lines"
        hint = (
            f"{found.fix.replace('PATH', repr(str(file.path)))}; if it is of another format, name that one with format="
        )
        message = f"{found.name} files are not read, and by its {sign} this is one"
        raise file.problem(message, hint=hint, option=("format=", "--format"))
