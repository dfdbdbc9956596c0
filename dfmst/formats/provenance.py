"""The record in a file of a forest: its columns, total order, and the row numbers of its rows.

The record is in the metadata of the Arrow schema, so in the footer of a Parquet file. :func:`dfmst.update` needs it to
add rows to a forest, and a stream to verify one without a search for its rows.
"""

from __future__ import annotations

import base64
import json
import sys
import zlib
from ast import literal_eval
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from types import NoneType
from typing import Any

import numpy as np
import pyarrow as pa

from dfmst._common.records import check_fields, is_count, read_record
from dfmst._common.types import Array, EdgeNames
from dfmst.errors import FormatError, InvalidEdgesError

_KEY = b"dfmst"
_FORMAT = 1


def _is_key(value: object) -> bool:
    """Whether a value is the name of a column, or a list of names."""
    return isinstance(value, (str, int)) or (isinstance(value, list) and all(type(name) is str for name in value))


_FIELDS: dict[str, Callable[[Any], bool]] = {
    "columns": lambda value: (
        isinstance(value, list)
        and len(value) == 3
        and all(map(_is_key, value[:2]))
        and isinstance(value[0], list) == isinstance(value[1], list)
        and (value[2] is None or _is_key(value[2]))
    ),
    "order": lambda value: value in ("minimum", "maximum"),
    "rows": is_count,
    "forest": is_count,
    "locators": lambda value: isinstance(value, (str, NoneType)),
    "conditions": lambda value: value is None or (isinstance(value, list) and all(type(one) is str for one in value)),
}
_MOST_TEXT = 24 << 20  # Parquet holds the metadata twice, and readers refuse footers of 100 MB


@dataclass(frozen=True, slots=True)
class Provenance:
    """How a forest was made.

    Attributes
    ----------
    names
        Source, target and weight column, or lists of columns; the last may be ``None``.
    maximum
        Whether heavier rows came first.
    rows
        Number of rows of the table that the forest was made of.
    locator
        Row numbers of the forest in that table, ascending ``uint64``; ``None`` if they are too long for a footer.
    conditions
        Arguments other than the weights that decided the forest, as text: ``("by='window'",)``.
    """

    names: tuple[Any, Any, Any]
    maximum: bool
    rows: int
    locator: Array | None
    conditions: tuple[str, ...] = ()

    def condition_columns(self) -> dict[str, Any]:
        """Return the columns of the conditions by argument, ``{"by": "window"}``, of all names that are text."""
        columns: dict[str, Any] = {}
        for name, _, column in (words.partition("=") for words in self.conditions):
            with suppress(ValueError, SyntaxError):
                columns[name] = literal_eval(column)
        return columns

    def require(self, what: str, names: EdgeNames, maximum: bool, conditions: Sequence[str] = ()) -> None:
        """Raise InvalidEdgesError if a forest was made with other columns or conditions, or in another order."""
        if list(map(str, self.names)) != list(map(str, names)):  # version 0.2 wrote lists as text
            recorded, wanted = (", ".join(map(repr, columns)) for columns in (self.names, names))
            message = f"{what} was made with the columns {recorded}, not {wanted}"
            raise InvalidEdgesError(message, "name the same columns, or make the forest anew from all rows")
        if self.maximum != maximum:
            kinds = ("minimum", "maximum") if maximum else ("maximum", "minimum")
            message = f"{what} is a {kinds[0]} spanning forest, not a {kinds[1]} one"
            raise InvalidEdgesError(message, "keep its order, or make the forest anew from all rows")
        if list(self.conditions) != list(conditions):
            made, wanted = (" and ".join(words) or "no conditions" for words in (self.conditions, conditions))
            message = f"{what} was made with {made}, not with {wanted}"
            raise InvalidEdgesError(message, "make the forest anew from all rows")


def with_provenance(
    schema: pa.Schema, record: Provenance, forest: int, locators: Callable[[], Iterable[Array]] | None = None
) -> pa.Schema:
    """Return the schema with the record of a forest of `forest` rows.

    `locators` yields the row numbers in pieces each time it is called, if they are not in the record.
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
    return schema.with_metadata({**(schema.metadata or {}), _KEY: json.dumps(entries).encode()})


def without_provenance(schema: pa.Schema) -> pa.Schema:
    """Return the schema without a record."""
    return schema.with_metadata({key: text for key, text in (schema.metadata or {}).items() if key != _KEY} or None)


def read_provenance(schema: pa.Schema, rows: int | None) -> Provenance | None:
    """Read the record of a forest of `rows` rows (``None``: not known); return ``None`` if the schema has none.

    Raises
    ------
    FormatError
        If it is damaged, does not fit the rows, or was written by a later version.
    """
    text = (schema.metadata or {}).get(_KEY)
    if text is None:
        return None
    try:
        record = read_record(text)
        rows = _check_record(record, rows)
        locator = _unpacked(record["locators"], rows) if record.get("locators") else None
        if record["rows"] < (rows if locator is None or not rows else int(locator[-1]) + 1):
            raise ValueError("rows beyond those that the forest was made of")
    except FormatError:
        raise
    except ValueError as error:
        message = f"the record of how the forest was made is damaged: {error}"
        raise FormatError(message, "make the forest anew") from error
    source, target, weight = record["columns"]
    conditions = tuple(record.get("conditions") or ())
    return Provenance((source, target, weight), record["order"] == "maximum", record["rows"], locator, conditions)


def _check_record(record: dict[str, Any], rows: int | None) -> int:
    check_fields(record, {"format": is_count})
    if record["format"] != _FORMAT:
        message = f"the forest was written by version {str(record.get('version'))[:40]} of dfmst"
        raise FormatError(f"{message}, which this one cannot read", "install a later version of dfmst")
    check_fields(record, _FIELDS)
    recorded: int = record["forest"]
    if rows is not None and recorded != rows:
        message = f"the record of how the forest was made counts {recorded:,} rows, but the file has {rows:,}"
        raise FormatError(message, "rows were added or removed since: make the forest anew")
    return recorded


def _packed(locators: Callable[[], Iterable[Array]]) -> str | None:
    """Differences in the narrowest integers, compressed; ``None`` if the text is too long."""
    narrow: Any = np.min_scalar_type(max((int(gaps.max()) for gaps in _gaps(locators())), default=0))
    # Run lengths only: a search for longer matches takes twice the time and makes random gaps longer.
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


def _unpacked(text: str, rows: int) -> Array:
    """Row numbers of `rows` rows; never decompresses more."""
    width, _, packed = text.partition(":")
    if width not in {"1", "2", "4", "8"}:
        raise ValueError("locators of an unknown width")
    size, stream = rows * int(width), zlib.decompressobj()
    try:
        content = stream.decompress(base64.b64decode(packed, validate=True), size + 1)
    except zlib.error as error:
        raise ValueError(str(error)) from error
    if len(content) != size or not stream.eof:
        raise ValueError(f"other than {rows:,} locators")
    locator = np.cumsum(np.frombuffer(content, f"u{width}"), dtype=np.uint64)
    if not (locator[1:] > locator[:-1]).all():
        raise ValueError("locators that do not ascend")
    return locator
