"""Columns: values and nulls on the device, and the type that cuDF would give them."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from decimal import Decimal
from types import SimpleNamespace
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa

from tests.support.gpu.standin.cupy import placement
from tests.support.gpu.standin.cupy.device import traffic
from tests.support.gpu.standin.cupy.memory import Memory
from tests.support.gpu.standin.cupy.ndarray import ndarray, wrapped

OBJECT = np.dtype(object)


class _NamedDtype:
    """A type that NumPy does not have."""

    kind = "O"

    def __init__(self, name: str) -> None:
        self.name = name

    def __str__(self) -> str:
        return self.name

    def __eq__(self, other: object) -> bool:
        return str(self) == str(other)

    __hash__ = None  # type: ignore[assignment]


class Decimal128Dtype(_NamedDtype):
    """As cuDF's; the name says nothing of the digits."""

    def __init__(self, precision: int, scale: int) -> None:
        super().__init__("decimal128")
        self.precision, self.scale = precision, scale

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Decimal128Dtype) and self.to_arrow() == other.to_arrow()

    __hash__ = None

    def to_arrow(self) -> pa.DataType:
        return pa.decimal128(self.precision, self.scale)


class ListDtype(_NamedDtype):
    """As cuDF's."""


class StructDtype(_NamedDtype):
    """As cuDF's."""


class IntervalDtype(_NamedDtype):
    """As cuDF's."""


class StringDtype(_NamedDtype):
    """As pandas', which cuDF takes."""


@dataclass
class Column:
    """Values (Python objects where NumPy has no type), where nulls are, and the type."""

    values: np.ndarray
    nulls: np.ndarray | None
    dtype: Any
    exposed: bool = False  # whether CuPy has seen its address
    device: int = field(default_factory=placement.current)

    @classmethod
    def from_arrow(cls, array: pa.ChunkedArray | pa.Array) -> Column:
        """Copy a column from the host."""
        if isinstance(array, pa.ChunkedArray):
            array = array.combine_chunks() if array.num_chunks != 1 else array.chunk(0)
        traffic.up(array.nbytes)
        kind = array.type
        nulls = array.is_null().to_numpy(zero_copy_only=False) if array.null_count else None
        dtype: Any = OBJECT
        if pa.types.is_dictionary(kind):
            categories = array.dictionary.to_pandas().dropna()
            dtype = pd.CategoricalDtype(categories if categories.dtype.kind in "iuf" else categories.astype(object))
            array = array.dictionary_decode()
        elif pa.types.is_decimal(kind):
            dtype = Decimal128Dtype(kind.precision, kind.scale)
        elif pa.types.is_timestamp(kind) and kind.tz:
            utc = array.cast(pa.timestamp(kind.unit, "UTC")).cast(pa.timestamp(kind.unit))
            return replace(cls.from_arrow(utc), dtype=pd.DatetimeTZDtype(kind.unit, kind.tz))
        elif pa.types.is_nested(kind):
            dtype = StructDtype("struct") if pa.types.is_struct(kind) else ListDtype("list")
        elif not (pa.types.is_string(kind) or pa.types.is_large_string(kind)):
            dtype = np.dtype(kind.to_pandas_dtype())
            array = array if nulls is None else array.fill_null(pa.scalar(0, pa.int64()).cast(kind))
            return cls(array.to_numpy(zero_copy_only=False).astype(dtype), nulls, dtype)
        values = np.empty(len(array), object)
        values[:] = array.to_pylist()
        return cls(values, nulls, dtype)

    def missing(self) -> np.ndarray:
        """Flag the rows that cuDF calls missing: nulls, and NaN among floats and among categories that are floats."""
        missing = np.zeros(len(self.values), bool) if self.nulls is None else self.nulls.copy()
        if getattr(getattr(self.dtype, "categories", self), "dtype", OBJECT).kind == "f":
            missing |= np.isnan(self.values.astype(float))
        return missing

    def take(self, rows: np.ndarray) -> Column:
        """Gather on the device."""
        return Column(self.values[rows], None if self.nulls is None else self.nulls[rows], self.dtype)

    def part(self, span: slice) -> Column:
        """A view of some rows."""
        return Column(self.values[span], None if self.nulls is None else self.nulls[span], self.dtype)

    def to_arrow(self) -> pa.Array:
        """Copy to the host."""
        traffic.down(self.values.nbytes)
        array = pa.array(self.values.tolist() if self.values.dtype == OBJECT else self.values, mask=self.nulls)
        return array.dictionary_encode() if isinstance(self.dtype, pd.CategoricalDtype) else array


@dataclass
class PlainColumn:
    """A column of pylibcudf, whose memory has an address."""

    column: Column

    def data(self) -> Any:
        address = self.column.values.__array_interface__["data"][0]
        placement.places[address] = self.column.device
        return SimpleNamespace(ptr=address)


class _OneColumn:
    def __init__(self, column: Column) -> None:
        self._column = column

    dtype = property(lambda self: self._column.dtype)

    def __len__(self) -> int:
        return len(self._column.values)

    def __array__(self, dtype: Any = None, copy: Any = None) -> Any:
        raise TypeError("Implicit conversion to a host NumPy array via __array__ is not allowed")

    def __arrow_array__(self, type: Any = None) -> Any:
        raise TypeError("Implicit conversion to a host PyArrow object via __arrow_array__ is not allowed")

    def take(self, indices: ndarray) -> Any:
        return type(self)(self._column.take(indices._host))

    def to_arrow(self) -> pa.Array:
        return self._column.to_arrow()


class Index(_OneColumn):
    """Labels of rows, or the values that codes stand for."""

    def __init__(self, column: Column, name: str | None = None) -> None:
        super().__init__(column)
        self.names = [name]


class Series(_OneColumn):
    """One column of a frame."""

    def __new__(
        cls, data: Any = None, index: Any = None, dtype: Any = None, name: Any = None, nan_as_null: bool = True
    ) -> Series:
        if cls is Series and (index is not None or name is not None):  # Narwhals makes series with labels
            from tests.support.gpu.standin.cudf.steps import StepSeries

            cls = StepSeries
        return object.__new__(cls)

    def __init__(self, data: Any, *, nan_as_null: bool = True) -> None:
        if isinstance(data, (ndarray, np.ndarray)):  # cuDF copies an array of the host
            data = Column(data._host if isinstance(data, ndarray) else data.copy(), None, data.dtype)
            missing = data.missing()
            data.nulls = missing if nan_as_null and missing.any() else None
        elif isinstance(data, _OneColumn):
            data = data._column
        elif isinstance(data, list):
            data = Column.from_arrow(pa.array(data, from_pandas=True))
        super().__init__(data)

    @property
    def has_nulls(self) -> bool:
        return self._column.nulls is not None and bool(self._column.nulls.any())

    @property
    def values(self) -> ndarray:
        """The column's own memory, where it has no nulls."""
        if self.has_nulls:
            raise ValueError("Column must have no nulls.")
        if self._column.values.dtype == OBJECT:
            raise NotImplementedError(f"CuPy does not support {self.dtype}")
        self._column.exposed = True  # cuDF never spills it from now on
        return ndarray(self._column.values, Memory(0))

    def to_pylibcudf(self) -> tuple[PlainColumn, dict[str, Any]]:
        """The column of libcudf."""
        self._column.exposed = True
        return PlainColumn(self._column), {}

    @classmethod
    def from_pylibcudf(cls, col: PlainColumn) -> Series:
        """A column of libcudf with its memory."""
        return cls(col.column)

    def copy(self, deep: bool = True) -> Series:
        """With memory of its own."""
        column = self._column
        return Series(Column(column.values.copy(), column.nulls, column.dtype)) if deep else Series(column)

    @classmethod
    def from_arrow(cls, array: pa.Array) -> Series:
        """Copy a column from the host."""
        return cls(Column.from_arrow(array))

    def where(self, cond: Any, other: None = None) -> Series:
        """Null where the condition does not hold."""
        nulls = ~cond._host if self._column.nulls is None else self._column.nulls | ~cond._host
        return Series(Column(self._column.values.copy(), nulls, self.dtype))

    def isnull(self) -> Series:
        """Flag nulls, and NaN."""
        return Series(wrapped(self._column.missing()))

    def fillna(self, value: Any) -> Series:
        """With a value for nulls, and for NaN."""
        values = self._column.values.copy()
        if values.dtype == bool and not isinstance(value, bool):
            raise TypeError(f"Cannot safely cast non-equivalent {type(value).__name__} to bool")
        values[self._column.missing()] = value
        return Series(Column(values, None, self.dtype))

    def astype(self, dtype: Any) -> Series:
        column = self._column
        if dtype == self.dtype:
            return self
        if isinstance(dtype, pd.ArrowDtype):
            return Series(replace(column, dtype=dtype))
        if isinstance(dtype, Decimal128Dtype) and column.values.dtype != OBJECT:
            values = np.empty(len(self), object)
            values[:] = [Decimal(value) for value in column.values.tolist()]
            return Series(Column(values, column.nulls, dtype))
        if isinstance(dtype, (pd.CategoricalDtype, _NamedDtype)) or np.dtype(dtype) == OBJECT:
            return Series(Column(column.values, column.nulls, dtype))
        values = column.values
        if values.dtype.kind in "mM" and np.dtype(dtype).kind in "mM":
            if getattr(getattr(self.dtype, "pyarrow_dtype", self.dtype), "tz", None) is not None:
                raise TypeError("Cannot use .astype to convert from timezone-aware dtype to timezone-naive dtype.")
            with np.errstate(over="ignore"):  # libcudf multiplies, and wraps around
                one = [np.ones(1, f"m8[{np.datetime_data(np.dtype(unit))[0]}]")[0] for unit in (values.dtype, dtype)]
                factor = one[0] // one[1]
                values = (values.view(np.int64) * factor).view(dtype)
        if values.dtype == OBJECT and column.nulls is not None:
            values = np.where(column.nulls, 0, values)
        return Series(Column(values.astype(dtype), column.nulls, np.dtype(dtype)))

    @property
    def dt(self) -> _Times:
        return _Times(self._column)

    @property
    def str(self) -> _Texts:
        return _Texts(self._column)

    def reset_index(self, drop: bool = False) -> Series:
        if not drop:
            raise NotImplementedError("the stand-in drops labels")
        return self

    def factorize(self, sort: bool = False) -> tuple[ndarray, Index]:
        """Codes (int64, -1 for nulls) and the values in the order of their codes."""
        values, nulls = self._column.values, self._column.nulls
        present = np.ones(len(values), bool) if nulls is None else ~nulls
        found, uniques = pd.factorize(values[present], sort=sort)
        codes = np.full(len(values), -1, np.int64)
        codes[present] = found
        return wrapped(codes), Index(Column(np.asarray(uniques), None, self.dtype))


class _Times:
    """Methods of times with a time zone."""

    def __init__(self, column: Column) -> None:
        self._column = column

    def tz_convert(self, tz: None) -> Series:
        """Without a time zone, as UTC."""
        return Series(replace(self._column, dtype=self._column.values.dtype))


class _Texts:
    """Methods of texts."""

    def __init__(self, column: Column) -> None:
        self._column = column

    def strip(self, to_strip: str | None = None) -> Series:
        """Without the given characters at both ends; by default, libcudf strips all those up to the ASCII blank."""
        signs = to_strip or "".join(map(chr, range(33)))
        texts = np.empty(len(self._column.values), object)
        texts[:] = [None if text is None else text.strip(signs) for text in self._column.values]
        return Series(replace(self._column, values=texts))

    def len(self) -> Series:
        """Numbers of characters."""
        lengths = np.array([0 if text is None else len(text) for text in self._column.values], np.int32)
        return Series(Column(lengths, self._column.nulls, lengths.dtype))


def stacked(parts: list[Column]) -> Column:
    """Columns of one type, one after the other."""
    if len({str(getattr(part.dtype, "to_arrow", lambda part=part: part.dtype)()) for part in parts}) > 1:
        raise TypeError("the columns have different types")
    nulls = None
    if any(part.nulls is not None for part in parts):
        nulls = np.concatenate(
            [np.zeros(len(part.values), bool) if part.nulls is None else part.nulls for part in parts]
        )
    return Column(np.concatenate([part.values for part in parts]), nulls, parts[0].dtype)
