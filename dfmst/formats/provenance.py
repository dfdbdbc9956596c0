"""What a forest's file says about itself: columns, total order, and which rows its rows are.

The record stands in the Arrow schema's metadata (so in a Parquet file's footer) and lets a later run take up the
forest: :func:`dfmst.update` adds rows to it, and a stream checks it without searching for its rows.
"""

from __future__ import annotations

import base64
import json
import operator
import sys
import zlib
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import pyarrow as pa

from dfmst.errors import InvalidEdgesError
from dfmst.typing import Array

__all__ = ["Provenance", "read_provenance", "with_provenance"]

_KEY = b"dfmst"
_FORMAT = 1
_MOST_TEXT = 24 << 20  # Parquet holds the metadata twice, and readers refuse footers of 100 MB


@dataclass(frozen=True, slots=True)
class Provenance:
    """How a forest was made.

    Attributes
    ----------
    names
        Source, target and weight column; the last may be ``None``.
    maximum
        Whether heavier rows came first.
    rows
        How many rows it is the forest of.
    locator
        Which of them its rows are, ascending ``uint64``; ``None`` where a footer would have no room for that.
    conditions
        What it obeys beside the weights, in words: ``("by='window'",)``.
    """

    names: tuple[Any, Any, Any]
    maximum: bool
    rows: int
    locator: Array | None
    conditions: tuple[str, ...] = ()

    def require(self, what: str, names: tuple[Any, Any, Any], maximum: bool) -> None:
        """Raise where a forest was made with other columns, in another order, or under conditions.

        Raises
        ------
        InvalidEdgesError
            With both.
        """
        if self.names != names:
            recorded, wanted = (", ".join(map(repr, columns)) for columns in (self.names, names))
            message = f"{what} was made with the columns {recorded}, not {wanted}"
            raise InvalidEdgesError(message, "name the same columns, or make the forest anew from all rows")
        if self.maximum != maximum:
            kinds = ("minimum", "maximum") if maximum else ("maximum", "minimum")
            message = f"{what} is a {kinds[0]} spanning forest, not a {kinds[1]} one"
            raise InvalidEdgesError(message, "keep its order, or make the forest anew from all rows")
        if self.conditions:
            message = f"{what} was made with {' and '.join(self.conditions)}, which only a whole table is checked by"
            raise InvalidEdgesError(message, "make the forest anew from all rows")


def with_provenance(
    schema: pa.Schema, record: Provenance, forest: int, locators: Callable[[], Iterable[Array]] | None = None
) -> pa.Schema:
    """Return the schema with the record of a forest of so many rows.

    Parameters
    ----------
    locators
        Gives the locators piece by piece, whenever it is called, where the record does not hold them.

    Examples
    --------
    >>> import numpy as np
    >>> schema = pa.schema({"a": pa.int64(), "b": pa.int64()})
    >>> record = Provenance(("a", "b", None), False, 10, np.array([2, 7], np.uint64))
    >>> read_provenance(with_provenance(schema, record, 2), 2).locator
    array([2, 7], dtype=uint64)
    """
    if locators is None and record.locator is not None:
        locators = partial(iter, [record.locator])
    entries = {
        "format": _FORMAT,
        "version": sys.modules["dfmst"].__version__,
        "columns": list(record.names),
        "order": "maximum" if record.maximum else "minimum",
        "rows": record.rows,
        "forest": forest,
        "locators": None if locators is None else _packed(locators),
        "conditions": list(record.conditions),
    }
    metadata = {**(schema.metadata or {}), _KEY: json.dumps(entries).encode()}
    return schema.with_metadata(metadata)


def read_provenance(schema: pa.Schema, rows: int) -> Provenance | None:
    """Read the record of a forest of so many rows; ``None`` where there is none.

    Raises
    ------
    InvalidEdgesError
        It does not fit the rows, or a later version wrote it.
    """
    text = (schema.metadata or {}).get(_KEY)
    if text is None:
        return None
    try:
        record = json.loads(text)
        known = record["format"] == _FORMAT
        locator = _unpacked(record["locators"]) if known and record["locators"] else None
        source, target, weight = record["columns"]
        recorded = record["forest"] if locator is None else len(locator)
        made_of = operator.index(record["rows"])
        conditions = tuple(map(str, record.get("conditions", ())))
        provenance = Provenance((source, target, weight), record["order"] == "maximum", made_of, locator, conditions)
    except (ValueError, LookupError, TypeError, AttributeError, RecursionError, zlib.error) as error:
        message = "the record of how the forest was made is damaged"
        raise InvalidEdgesError(message, "make the forest anew") from error
    if not known:
        message = f"the forest was written by version {record.get('version')} of dfmst, which this one cannot read"
        raise InvalidEdgesError(message, "install a later version of dfmst")
    if recorded != rows:
        message = f"the record of how the forest was made tells of {recorded:,} rows, and there are {rows:,}"
        raise InvalidEdgesError(message, "rows were added or removed since: make the forest anew")
    return provenance


def _packed(locators: Callable[[], Iterable[Array]]) -> str | None:
    """Differences in as few bytes as hold them, compressed; ``None`` where that is too long."""
    largest = max((int(gaps.max()) for gaps in _gaps(locators())), default=0)
    narrow: Any = np.min_scalar_type(largest)
    # A gap may repeat the one before it. A search for more takes twice the time, and random gaps come out longer.
    compressor, packed = zlib.compressobj(1, strategy=zlib.Z_RLE), bytearray()
    for gaps in _gaps(locators()):
        packed += compressor.compress(gaps.astype(narrow).tobytes())
        if len(packed) > _MOST_TEXT:
            return None
    text = base64.b64encode(packed + compressor.flush())
    return f"{narrow.itemsize}:{text.decode()}" if len(text) <= _MOST_TEXT else None


def _gaps(locators: Iterable[Array]) -> Iterator[Array]:
    last = np.uint64(0)
    for piece in locators:
        if len(piece):
            yield np.diff(piece, prepend=last)
            last = piece[-1]


def _unpacked(text: str) -> Array:
    width, _, packed = text.partition(":")
    gaps = np.frombuffer(zlib.decompress(base64.b64decode(packed, validate=True)), f"u{width}")
    locator = np.cumsum(gaps, dtype=np.uint64)
    if not (locator[1:] > locator[:-1]).all():
        message = "the rows do not ascend"
        raise ValueError(message)
    return locator
