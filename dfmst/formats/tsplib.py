"""TSPLIB: the complete graph of points, with rounded distances, or of a matrix of weights."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from itertools import product

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from dfmst._common.arguments import is_number, is_whole, read_count
from dfmst.errors import CapacityError
from dfmst.formats.files import ACCEPT, HEAD_BYTES, ROWS_IN_A_BATCH, GraphFile, Line
from dfmst.formats.metis import Whole, whole_numbers
from dfmst.formats.text_reader import TextReader

# Distances between such points are whole numbers that a float holds.
LARGEST_COORDINATE = 2.0**51
MOST_ROWS = 1 << 28  # 6 GiB


def open_tsplib(file: GraphFile) -> pa.RecordBatchReader:
    """Stream the complete graph of a TSPLIB file, by its points or its matrix of weights."""
    with TextReader(file, HEAD_BYTES) as reader:
        header = _read_header(reader, file)
        kind = header["EDGE_WEIGHT_TYPE"].text.decode()
        if kind == EXPLICIT:
            weights = _read_weights(reader, file, header)
            full = header["EDGE_WEIGHT_FORMAT"].text == b"FULL_MATRIX"
            symmetric = not full or np.array_equal(weights, weights.T)
            entries = _rows(np.arange(1, len(weights) + 1), lambda *pair: weights[pair], symmetric)
            return pa.RecordBatchReader.from_batches(SCHEMA, entries)
        points = _read_points(reader, file, header["DIMENSION"])
    _check_size(len(points), file, "give the points to dfmst.euclidean_forest, which needs no complete graph")
    ids = np.array(list(points), np.int64)
    places: Real = np.array(list(points.values()), np.float64).reshape(-1, 2).T.copy()
    rows = _rows(ids, lambda first, second: DISTANCES[kind](places[:, first], places[:, second]).astype(np.int64))
    return pa.RecordBatchReader.from_batches(SCHEMA, rows)


def _check_size(points: int, file: GraphFile, hint: str) -> None:
    edges = points * (points - 1) // 2
    if edges > MOST_ROWS:
        message = f"{file.path}: the complete graph of {points:,} points has {edges:,} rows, more than {MOST_ROWS:,}"
        raise CapacityError(message, hint)


def _read_header(reader: TextReader, file: GraphFile) -> dict[str, Line]:
    """Return the values before the coordinates or the matrix by their keyword."""
    header = dict.fromkeys(("EDGE_WEIGHT_TYPE", "EDGE_WEIGHT_FORMAT", "DIMENSION"), Line(b"", 1))
    for line in reader.lines():
        key, _, value = line.text.decode("utf-8", errors="replace").partition(":")
        matrix = header["EDGE_WEIGHT_TYPE"].text == EXPLICIT.encode()
        if key.strip() == ("EDGE_WEIGHT_SECTION" if matrix else "NODE_COORD_SECTION"):
            break
        header[key.strip()] = Line(value.strip().encode(), line.number)
    else:
        name = "NODE_COORD_SECTION, and no EDGE_WEIGHT_SECTION of EXPLICIT weights"
        raise file.problem(f"no {name}", max(1, reader.line - 1), "the file is cut, or its graph is not complete")
    kind, dimension, order = header["EDGE_WEIGHT_TYPE"], header["DIMENSION"], header["EDGE_WEIGHT_FORMAT"]
    if kind.text.decode() not in (*DISTANCES, EXPLICIT):
        known = f"these can be read: {', '.join(DISTANCES)}, {EXPLICIT}"
        raise file.problem("an unknown EDGE_WEIGHT_TYPE", kind, known)
    if matrix and order.text.decode() not in ORDERS:
        raise file.problem("an unknown EDGE_WEIGHT_FORMAT", order, f"these can be read: {', '.join(ORDERS)}")
    if (file.check_counts or matrix) and read_count(dimension.text) is None:
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


def _read_weights(reader: TextReader, file: GraphFile, header: dict[str, Line]) -> Whole:
    """Return a matrix with the weights above its diagonal, or all weights."""
    points = read_count(header["DIMENSION"].text) or 0
    _check_size(points, file, "split the graph: no forest needs all its rows at once")
    below, diagonal = ORDERS[header["EDGE_WEIGHT_FORMAT"].text.decode()]
    wanted = points * points if below is None else points * (points - 1) // 2 + (points if diagonal else 0)
    parts: list[Whole] = []
    for block in reader.blocks():
        section = SECTION.search(block.data)
        data = block.data[: section.start() if section else None]
        parts.append(whole_numbers(data, np.arange(block.line, block.line + data.count(b"\n") + 1), file))
        if section or sum(map(len, parts)) > wanted:
            break
    found = sum(map(len, parts))
    if found != wanted:
        message = f"{found:,} weights, and DIMENSION in line {header['DIMENSION'].number} promises {wanted:,}"
        raise file.problem(message, max(1, reader.line - 1), "the file is cut, or DIMENSION is wrong: fetch it again")
    values: Whole = np.concatenate(parts) if parts else np.zeros(0, np.int64)
    if below is None:
        return values.reshape(points, points)
    matrix = np.zeros((points, points), np.int64)
    half = np.tri(points, k=diagonal - 1 if below else -diagonal, dtype=bool)
    matrix[half if below else ~half] = values
    return matrix.T if below else matrix


def _rows(ids: Whole, weight: Callable[[Whole, Whole], Whole], symmetric: bool = True) -> Iterator[pa.RecordBatch]:
    """Yield the pairs of points, in both directions unless their weights are symmetric."""
    points = len(ids)
    step = max(1, ROWS_IN_A_BATCH // max(1, points))
    for start in range(0, points, step):
        rows = np.arange(start, min(start + step, points))[:, None]
        first, second = np.nonzero(np.arange(points) > rows if symmetric else np.arange(points) != rows)
        first += start
        columns = (ids[first], ids[second], weight(first, second))
        yield pa.record_batch([pa.array(column, pa.int64()) for column in columns], schema=SCHEMA)


SCHEMA = pa.schema([("source", pa.int64()), ("target", pa.int64()), ("weight", pa.int64())])
Real = npt.NDArray[np.float64]
EXPLICIT = "EXPLICIT"
#: Order of a matrix -> whether its entries are those below the diagonal (None: all), and whether the diagonal is there.
ORDERS: dict[str, tuple[bool | None, bool]] = {"FULL_MATRIX": (None, True)} | {
    # Of a symmetric matrix, columns are the rows of the other half.
    f"{half}{diagonal}_{lines}": ((half == "LOWER") == (lines == "ROW"), bool(diagonal))
    for lines, diagonal, half in product(("ROW", "COL"), ("", "_DIAG"), ("UPPER", "LOWER"))
}
SECTION = re.compile(rb"^[ \t]*[A-Z_]{3}", re.MULTILINE)


def _nearest(distance: Real) -> Real:
    # TSPLIB rounds halves up; NumPy would round them to even.
    return np.floor(distance + 0.5)


def _plane(distance: Callable[[Real, Real], Real]) -> Callable[[Real, Real], Real]:
    """Return a distance of points by one of the differences of their coordinates."""
    return lambda first, second: distance(*(first - second))


def _geographic(first: Real, second: Real) -> Real:
    """Return kilometers on a sphere, by the constants of TSPLIB; degrees and minutes are written as DDD.MM."""
    radians = [3.141592 * (np.trunc(place) + 5 * (place - np.trunc(place)) / 3) / 180 for place in (first, second)]
    (latitude, longitude), (other_latitude, other_longitude) = radians
    across = np.cos(longitude - other_longitude)
    along = np.cos(latitude - other_latitude), np.cos(latitude + other_latitude)
    cosine = 0.5 * ((1 + across) * along[0] - (1 - across) * along[1])
    kilometers: Real = np.floor(6378.388 * np.arccos(np.clip(cosine, -1, 1)) + 1)
    return kilometers


#: The distance of two points by its name in TSPLIB.
DISTANCES: dict[str, Callable[[Real, Real], Real]] = {
    "EUC_2D": _plane(lambda x, y: _nearest(np.sqrt(x * x + y * y))),
    "CEIL_2D": _plane(lambda x, y: np.ceil(np.sqrt(x * x + y * y))),
    "MAN_2D": _plane(lambda x, y: _nearest(np.abs(x) + np.abs(y))),
    "MAX_2D": _plane(lambda x, y: np.maximum(_nearest(np.abs(x)), _nearest(np.abs(y)))),
    "ATT": _plane(lambda x, y: np.ceil(np.sqrt((x * x + y * y) / 10))),
    "GEO": _geographic,
}
