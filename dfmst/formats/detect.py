"""What a file is: its format, by its first bytes, its name and its first lines, and the memory that its rows take."""

from __future__ import annotations

import re
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

import pyarrow as pa
import pyarrow.ipc

from dfmst.formats.delimited import find_separator
from dfmst.formats.files import HEAD_BYTES, FileName, GraphFile, existing_path, open_native
from dfmst.formats.node_files import has_dictionary
from dfmst.formats.stores import path_of
from dfmst.formats.text_reader import BYTE_ORDER_MARK, with_newlines

COMPRESSED = (".gz", ".xz", ".zst", ".zstd", ".bz2")
ARCHIVES = {b"PK\x03\x04": "zip", b"7z\xbc\xaf": "7z", b"Rar!": "rar"}
WORKBOOKS = (".xlsx", ".xlsm", ".ods")
UTF_16 = (b"\xff\xfe", b"\xfe\xff")
_PAGE = re.compile(rb"(?:\xef\xbb\xbf)?\s*<(?:!doctype\s+html|html)\b", re.IGNORECASE)
#: An object in the first line, and another one below it, or nothing; the only line of a graph has nodes.
_RECORDS = re.compile(rb"\s*\{(?:[^\n]*\}[ \t]*\n\s*\{|(?![^\n]*\"nodes\"\s*:)[^\n]*\}\s*\Z)")


class Format(NamedTuple):
    """A format that is read, and its signs: first bytes, suffixes, and the pattern of a first line."""

    name: str
    opener: str  # module and function, imported at first use
    suffixes: tuple[str, ...] = ()
    sign: bytes = rb"(?!)"
    skipped: bytes = rb"(?!)"  # pattern of the lines before the first
    likely: tuple[str, ...] = ()  # suffixes that mostly belong to it; used if no first line fits
    magic: tuple[bytes, ...] = ()


_ARROW = (b"ARROW1", b"FEA1", b"\xff\xff\xff\xff")
_GML_HEAD = rb"(?i)#|(Creator|Version|comment)\b"
_DIMACS = rb"p\s+\S+\s+\d+\s+\d+|[ae]\s+\d+\s+\d+"
_TSPLIB = rb"(NAME|COMMENT|TYPE|DIMENSION|EDGE_WEIGHT_TYPE)\s*:"
#: All formats that are read; the surest signs come first.
READ = (
    Format("parquet", "columnar.open_parquet", (".parquet", ".parq", ".pq"), magic=(b"PAR1",)),
    Format("arrow", "columnar.open_arrow", (".arrow", ".arrows", ".feather", ".ipc"), magic=_ARROW),
    Format("csv", "delimited.open_csv", (".csv",)),
    Format("tsv", "delimited.open_csv", (".tsv",)),
    Format("matrix-market", "edge_lists.open_matrix_market", (".mtx", ".mm"), rb"(?i)%%MatrixMarket\b"),
    Format("konect", "edge_lists.open_konect", (), rb"%\s*(sym|asym|bip)\b"),
    Format("graphml", "markup.open_graphml", (".graphml",), rb"<"),
    Format("ndjson", "records.open_ndjson", (".ndjson", ".jsonl")),
    Format("json", "records.open_json", (".json",), rb"[{\[]"),
    Format("pajek", "markup.open_pajek", (), rb"(?i)\*(vertices|vertex|network)\b", rb"%"),
    Format("tsplib", "tsplib.open_tsplib", (".tsp",), _TSPLIB),
    Format("gml", "markup.open_gml", (".gml",), rb"graph\s*(\[|$)", _GML_HEAD),
    Format("dimacs", "edge_lists.open_dimacs", (), _DIMACS, rb"c(\s|$)", (".gr", ".col")),
    Format("metis", "metis.open_metis", (".metis",), likely=(".graph",)),
    Format("cedge", "edge_lists.open_cedge", (".cedge",)),
    Format("ewg", "edge_lists.open_ewg"),
    Format("snap", "delimited.open_snap"),
)


def detect_format(path: FileName) -> str:
    r"""Return the name of a file's format, one of ``FORMATS``.

    Its first bytes decide, then its name, then its first lines; a directory holds Parquet files.

    Raises
    ------
    FormatError
        If the file is empty, an archive or UTF-16 text, or does not exist (then also a ``FileNotFoundError``).

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder) / "roads.txt"
    ...     count = path.write_text("p sp 3 2\na 1 2 40\na 2 3 7\n")
    ...     detect_format(path)
    'dimacs'
    """
    return format_of_file(GraphFile(existing_path(path)))


def format_of_file(file: GraphFile, given: str | None = None) -> str:
    """Return the format that was given, or the one of :func:`detect_format`; both refuse empty files and archives."""
    if file.path.is_dir():
        return given or "parquet"
    head = file.head()
    if not head.strip():
        raise file.problem("the file is empty", 1, "fetch or write the file again")
    if given is None:
        _refuse(file, head, BINARY)
    archive = next((name for magic, name in ARCHIVES.items() if head.startswith(magic)), None)
    if archive and file.path.suffix.lower() in WORKBOOKS:
        raise file.problem("a workbook, not a table of text", hint="save its sheet as CSV, in UTF-8")
    if archive:
        raise file.problem(f"a {archive} archive", hint="unpack it first")
    if given is None and _PAGE.match(head):
        raise file.problem("a page of HTML", hint="fetch the file itself, perhaps with a login or from another path")
    if head.startswith(UTF_16):
        raise file.problem("text in UTF-16", hint="save the file as UTF-8")
    binary = next((known.name for known in READ if head.startswith(known.magic)), None)
    text = with_newlines(head.removeprefix(BYTE_ORDER_MARK))
    known = given or binary or format_of_suffix(file.path) or _format_of_text(text, file)
    return "ndjson" if known == "json" and not given and _RECORDS.match(text) else known


def format_of_suffix(path: FileName) -> str | None:
    """Return the format of a file by its name, or ``None`` if several formats fit; the file is not opened.

    Examples
    --------
    >>> format_of_suffix("roads.mtx.gz"), format_of_suffix("roads.txt")
    ('matrix-market', None)
    """
    return next((known.name for known in READ if _suffix(path_of(path)) in known.suffixes), None)


def _suffix(path: Path) -> str:
    return next((suffix for suffix in map(str.lower, reversed(path.suffixes)) if suffix not in COMPRESSED), "")


def _format_of_text(head: bytes, file: GraphFile) -> str:
    _refuse(file, head.lstrip(), REFUSED, [one for one in (*REFUSED, *UNSURE) if _suffix(file.path) in one.suffixes])
    lines = [line for line in map(bytes.strip, head.split(b"\n")) if line]
    for known in READ:
        if re.match(known.sign, next((line for line in lines if not re.match(known.skipped, line)), b"")):
            return known.name
    _refuse(file, head.lstrip(), UNSURE)
    if len(lines) > 2 and all(map(bytes.isdigit, lines[:2])) and len(lines[2].split()) == 3:  # two counts, then a row
        return "ewg"
    likely = next((known.name for known in READ if _suffix(file.path) in known.likely), None)
    # A line that is cut, or a comment, is no row.
    whole = head[: head.rfind(b"\n") + 1] if len(head) >= HEAD_BYTES else head
    rows = [line for line in (whole or head).split(b"\n") if line.strip() and not line.startswith((b"#", b"%"))]
    if likely or not rows or has_dictionary(rows[0].strip()):
        return likely or "snap"
    return "snap" if find_separator(file, b"\n".join(rows)) in "\t " else "csv"


_EXPANSION = 6  # bytes of text for each that is compressed
_TEXT = 2  # bytes in memory for each byte of text
_OFFSET = 4  # bytes that a text takes next to its letters
_ARROW_ROW = 24  # bytes of a row of an Arrow stream, or of a compressed file


def size_in_memory(path: FileName) -> tuple[int, int]:
    """Return the rows of a file, and their bytes in memory: of Parquet by its footers, of other formats by its size."""
    path = path_of(path)
    if path.is_dir():
        from dfmst.formats.columnar import parquet_files  # slow to import

        rows, sizes = zip(*map(size_in_memory, parquet_files(path)), strict=True)
        return sum(rows), sum(sizes)
    file = GraphFile(existing_path(path))
    name, size = format_of_file(file), file.path.stat().st_size
    if file.compression is None and name == "parquet":
        from dfmst.formats.columnar import parquet_footer

        footer = parquet_footer(path)
        pages = sum(footer.row_group(group).total_byte_size for group in range(footer.num_row_groups))
        return footer.num_rows, _bytes_of(footer.schema.to_arrow_schema(), footer.num_rows, pages)
    if file.compression is None and name == "arrow":
        with suppress(pa.ArrowException), open_native(path) as stream, pa.ipc.open_file(stream) as reader:
            rows = reader.count_rows()
            return rows, _bytes_of(reader.schema, rows, size)
    head = b"" if name in ("arrow", "parquet") else file.head()
    size *= _TEXT if file.compression is None else _TEXT * _EXPANSION
    return size * head.count(b"\n") // (_TEXT * len(head)) if head else size // _ARROW_ROW, size


def _bytes_of(schema: pa.Schema, rows: int, stored: int) -> int:
    """Return the approximate bytes of columns in memory: by types' widths, and for texts by the bytes in the file."""
    widths = [_width(field.type) for field in schema]
    return int(rows * sum(_OFFSET if width is None else width for width in widths)) + 2 * stored * (None in widths)


def _width(kind: pa.DataType) -> float | None:
    """Return the bytes of a value; ``None`` for texts and the like, and for dictionaries, which may hold texts."""
    with suppress(ValueError):
        return None if pa.types.is_dictionary(kind) else float(kind.bit_width) / 8
    return None


class Refused(NamedTuple):
    """A format that is not read: its suffixes, the pattern of its first bytes, and how to convert it."""

    name: str
    suffixes: tuple[str, ...]
    sign: bytes
    fix: str  # PATH stands for the name of the file


def _pandas(call: str) -> str:
    return f"pandas.{call}.to_parquet('edges.parquet')"


def _networkx(call: str, options: str = "") -> str:
    return f"dfmst.minimum_spanning_forest(networkx.to_pandas_edgelist(networkx.{call}(PATH)){options})"


_NO_WEIGHT = ", weight=None"
_IGRAPH = "dfmst.minimum_spanning_forest(dfmst.from_igraph(igraph.Graph.{}(PATH)))"
_ROW = rb"[^#\s]\S*+(?:[ \t]+\S++)?"  # of one or two words
_HEADS = rb"#[ \t]+\S++[ \t]*\n\s*+%b[ \t]*\n(?:(?:%b)?[ \t]*\n)*+#[ \t]+\S++\s" % (_ROW, _ROW)
# One head: a number, or a name before rows of a name and a number.
_STAR = rb"#[ \t]+(?:(?=\d++\n)|(?=\S++\n[^#\s\d]))\S++\n(?:[^#\s]\S*+[ \t]+[\d.e+-]++[ \t]*(?:\n\s*+|\Z))++\Z"
_DOT = rb"(?:\s|//[^\n]*|#[^\n]*|/\*.*?\*/)*+(?:strict\s+)?(?:di)?graph\b[^\[\]{}\n]*\s*\{"
_LEDA = _networkx("read_leda", ".astype({'label': float}), weight='label'")
_ADJACENCY = _networkx("read_adjlist", _NO_WEIGHT) + ", or networkx.read_multiline_adjlist"
_STEINER = "keep its edges: grep -i '^ *E ' PATH | tr -s ' ' | cut -d ' ' -f 2- > edges.txt"
_ROWS = "lambda: base.table(NAME).to_arrow_reader()"
_DUCKDB = f"base = duckdb.connect(PATH, read_only=True); dfmst.stream.minimum_spanning_forest({_ROWS})"
_SQL = _pandas("read_sql('SELECT * FROM NAME', sqlite3.connect(PATH))")
_NPZ = _pandas("DataFrame(dict(numpy.load(PATH)))") + "; a matrix: dfmst.from_sparse(scipy.sparse.load_npz(PATH))"
_NPY = _pandas("DataFrame(numpy.load(PATH)).rename(columns=str)") + "; a matrix: dfmst.from_matrix(numpy.load(PATH))"
_ORC = "pyarrow.parquet.write_table(pyarrow.orc.read_table(PATH), 'edges.parquet')"
_AVRO = "polars.read_avro(PATH).write_parquet('edges.parquet')"
_R = "in R: {}, 'edges.csv', row.names = FALSE)"
#: Formats that are recognized, and refused with the call that converts them.
BINARY = (
    Refused("ORC", (".orc",), rb"ORC.{0,99}[\0-\x08]", _ORC),
    Refused("HDF5", (".h5", ".hdf5", ".hdf"), rb"\x89HDF", _pandas("read_hdf(PATH)")),
    Refused("RDS", (".rds",), rb"X\n\0\0\0[\x02\x03]|A\n[23]\n\d+\n", _R.format("write.csv(readRDS(PATH)")),
    Refused("RData", (".rdata", ".rda"), rb"RD[XAB][23]\n", _R.format("load(PATH); write.csv(NAME")),
    Refused("Stata", (".dta",), rb"<stata_dta>|[\x66-\x73][\x01\x02]\x01\0", _pandas("read_stata(PATH)")),
    Refused("SPSS", (".sav", ".zsav"), rb"\$FL[23]@\(#\)", _pandas("read_spss(PATH)")),
    Refused("SAS", (".sas7bdat", ".xpt"), rb"\0{12}\xc2\xea\x81\x60|HEADER RECORD\*", _pandas("read_sas(PATH)")),
    Refused("Excel 97", (".xls",), rb"\xd0\xcf\x11\xe0", _pandas("read_excel(PATH)")),
    Refused("Avro", (".avro",), rb"Obj\x01", _AVRO),
    Refused("SQLite", (".sqlite", ".sqlite3", ".db"), rb"SQLite format 3\0", _SQL),
    Refused("NumPy", (".npy",), rb"\x93NUMPY", _NPY),
    Refused("NPZ", (".npz",), rb"PK\x03\x04.{26}[ -~]{1,99}?\.npy", _NPZ),
    Refused("pickle", (".pkl", ".pickle"), rb"\x80[\x02-\x05][\x95\x8c\]})(c]", _pandas("read_pickle(PATH)")),
)
REFUSED = (
    *BINARY,
    Refused("GEXF", (".gexf",), rb"(?:\s|<\?[^>]*>|<!--.*?-->)*+<gexf\b", _networkx("read_gexf")),
    Refused("DOT", (".dot", ".gv"), _DOT, _networkx("nx_pydot.read_dot", ".astype({'weight': float})")),
    Refused("LEDA", (".lgr", ".leda", ".gw"), rb"LEDA\.GRAPH\b", _LEDA),
    Refused("UCINET DL", (".dl",), rb"DL[\s,]+(?:N|NM|NR|NC|FORMAT|LABELS|DATA)\b", _IGRAPH.format("Read_DL")),
    Refused("sparse6", (".s6",), rb">>sparse6<<|:[!-~]+\s*\Z", _networkx("read_sparse6", _NO_WEIGHT)),
    Refused("graph6", (".g6", ".d6"), rb">>(?:di)?graph6<<", _networkx("read_graph6", _NO_WEIGHT)),
    Refused("adjacency list", (".adjlist", ".multiline_adjlist"), rb"#[^\n]*\n# GMT [^\n]*\n", _ADJACENCY),
    Refused("SteinLib", (".stp",), rb"33D32945\b|SECTION\s+(?:Comment|Graph)\b", _STEINER),
    Refused("GDF", (".gdf",), rb"nodedef\s*>", "keep the rows after 'edgedef>' as a CSV file, with a header"),
    Refused("VNA", (".vna",), rb"\*\s*(?:node|tie)\b", "keep the rows after '*tie data' as an edge list"),
    Refused("DuckDB", (".duckdb", ".ddb"), rb".{0,8}DUCK..\0{6}", _DUCKDB),
    Refused("LEMON", (".lgf",), rb"(?:#[^\n]*\n|\s)*+@(?:nodes|arcs|edges)\b", "keep its @arcs as an edge list"),
)
# Refused as well, but only if the first lines are not those of a format that is read.
UNSURE = (
    Refused("LGL", (".lgl",), rb"%b|%b" % (_HEADS, _STAR), _IGRAPH.format("Read_Lgl")),
    Refused("TGF", (".tgf",), rb"(?:[^#%\s][^\n]*\n)++#[ \t]*\n", "keep the rows after '#' as an edge list"),
    Refused("Newick", (".nwk", ".newick"), rb"\([^\n]*\)[^\n()]*;\s*\Z", "write its branches as an edge list"),
    Refused("SIF", (".sif",), rb"(?!)", "leave out its second column: the ends are the first and the third"),
)


def _refuse(file: GraphFile, head: bytes, formats: Sequence[Refused], by_suffix: Sequence[Refused] = ()) -> None:
    """Raise FormatError if the suffix or the first bytes are those of a format that is not read."""
    for found in (*by_suffix, *(one for one in formats if re.match(one.sign, head, re.DOTALL | re.IGNORECASE))):
        sign = f"suffix {_suffix(file.path)}" if by_suffix else "first lines"
        fix = found.fix.replace("PATH", repr(str(file.path)))
        message, hint = f"{found.name} files are not read, and by its {sign} this is one", f"{fix}; if it is of another"
        raise file.problem(message, hint=f"{hint} format, name that one with format=")
