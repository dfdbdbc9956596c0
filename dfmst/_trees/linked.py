"""Linked rows: rows that share a value in a key, directly or through other rows, are one group."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from dfmst._common.arguments import check_choice, check_column_name, is_several, whole_number, yes_or_no
from dfmst._common.types import Array, Column, ColumnName, Columns, FrameT
from dfmst._edges.device_frame import device_weights
from dfmst._edges.edge_table import flip_bits
from dfmst._edges.encode import NO_CODE, KeyCodes, KeyEncoder
from dfmst._edges.frames import open_frame
from dfmst._edges.vertices import check_capacity
from dfmst._edges.weights import missing_weights, weight_column
from dfmst._engines import Engine, select_engine
from dfmst._engines.primitives.contract import flatten, unite
from dfmst._engines.primitives.edges import gather_keys
from dfmst._engines.primitives.sort import sort_order
from dfmst._trees.request import with_options
from dfmst.errors import InvalidEdgesError, UnsupportedFrameError, missing_column, printable

#: Names of the column of groups in results, and of the attribute of results.
GROUP = "group"
ATTRIBUTE = "linked_rows"
_NONE = np.uint32(NO_CODE)  # a value that no row has yet


@with_options("memory", "table")
def linked_rows(
    table: FrameT,
    on: Columns | Sequence[Columns],
    *,
    max_group: int | None = None,
    keep: str | tuple[ColumnName, str] | None = None,
    empty_links: bool = False,
    engine: str = "auto",
    threads: int | None = None,
) -> FrameT:
    """Find the groups of records: rows that share a value in any key, directly or through other rows.

    The groups are the connected components of the graph between rows and their values.

    Parameters
    ----------
    table
        Records: a pandas, polars, pyarrow or cuDF frame, or an object with an Arrow stream, such as a relation of
        DuckDB. :func:`dfmst.stream.linked_rows` reads Parquet files.
    on
        Keys: names of columns, or lists of names for a key of several columns, such as
        ``["email", "phone", ["first", "born"]]``. A null (also NaN) links nothing, nor does a text that is empty or all
        white space; in a key of several columns one such value is enough. Each entry of a list counts as a value,
        and is one value if it is a list or a record itself. Values of different keys are never equal.
    max_group
        A value that more rows have links nothing; such values are counted in a warning and in the result's
        attributes (``DataFrame.attrs["linked_rows"]`` of pandas, the schema's metadata of pyarrow).
    keep
        Return one row of every group: ``"first"``, ``"last"``, or ``(column, "max")`` or ``(column, "min")`` for the
        row with the greatest or least value, of equal ones the first. A null or NaN counts as the last.
    empty_links
        Whether empty texts, and those of white space, link rows as other texts do.
    engine, threads
        As for :func:`minimum_spanning_forest`.

    Returns
    -------
    rows
        The same kind of frame with all columns, and ``group``: the position in `table` of the first row of the group,
        ``int64``.

    Raises
    ------
    ColumnNotFoundError
        A key is not a column of the table.
    InvalidEdgesError
        The table has a column ``group``, or a key holds values that cannot be compared exactly, such as structs.
    ValueError, TypeError
        `on`, `max_group` or `keep` has another form.
    UnsupportedFrameError, EngineUnavailableError, CapacityError
        As for :func:`minimum_spanning_forest`.

    Examples
    --------
    >>> import pandas as pd
    >>> import dfmst
    >>> people = pd.DataFrame({
    ...     "email": ["ann@x.org", None, "ann@x.org", "bob@y.org"],
    ...     "phone": [None, "555-1", "555-1", "555-2"],
    ... })
    >>> dfmst.linked_rows(people, on=["email", "phone"]).group.tolist()
    [0, 0, 0, 3]
    >>> dfmst.linked_rows(people, on=["email", "phone"], keep="first").index.tolist()
    [0, 3]
    """
    options = LinkOptions.of(on, max_group, keep, empty_links)
    view = open_frame(table, "table")
    check_capacity(len(view))
    options.check_columns(view.names)
    if view.on_device and engine == "cpu":
        hint = "leave engine='auto', or copy the frame yourself: table.to_pandas() or table.to_arrow()"
        raise UnsupportedFrameError("the table is on a GPU, and engine='cpu' works on the host", hint)
    runner = select_engine(engine, threads, on_device=view.on_device, rows=len(view))
    reader = view.engine(runner)
    with runner.guard():
        links = Links(runner, options, len(view))
        encoders = [KeyEncoder(reader, key, blanks=options.blanks) for key in options.keys]
        entries = [encoder.encode(view.column).moved(runner) for encoder in encoders]
        counts = [encoder.count for encoder in encoders]
        links.count(entries, counts)
        links.unite(entries, counts)
        group = links.groups(len(view))
        attributes = links.attributes(group)
        if keep is not None:
            rows = links.kept(group, lambda name: order_keys(reader, name, view.column(name), options))
            group = group[rows]
            view = view.rows(reader, view.moved(runner, rows))
        values = view.moved(runner, group).astype(np.int64)
        return view.with_column(GROUP, values, ATTRIBUTE, attributes)  # type: ignore[no-any-return]


class LinkOptions(NamedTuple):
    """Keys, the limit of the rows of a value, and the row of a group to keep."""

    keys: tuple[tuple[Any, ...], ...]
    max_group: int | None
    best: Any  # the column by which the kept row is chosen; None: none
    greatest: bool
    one: str  # the row of a group that is kept without such a column: "first" or "last"; empty: all rows
    blanks: bool  # whether blank texts link rows

    @classmethod
    def of(cls, on: Any, max_group: object, keep: ColumnName, empty_links: object) -> LinkOptions:
        keys = tuple(tuple(key) if isinstance(key, list) else (key,) for key in (on if is_several(on) else [on]))
        if not keys or not all(keys):
            raise ValueError("on names no column; pass the keys: on=['email', 'phone', ['first', 'born']]")
        for name in (name for key in keys for name in key):
            check_column_name("on", name)
        if max_group is not None:
            max_group = whole_number("max_group", max_group)
            if max_group < 1:
                raise ValueError(f"max_group is {max_group}; it must be 1 or more rows")
        if keep is None or (isinstance(keep, str) and keep in ("first", "last")):
            return cls(keys, max_group, None, False, keep or "", yes_or_no("empty_links", empty_links))
        wanted = "it must be None, 'first', 'last', (column, 'max') or (column, 'min')"
        if not isinstance(keep, (tuple, list)) or len(keep) != 2:
            raise ValueError(f"keep is a {type(keep).__name__}; {wanted}")
        check_choice(keep[1], ("max", "min"), f"keep is a pair without 'max' or 'min'; {wanted}")
        check_column_name("keep", keep[0])
        return cls(keys, max_group, keep[0], keep[1] == "max", "first", yes_or_no("empty_links", empty_links))

    @property
    def columns(self) -> list[Any]:
        """All columns that are read, each once."""
        best = [] if self.best is None else [self.best]
        return list(dict.fromkeys([*(name for key in self.keys for name in key), *best]))

    def check_columns(self, names: Sequence[ColumnName]) -> None:
        """Raise if a column is missing, or if the name of the new column is taken."""
        for name in self.columns:
            if name not in names:
                argument = "keep" if name == self.best else "on"
                option = (f"{argument}=", f"--{argument}" if argument == "keep" else "--on")
                raise missing_column(name, names, f"name the columns with {argument}=", option=option)
        if GROUP in names:
            message = f"the table has a column {GROUP!r}, which is the name of the result's column"
            raise InvalidEdgesError(message, "rename that column first")


class Links:
    """Groups of rows, over batches: :meth:`count` all of them if values are limited, then :meth:`unite` all of them."""

    def __init__(self, engine: Engine, options: LinkOptions, capacity: int) -> None:
        self.engine, self.options = engine, options
        self._first: list[Array] = [engine.xp.zeros(0, np.uint32)] * len(options.keys)  # value -> a row that has it
        self._rows = list(self._first)  # value -> number of rows that have it
        self._parent: Array = engine.xp.arange(capacity, dtype=np.uint32)

    def count(self, entries: list[KeyCodes], counts: list[int]) -> None:
        """Count the rows of each value, if they are limited; `counts` are the numbers of values so far."""
        if self.options.max_group is None:
            return
        xp = self.engine.xp
        for key, own in enumerate(entries):
            code, row = own.present(self.engine)
            if own.row is not None:  # a row may have a value twice
                code = xp.unique(row.astype(np.uint64) << np.uint64(32) | code).astype(np.uint32)
            self._rows[key] = self._longer(self._rows[key], counts[key], 0)
            self._rows[key] += xp.bincount(code, minlength=len(self._rows[key])).astype(np.uint32)

    def unite(self, entries: list[KeyCodes], counts: list[int], first_row: int = 0) -> None:
        """Unite the rows that share a value, with those of earlier batches; rows are numbered from `first_row`."""
        engine, limit = self.engine, self.options.max_group
        for key, own in enumerate(entries):
            code, row = own.present(engine)
            if limit is not None and len(code):
                light = engine.xp.flatnonzero(self._rows[key][code] <= limit)
                code, row = code[light], row[light]
            row = row + np.uint32(first_row) if first_row else row
            first = self._first[key] = self._longer(self._first[key], counts[key], NO_CODE)
            new = engine.xp.flatnonzero(first[code] == _NONE)
            first[code[new]] = row[new]  # any of them: a group is called after its first row all the same
            unite(engine, row, first[code], None, self._parent)

    def _longer(self, column: Array, length: int, value: int) -> Array:
        """Return a column of at least this length; it grows by a half at least."""
        if length <= len(column):
            return column
        length = max(length, len(column) * 3 // 2)
        longer: Array = self.engine.xp.full(length, value, np.uint32)
        longer[: len(column)] = column
        return longer

    def reserve(self, rows: int) -> None:
        known = len(self._parent)
        if rows > known:
            check_capacity(rows)
            more = self.engine.xp.arange(known, max(rows, known * 3 // 2), dtype=np.uint32)
            self._parent = self.engine.xp.concatenate([self._parent, more])

    def groups(self, rows: int) -> Array:
        """Return the first row of each row's group, ``uint32``."""
        self._parent = self._parent[:rows]
        flatten(self.engine, self._parent)
        return self._parent

    def kept(self, group: Array, read: Callable[[object], tuple[Array, Array | None]]) -> Array:
        """Return the row of each group to keep, ascending ``int64``; `read` returns the ordered keys of a column."""
        xp = self.engine.xp
        first = xp.flatnonzero(group == xp.arange(len(group), dtype=np.uint32))
        if (self.options.best is None and self.options.one == "first") or not len(group):
            return first  # type: ignore[no-any-return]
        if self.options.best is None:
            order = xp.arange(len(group))[::-1]
        else:
            key, missing = (None if each is None else self.engine.from_host(each) for each in read(self.options.best))
            assert key is not None
            order = sort_order(self.engine, key)
            if missing is not None:
                order = xp.concatenate([order[~missing[order]], xp.flatnonzero(missing)])
        order = order[sort_order(self.engine, group[order])]  # stable: by group, then as before
        begins = xp.ones(len(order), bool)
        begins[1:] = group[order[1:]] != group[order[:-1]]
        return xp.sort(order[begins]).astype(np.int64)  # type: ignore[no-any-return]

    def attributes(self, group: Array) -> dict[str, Any]:
        """Return the numbers of rows, groups, and values that link nothing by key; warn if there are any of these."""
        limit = self.options.max_group
        counts, most = {}, 0
        for names, rows in zip(self.options.keys, self._rows, strict=True):
            over = rows[rows > limit] if limit is not None else rows
            counts[", ".join(map(str, names))] = len(over)
            most = max(most, int(over.max()) if len(over) else 0)
        if most:
            listed = ", ".join(f"{count:,} of {name}" for name, count in counts.items() if count)
            message = f"values that more than {limit:,} rows have link nothing: {listed}; one is in {most:,} rows"
            warnings.warn(printable(message), UserWarning, stacklevel=4)
        roots = group == self.engine.xp.arange(len(group), dtype=np.uint32)
        return {"input_rows": len(group), "groups": int(roots.sum()), "max_group": limit, "ignored_values": counts}


def order_keys(engine: Engine, name: ColumnName, column: Column, options: LinkOptions) -> tuple[Array, Array | None]:
    """Return keys that ascend from the value to keep, and the mask of missing values."""
    try:
        weights = weight_column(name, column) if engine.on_host else device_weights(name, column)
    except InvalidEdgesError as error:
        message = f"column {name!r} of keep= has no numbers, dates or times: {error.message}"
        raise InvalidEdgesError(message, "cast the column to a number or a time") from error
    flip = flip_bits(weights.values.dtype, options.greatest)
    return gather_keys(engine, weights.values, None, flip), missing_weights(engine, weights)
