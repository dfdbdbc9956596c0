"""Frames in memory, on the host or on a GPU, by one set of methods."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Protocol

from dfmst._common.deferred import pa
from dfmst._common.types import Array, Column, ColumnName, EndNames, Frame
from dfmst._edges.edge_table import Input, Readers
from dfmst._engines import Engine

NAMES_HINT = "name your columns with source=, target= and weight= (weight=None: all weights equal)"


class View(Protocol):
    """A frame. Its columns, and all arrays that methods take and return, are in the memory of the frame.

    Columns are NumPy or Arrow arrays on the host, CuPy arrays or cuDF columns on a GPU. To support another kind of
    memory, implement this protocol, and recognize its frames in :func:`dfmst._edges.frames.open_frame`.
    """

    @property
    def on_device(self) -> bool:
        """Whether the columns are on a GPU."""

    @property
    def readers(self) -> Readers:
        """Functions that read ids and weights."""

    @property
    def xp(self) -> Any:
        """The module of the arrays: NumPy or CuPy."""

    @property
    def native(self) -> Any:
        """The dataframe of its library."""

    @property
    def frame(self) -> Any:
        """The dataframe: of Narwhals, on a GPU of cuDF."""

    @property
    def library(self) -> str:
        """Name of the library."""

    @property
    def names(self) -> list[Any]:
        """Names of the columns."""

    def __len__(self) -> int: ...

    def engine(self, engine: Engine) -> Engine:
        """Return the engine of the frame's memory, for a call that runs on an engine."""

    def moved(self, engine: Engine, column: Array) -> Array:
        """Copy an engine's column into the frame's memory."""

    def column(self, name: ColumnName) -> Any:
        """Return a column, not copied if the library allows."""

    def series(self, name: ColumnName) -> Any:
        """Return a column as a series: of Narwhals, on a GPU of cuDF."""

    def entries(self, name: ColumnName, rows: Array, engine: Engine | None = None) -> Any:
        """Return entries of a column by row, without labels, as a column for :meth:`build`."""

    def weights(self, name: ColumnName, rows: Array | None = None) -> Any:
        """Return weights by row as :func:`dfmst._edges.weights.plain_weights` has them; on a GPU to read entries."""

    def ticks(self, name: ColumnName) -> tuple[Array, Array | None, pa.DataType]:
        """Read a column of times or numbers: the values, the missing ones, and the type in Arrow.

        Values are ticks of the type's unit, integers or unscaled decimals (``int64``), or ``float64``.
        """

    def nulls(self, name: ColumnName) -> Array:
        """Flag the nulls of a column."""

    def codes(self, *columns: tuple[View, ColumnName, Array | None]) -> Array:
        """Number the entries of columns alike, one column after the other; all nulls are one entry.

        Each column has a view in the same memory, a name, and rows (``None``: all).
        """

    def order(self, engine: Engine, names: tuple[ColumnName, ...], rows: Array) -> Array:
        """Return the places of rows in ascending order, by the first column first, nulls last."""

    def differs(self, first: Column, second: Column) -> Array:
        """Flag the rows in which two columns differ: nulls are equal, and times of any unit by value."""

    def entry(self, name: ColumnName, row: int) -> Any:
        """Return an entry of a column."""

    def text(self, name: ColumnName, row: int) -> str:
        """Return an entry of a column as text."""

    def kind(self, name: ColumnName) -> Any:
        """Return the type of a column, for errors; types of columns that stack are equal."""

    def index(self) -> Any:
        """Return the labels of the rows; ``None`` without labels that count."""

    def without_default_index(self) -> View:
        """Return the view without labels if they are the default, 0, 1, 2 and so on."""

    def of(self, frame: Frame) -> View:
        """Return the view of another dataframe (see :attr:`frame`), with results of the same kind."""

    def plain(self) -> View:
        """Return the view whose results are eager frames of the library itself; :meth:`finish` makes the user's."""

    def with_composed(self, columns: Mapping[ColumnName, Column]) -> View:
        """Return the view with columns that are made of several columns, and are not in results."""

    def part(self, begin: int, end: int) -> View:
        """Return the view of a range of rows."""

    def rows(self, engine: Engine, rows: Array) -> View:
        """Return the view of these rows, with their labels."""

    def select(self, names: list[ColumnName]) -> View:
        """Return the view of some columns."""

    def take(self, engine: Engine | None, rows: Array) -> Frame:
        """Return the user's kind of frame with these rows; without an engine, no kernel is used."""

    def nullable(self, values: Array, missing: Array) -> Column:
        """Return integers as a column of the library with nulls if `missing`."""

    def build(self, columns: Mapping[Any, Any]) -> Frame:
        """Return a new frame of the user's kind, of arrays or columns of its library."""

    def build_arrow(self, columns: Mapping[str, pa.Array | pa.ChunkedArray]) -> Frame:
        """Return a new frame of the user's kind, of Arrow columns."""

    def build_vertices(
        self,
        names: EndNames,
        input: Input,
        ids: Column,
        columns: Mapping[str, Array],
        begin: Mapping[ColumnName, Column] | None = None,
        numbers: Mapping[str, Column] | None = None,
    ) -> Frame:
        """Return a new frame of the user's kind whose columns are ids, in the type of the id columns if that has them.

        Parameters
        ----------
        names, input
            The id columns, and the table that they were read into.
        ids, columns
            `columns` are places in `ids`, or vertices of the table if `ids` is ``None``.
        begin, numbers
            Columns that come first, and last.
        """

    def with_column(self, name: str, values: Array, attribute: str, content: object) -> Frame:
        """Return the user's kind of frame with one more column, and an attribute if libraries have any."""

    def labelled_column(self, name: str, values: Array) -> Any:
        """Return a column with an entry for each row, and the labels of the frame."""

    def finish(self, frame: Frame) -> Frame:
        """Return a dataframe (see :attr:`frame`) as the user's kind."""

    def to_arrow(self) -> pa.Table:
        """Return the frame as an Arrow table on the host."""
