"""TSPLIB points in the plane: the complete graph with rounded distances."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from dfmst.formats.problems import problem
from dfmst.formats.source import HEAD_BYTES, Source
from dfmst.formats.text.blocks import Line, TextReader
from dfmst.formats.text.number_patterns import is_number, is_whole

__all__ = ["open_tsplib"]

SCHEMA = pa.schema([("source", pa.int64()), ("target", pa.int64()), ("weight", pa.int64())])
ROWS_IN_A_BATCH = 1 << 18
Real = npt.NDArray[np.float64]


def _nearest(distance: Real) -> Real:
    # TSPLIB rounds halves up; NumPy would round them to even.
    return np.floor(distance + 0.5)


DISTANCES: dict[str, Callable[[Real, Real], Real]] = {
    "EUC_2D": lambda x, y: _nearest(np.sqrt(x * x + y * y)),
    "CEIL_2D": lambda x, y: np.ceil(np.sqrt(x * x + y * y)),
    "MAN_2D": lambda x, y: _nearest(np.abs(x) + np.abs(y)),
    "MAX_2D": lambda x, y: np.maximum(_nearest(np.abs(x)), _nearest(np.abs(y))),
}


@dataclass(frozen=True, slots=True)
class Points:
    """The points: ids (int64) and coordinates (float64), each of shape (n,), and their distance."""

    ids: npt.NDArray[np.int64]
    x: Real
    y: Real
    distance: Callable[[Real, Real], Real]


def open_tsplib(source: Source) -> pa.RecordBatchReader:
    """Stream the complete graph over the points of a TSPLIB file.

    Parameters
    ----------
    source
        The file, with EDGE_WEIGHT_TYPE EUC_2D, CEIL_2D, MAN_2D or MAX_2D.

    Returns
    -------
    pyarrow.RecordBatchReader
        ``source``, ``target`` and ``weight``, all int64; n (n - 1) / 2 rows, made batch by batch.

    Raises
    ------
    FormatError
        Where the file breaks the format or measures distances in another way.
    """
    with TextReader(source, HEAD_BYTES) as reader:
        header = _read_header(reader, source)
        points = _read_points(reader, source, header)
    return pa.RecordBatchReader.from_batches(SCHEMA, _batches(points))


def _read_header(reader: TextReader, source: Source) -> dict[str, Line]:
    """Return the values before the coordinates by their keyword."""
    header: dict[str, Line] = {}
    for line in reader.lines():
        key, _, value = line.text.decode("utf-8", errors="replace").partition(":")
        if key.strip() == "NODE_COORD_SECTION":
            break
        header[key.strip()] = Line(value.strip().encode(), line.number)
    else:
        hint = "only files of points can be read; or the file is cut"
        raise problem(source.path, "no NODE_COORD_SECTION", line=max(1, reader.line - 1), hint=hint)
    kind = header.get("EDGE_WEIGHT_TYPE", Line(b"", 1))
    if kind.text.decode() not in DISTANCES:
        hint = f"these can be read: {', '.join(DISTANCES)}"
        raise problem(source.path, "an unknown EDGE_WEIGHT_TYPE", line=kind.number, text=kind.text, hint=hint)
    dimension = header.get("DIMENSION", Line(b"", 1))
    if not dimension.text.isdigit():
        hint = "DIMENSION holds the number of points"
        raise problem(source.path, "no DIMENSION", line=dimension.number, text=dimension.text, hint=hint)
    return header


def _read_points(reader: TextReader, source: Source, header: dict[str, Line]) -> Points:
    dimension = header["DIMENSION"]
    rows: list[list[str]] = []
    seen: set[int] = set()
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
            raise problem(source.path, "not a point", line=line.number, text=line.text, hint=hint)
        if int(words[0]) in seen:
            raise problem(
                source.path, "a number given twice", line=line.number, text=line.text, hint="number every point once"
            )
        seen.add(int(words[0]))
        rows.append(words)
    if len(rows) != int(dimension.text):
        raise problem(
            source.path,
            f"{len(rows)} points; line {dimension.number} promises {int(dimension.text)}",
            line=last_line,
            hint="the file is cut, or DIMENSION is wrong",
        )
    return Points(
        np.array([int(row[0]) for row in rows], dtype=np.int64),
        np.array([float(row[1]) for row in rows]),
        np.array([float(row[2]) for row in rows]),
        DISTANCES[header["EDGE_WEIGHT_TYPE"].text.decode()],
    )


def _batches(points: Points) -> Iterator[pa.RecordBatch]:
    count = len(points.ids)
    step = max(1, ROWS_IN_A_BATCH // max(1, count))
    for start in range(0, count, step):
        first, second = np.nonzero(np.arange(count) > np.arange(start, min(start + step, count))[:, None])
        first += start
        weight = points.distance(points.x[first] - points.x[second], points.y[first] - points.y[second])
        columns = (points.ids[first], points.ids[second], weight.astype(np.int64))
        yield pa.record_batch(list(map(pa.array, columns)), schema=SCHEMA)
