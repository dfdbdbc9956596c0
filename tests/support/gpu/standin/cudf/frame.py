"""Frames."""

from __future__ import annotations

from typing import Any

import narwhals.stable.v2
import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet

from tests.support.gpu.standin.cudf.columns import Column, Index, Series, stacked
from tests.support.gpu.standin.cupy.ndarray import ndarray


class RangeIndex(Index):
    """0, 1, 2 and so on."""

    start, step, name = 0, 1, None


class DataFrame:
    """Named columns and an index."""

    def __init__(self, data: dict[Any, Any], index: Index | None = None, *, nan_as_null: bool = True) -> None:
        self._columns = {name: Series(values, nan_as_null=nan_as_null)._column for name, values in data.items()}
        rows = len(next(iter(self._columns.values())).values) if self._columns else 0
        self.index = RangeIndex(Column(np.arange(rows), None, np.dtype(int))) if index is None else index
        self.__narwhals_dataframe__ = self._steps  # not of the class: Narwhals knows the frames of steps as cuDF's

    @classmethod
    def from_arrow(cls, table: pa.Table, index: list[int] | None = None) -> DataFrame:
        """Copy a table from the host."""
        frame = cls({name: Series(Column.from_arrow(table[name])) for name in table.column_names})
        if index is not None:
            frame.index = Index(Column(np.array(index), None, np.dtype(int)))
        return frame

    @property
    def columns(self) -> Any:
        """Names, as pandas has them."""
        return pd.Index(list(self._columns), dtype=object)

    def __len__(self) -> int:
        return len(self.index)

    def __getitem__(self, name: Any) -> Any:
        if isinstance(name, list):
            return DataFrame({each: self[each] for each in name}, self.index)
        return Series(self._columns[name])

    def __setitem__(self, name: str, values: ndarray | Series) -> None:
        self._columns[name] = Series(values)._column

    def copy(self, deep: bool = True) -> DataFrame:
        if deep:
            raise NotImplementedError("the stand-in copies no columns")
        return DataFrame({name: self[name] for name in self.columns}, self.index)

    def __array__(self, dtype: Any = None, copy: Any = None) -> Any:
        raise TypeError("Implicit conversion to a host NumPy array via __array__ is not allowed")

    def __arrow_c_stream__(self, requested_schema: Any = None) -> Any:
        return self.to_arrow(preserve_index=False).__arrow_c_stream__(requested_schema)

    def _steps(self) -> Any:
        """Narwhals' frame of cuDF, whose calls are recorded."""
        from tests.support.gpu.standin.cudf.steps import StepFrame, plain

        frame: Any = narwhals.stable.v2.from_native(StepFrame(plain(self)), eager_only=True)
        return frame._compliant_frame

    @property
    def iloc(self) -> _Spans:
        return _Spans(self)

    def take(self, indices: Any) -> DataFrame:
        if not isinstance(indices, ndarray) or indices.dtype.kind not in "iu":
            raise TypeError("Gather map must have integer dtype")
        rows = indices._host
        if len(rows) and not (rows.min() >= -len(self) and rows.max() < len(self)):
            raise IndexError(f"Gather map is out of bounds for [0, {len(self)})")
        index = Index(self.index._column.take(rows), self.index.names[0])
        return DataFrame({name: Series(column.take(rows)) for name, column in self._columns.items()}, index)

    def reset_index(self) -> DataFrame:
        labels = {self.index.names[0]: Series(self.index._column)}
        return DataFrame({**{name: self[name] for name in self.columns}, **labels})

    def to_arrow(self, preserve_index: bool | None = None) -> pa.Table:
        if preserve_index is not False:
            raise NotImplementedError("the stand-in leaves labels out")
        return pa.table({name: column.to_arrow() for name, column in self._columns.items()})

    def to_parquet(self, path: Any, index: bool | None = None) -> None:
        if index is not False:
            raise NotImplementedError("the stand-in leaves labels out")
        pyarrow.parquet.write_table(self.to_arrow(preserve_index=False), path)


class _Spans:
    """Spans of a frame's rows, in its own memory."""

    def __init__(self, frame: DataFrame) -> None:
        self._frame = frame

    def __getitem__(self, span: slice) -> DataFrame:
        columns = {name: Series(column.part(span)) for name, column in self._frame._columns.items()}
        return DataFrame(columns, Index(self._frame.index._column.part(span), self._frame.index.names[0]))


def read_parquet(filepath_or_buffer: Any, columns: list[str] | None = None, row_groups: Any = None) -> DataFrame:
    """Read files, one after the other, or row groups of a file; pandas' labels become the index."""
    paths = filepath_or_buffer if isinstance(filepath_or_buffer, list) else [filepath_or_buffer]
    if row_groups is not None:
        (path,) = paths
        with pyarrow.parquet.ParquetFile(path) as file:
            table = file.read_row_groups(row_groups, columns=columns)
    else:
        table = pa.concat_tables(pyarrow.parquet.read_table(path, columns=columns) for path in paths)
    table = table.replace_schema_metadata(None)
    if "__index_level_0__" not in table.column_names:
        return DataFrame.from_arrow(table)
    frame = DataFrame.from_arrow(table.drop_columns("__index_level_0__"))
    frame.index = Index(Column.from_arrow(table["__index_level_0__"]))
    return frame


def concat(objs: list[Any], axis: int = 0, ignore_index: bool = False) -> Any:
    """Stack frames with their labels, or series without."""
    from tests.support.gpu.standin.cudf.steps import StepFrame, StepSeries, concat_steps

    objs = list(objs)
    if axis == 1 or any(isinstance(part, (StepFrame, StepSeries)) for part in objs):
        return concat_steps(objs, axis)
    if all(isinstance(part, DataFrame) for part in objs) and not ignore_index:
        if any(list(part.columns) != list(objs[0].columns) for part in objs):
            raise NotImplementedError("the stand-in stacks frames of equal columns")
        columns = {name: stacked([part._columns[name] for part in objs]) for name in objs[0].columns}
        index = Index(stacked([part.index._column for part in objs]), objs[0].index.names[0])
        return DataFrame({name: Series(column) for name, column in columns.items()}, index)
    if not ignore_index or not all(isinstance(part, Series) for part in objs):
        raise NotImplementedError("the stand-in stacks series, without their labels")
    return Series(stacked([part._column for part in objs]))
