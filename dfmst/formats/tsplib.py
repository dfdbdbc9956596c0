"""TSPLIB points in the plane: the complete graph with rounded distances."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from dfmst._common.number_patterns import is_number, is_whole, read_count
from dfmst.errors import CapacityError
from dfmst.formats.files import ACCEPT, HEAD_BYTES, ROWS_IN_A_BATCH, GraphFile, Line
from dfmst.formats.text_reader import TextReader

# Distances between such points are whole numbers that a float holds.
LARGEST_COORDINATE = 2.0**51
MOST_ROWS = 1 << 28  # 6 GiB


def open_tsplib(file: GraphFile) -> pa.RecordBatchReader:
    """Stream the complete graph over the points of a TSPLIB file."""
    with TextReader(file, HEAD_BYTES) as reader:
        header = _read_header(reader, file)
        points = _read_points(reader, file, header["DIMENSION"])
    count, edges = len(points), len(points) * (len(points) - 1) // 2
    if edges > MOST_ROWS:
        message = f"{file.path}: the complete graph of {count:,} points has {edges:,} rows, more than {MOST_ROWS:,}"
        raise CapacityError(message, "give the points to dfmst.euclidean_forest, which needs no complete graph")
    ids = np.array(list(points), np.int64)
    x, y = np.array(list(points.values()), np.float64).reshape(-1, 2).T.copy()
    distance = DISTANCES[header["EDGE_WEIGHT_TYPE"].text.decode()]
    return pa.RecordBatchReader.from_batches(SCHEMA, _batches(ids, x, y, distance))


def _read_header(reader: TextReader, file: GraphFile) -> dict[str, Line]:
    """Return the values before the coordinates by their keyword."""
    header = dict.fromkeys(("EDGE_WEIGHT_TYPE", "DIMENSION"), Line(b"", 1))
    for line in reader.lines():
        key, _, value = line.text.decode("utf-8", errors="replace").partition(":")
        if key.strip() == "NODE_COORD_SECTION":
            break
        header[key.strip()] = Line(value.strip().encode(), line.number)
    else:
        hint = "only files of points can be read; or the file is cut"
        raise file.problem("no NODE_COORD_SECTION", max(1, reader.line - 1), hint)
    kind, dimension = header["EDGE_WEIGHT_TYPE"], header["DIMENSION"]
    if kind.text.decode() not in DISTANCES:
        raise file.problem("an unknown EDGE_WEIGHT_TYPE", kind, f"these can be read: {', '.join(DISTANCES)}")
    if file.check_counts and read_count(dimension.text) is None:
        raise file.problem("no DIMENSION", dimension, "DIMENSION holds the number of points")
    return header


def _read_points(reader: TextReader, file: GraphFile, dimension: Line) -> dict[int, list[float]]:
    """Return the two coordinates of every point by its number."""
    points: dict[int, list[float]] = {}
    last_line = reader.line - 1
    for line in reader.lines():
        words = line.texts
        if words and (words[0] == "EOF" or words[0].endswith("_SECTION")):
            break
        last_line = line.number
        if not words:
            continue
        if not _is_point(words):
            raise file.problem("not a point", line, "a point reads: NUMBER X Y, and no coordinate is beyond 2**51")
        if int(words[0]) in points:
            raise file.problem("a number given twice", line, "number every point once")
        points[int(words[0])] = [float(word) for word in words[1:]]
    count = read_count(dimension.text)
    if file.check_counts and len(points) != count:
        message = f"{len(points)} points; line {dimension.number} promises {count}"
        raise file.problem(message, last_line, f"the file is cut, or DIMENSION is wrong: fetch it again, {ACCEPT}")
    return points


def _is_point(words: list[str]) -> bool:
    """Return whether words are an id of 64 bits and two coordinates."""
    if len(words) != 3 or not (is_whole(words[0]) and len(words[0]) < 20 and -(2**63) <= int(words[0]) < 2**63):
        return False
    return all(is_number(word) and abs(float(word)) <= LARGEST_COORDINATE for word in words[1:])


SCHEMA = pa.schema([("source", pa.int64()), ("target", pa.int64()), ("weight", pa.int64())])
Real = npt.NDArray[np.float64]


def _nearest(distance: Real) -> Real:
    # TSPLIB rounds halves up; NumPy would round them to even.
    return np.floor(distance + 0.5)


#: The distance of two points by its name in TSPLIB, from the differences of their coordinates.
DISTANCES: dict[str, Callable[[Real, Real], Real]] = {
    "EUC_2D": lambda x, y: _nearest(np.sqrt(x * x + y * y)),
    "CEIL_2D": lambda x, y: np.ceil(np.sqrt(x * x + y * y)),
    "MAN_2D": lambda x, y: _nearest(np.abs(x) + np.abs(y)),
    "MAX_2D": lambda x, y: np.maximum(_nearest(np.abs(x)), _nearest(np.abs(y))),
}


def _batches(
    ids: npt.NDArray[np.int64], x: Real, y: Real, distance: Callable[[Real, Real], Real]
) -> Iterator[pa.RecordBatch]:
    points = len(ids)
    step = max(1, ROWS_IN_A_BATCH // max(1, points))
    for start in range(0, points, step):
        first, second = np.nonzero(np.arange(points) > np.arange(start, min(start + step, points))[:, None])
        first += start
        weight = distance(x[first] - x[second], y[first] - y[second])
        columns = (ids[first], ids[second], weight.astype(np.int64))
        yield pa.record_batch(list(map(pa.array, columns)), schema=SCHEMA)
