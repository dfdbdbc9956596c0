"""TSPLIB points in the plane: the complete graph with rounded distances."""

from __future__ import annotations

from collections.abc import Collection

import numpy as np
import pyarrow as pa

from dfmst.formats.graph_file import HEAD_BYTES, GraphFile
from dfmst.formats.problems import problem
from dfmst.formats.text.blocks import Line, TextReader
from dfmst.formats.text.number_patterns import is_number, is_whole

__all__ = ["open_tsplib"]


def open_tsplib(file: GraphFile) -> pa.RecordBatchReader:
    """Stream the complete graph over the points of a TSPLIB file.

    Parameters
    ----------
    file
        The file, with EDGE_WEIGHT_TYPE EUC_2D, CEIL_2D, MAN_2D or MAX_2D.

    Returns
    -------
    pyarrow.RecordBatchReader
        ``source``, ``target`` and ``weight``, all int64; n (n - 1) / 2 rows, computed batch by batch.

    Raises
    ------
    FormatError
        The file breaks the format or measures distances in another way.
    """
    # Here, not above: the generators load the engines, which no other format needs.
    from dfmst.generate.points import DISTANCES, complete_plane

    with TextReader(file, HEAD_BYTES) as reader:
        header = _read_header(reader, file, DISTANCES)
        rows = _read_points(reader, file, header["DIMENSION"])
    ids = np.array([int(row[0]) for row in rows], dtype=np.int64)
    x, y = (np.array([float(row[axis]) for row in rows]) for axis in (1, 2))
    return complete_plane(ids, x, y, header["EDGE_WEIGHT_TYPE"].text.decode())


def _read_header(reader: TextReader, file: GraphFile, distances: Collection[str]) -> dict[str, Line]:
    """Return the values before the coordinates by their keyword."""
    header: dict[str, Line] = {}
    for line in reader.lines():
        key, _, value = line.text.decode("utf-8", errors="replace").partition(":")
        if key.strip() == "NODE_COORD_SECTION":
            break
        header[key.strip()] = Line(value.strip().encode(), line.number)
    else:
        hint = "only files of points can be read; or the file is cut"
        raise problem(file.path, "no NODE_COORD_SECTION", line=max(1, reader.line - 1), hint=hint)
    kind = header.get("EDGE_WEIGHT_TYPE", Line(b"", 1))
    if kind.text.decode() not in distances:
        hint = f"these can be read: {', '.join(distances)}"
        raise problem(file.path, "an unknown EDGE_WEIGHT_TYPE", line=kind.number, text=kind.text, hint=hint)
    dimension = header.get("DIMENSION", Line(b"", 1))
    if not dimension.text.isdigit():
        hint = "DIMENSION holds the number of points"
        raise problem(file.path, "no DIMENSION", line=dimension.number, text=dimension.text, hint=hint)
    return header


def _read_points(reader: TextReader, file: GraphFile, dimension: Line) -> list[list[str]]:
    """Return the words of every point: its number and two coordinates."""
    rows: list[list[str]] = []
    numbers: set[int] = set()
    last_line = reader.line - 1
    for line in reader.lines():
        words = line.text.decode("utf-8", errors="replace").split()
        if words and (words[0] == "EOF" or words[0].endswith("_SECTION")):
            break
        last_line = line.number
        if not words:
            continue
        if len(words) != 3 or not is_whole(words[0]) or not all(map(is_number, words[1:])):
            hint = "a point reads: NUMBER X Y"
            raise problem(file.path, "not a point", line=line.number, text=line.text, hint=hint)
        if int(words[0]) in numbers:
            raise problem(
                file.path, "a number given twice", line=line.number, text=line.text, hint="number every point once"
            )
        numbers.add(int(words[0]))
        rows.append(words)
    if len(rows) != int(dimension.text):
        raise problem(
            file.path,
            f"{len(rows)} points; line {dimension.number} promises {int(dimension.text)}",
            line=last_line,
            hint="the file is cut, or DIMENSION is wrong",
        )
    return rows
