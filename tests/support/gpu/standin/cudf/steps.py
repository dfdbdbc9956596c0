"""What Narwhals calls of cuDF for ``algorithm="dataframe"``: by pandas, with cuDF's signatures, order and refusals.

Every call is recorded. As cuDF documents them: merges and groups come in no order (here in another one each time), a
comparison needs equal labels, and neither series nor labels are iterated or become arrays of the host by themselves.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from functools import wraps
from typing import Any

import numpy as np
import pandas as pd

from tests.support.gpu.standin.cudf.columns import Column, Index, Series
from tests.support.gpu.standin.cudf.frame import DataFrame
from tests.support.gpu.standin.cupy.device import traffic
from tests.support.gpu.standin.cupy.memory import Memory
from tests.support.gpu.standin.cupy.ndarray import ndarray

#: Class, method and arguments of each call, in order.
calls: list[tuple[str, str, dict[str, Any]]] = []
_draw = np.random.default_rng(0)


def plain(value: Any) -> Any:
    """The pandas object, or array of the host, in place of the stand-in's."""
    if isinstance(value, (StepFrame, StepSeries, StepIndex)):
        return value._pandas
    if isinstance(value, DataFrame):
        columns = {name: column.values for name, column in value._columns.items()}
        assert all(column.nulls is None for column in value._columns.values())
        return pd.DataFrame(columns, index=pd.Index(value.index._column.values))
    if isinstance(value, ndarray):
        return value._host
    return [plain(each) for each in value] if isinstance(value, list) else value


def wrapped(result: Any) -> Any:
    """The stand-in's object in place of pandas'."""
    if isinstance(result, pd.DataFrame):
        return StepFrame(result)
    if isinstance(result, pd.Series):
        return StepSeries(result)
    if isinstance(result, pd.Index):
        return StepIndex(result)
    return StepGroups(result) if "GroupBy" in type(result).__name__ else result


def _recorded(owner: str, name: str, bound: inspect.BoundArguments) -> None:
    kinds = (pd.DataFrame, pd.Series, pd.Index, DataFrame, Series, Index, ndarray)
    shown = {
        key: type(value).__name__ if isinstance(value, kinds) else value
        for key, value in bound.arguments.items()
        if key != "self"
    }
    calls.append((owner, name, shown))


def step(*, ordered: bool = True) -> Callable[[Any], Any]:
    """Give a signature of cuDF its method: recorded, and run by pandas; rows of others than `ordered` are shuffled."""

    def decorate(stub: Any) -> Any:
        signature, name = inspect.signature(stub), stub.__name__

        @wraps(stub)
        def method(self: Any, *values: Any, **named: Any) -> Any:
            bound = signature.bind(self, *values, **named)
            _recorded(type(self).__name__.removeprefix("Step"), name, bound)
            given = {key: plain(value) for key, value in bound.arguments.items() if key != "self"}
            if given.get("how") == "leftanti":  # pandas has another name for it
                given["how"] = "left_anti"
            result = getattr(self._pandas, name)(**given)
            if not ordered:
                result = result.iloc[_draw.permutation(len(result))]
                result = result.reset_index(drop=True) if name == "merge" else result
            return wrapped(result)

        return method

    return decorate


class StepFrame(DataFrame):
    """A frame in the middle of the steps."""

    def __init__(self, frame: pd.DataFrame) -> None:
        self._pandas = frame

    @property
    def _columns(self) -> dict[Any, Column]:  # type: ignore[override]
        return {name: Column(self._pandas[name].to_numpy(), None, self._pandas[name].dtype) for name in self._pandas}

    columns: Any = property(lambda self: self._pandas.columns)  # of pandas in cuDF, too
    shape = property(lambda self: self._pandas.shape)
    index: Any = property(
        lambda self: StepIndex(self._pandas.index), lambda self, labels: setattr(self._pandas, "index", plain(labels))
    )

    def __len__(self) -> int:
        return len(self._pandas)

    def __getitem__(self, name: Any) -> Any:
        return wrapped(self._pandas[plain(name)])

    loc: Any = property(lambda self: _Chosen(self._pandas.loc))
    iloc: Any = property(lambda self: _Chosen(self._pandas.iloc))

    def to_dict(self, orient: str = "dict") -> Any:
        traffic.down(8 * self._pandas.size)
        frame: Any = self._pandas
        return frame.to_dict(orient)

    @step()
    def head(self, n=5): ...
    @step()
    def drop_duplicates(self, subset=None, keep="first"): ...
    @step()
    def dropna(self, how="any", subset=None): ...
    @step()
    def drop(self, columns=None): ...
    @step()
    def rename(self, columns=None): ...
    @step()
    def copy(self, deep=True): ...
    @step()
    def reset_index(self, drop=False): ...
    @step()
    def sort_values(self, by, ascending=True, na_position="last"): ...
    @step(ordered=False)
    def merge(self, right, how="inner", on=None, left_on=None, right_on=None, suffixes=("_x", "_y")): ...
    @step()
    def groupby(self, by, as_index=True, *, sort, observed=True, dropna=True): ...


class _Chosen:
    """Rows by a mask or a range; an entry is a copy to the host."""

    def __init__(self, places: Any) -> None:
        self._places = places

    def __getitem__(self, at: Any) -> Any:
        result = self._places[tuple(map(plain, at)) if isinstance(at, tuple) else plain(at)]
        if not isinstance(result, (pd.DataFrame, pd.Series)):
            traffic.down(8)
        return wrapped(result)


class StepGroups:
    """Groups of a frame."""

    def __init__(self, groups: Any) -> None:
        self._pandas = groups

    def __getitem__(self, name: Any) -> Any:
        return StepGroups(self._pandas[name])

    @step(ordered=False)
    def min(self, numeric_only=False, min_count=0): ...
    @step(ordered=False)
    def size(self): ...
    @step(ordered=False)
    def sum(self, numeric_only=False, min_count=0): ...
    @step(ordered=False)
    def max(self, numeric_only=False, min_count=0): ...
    @step(ordered=False)
    def count(self): ...


class StepSeries(Series):
    """A series in the middle of the steps, with labels and a name."""

    __array_ufunc__ = None  # NumPy's scalars give way, as to cuDF's

    def __init__(self, data: Any, index: Any = None, dtype: Any = None, name: Any = None) -> None:
        held = isinstance(data, pd.Series)
        self._pandas: Any = data if held else pd.Series(plain(data), plain(index), dtype, name)

    _column: Any = property(lambda self: Column(self._pandas.to_numpy(), None, self._pandas.dtype))
    dtype: Any = property(lambda self: self._pandas.dtype)
    name: Any = property(lambda self: self._pandas.name, lambda self, name: setattr(self._pandas, "name", name))
    index: Any = property(
        lambda self: StepIndex(self._pandas.index), lambda self, labels: setattr(self._pandas, "index", plain(labels))
    )

    @property
    def values(self) -> ndarray:
        return ndarray(self._pandas.to_numpy(), Memory(0))

    @step()
    def copy(self, deep=True): ...
    @step()
    def rename(self, index=None): ...
    @step()
    def where(self, cond, other=None): ...
    @step()
    def astype(self, dtype): ...
    @step()
    def isin(self, values): ...
    @step()
    def max(self, axis=0, skipna=True): ...
    @step()
    def sum(self, axis=None, skipna=True): ...
    @step()
    def min(self, axis=0, skipna=True): ...

    iloc: Any = property(lambda self: _Chosen(self._pandas.iloc))


class StepIndex(Index):
    """Labels of a frame or series."""

    def __init__(self, labels: pd.Index) -> None:
        self._pandas = labels

    names: Any = property(lambda self: self._pandas.names)
    name: Any = property(lambda self: self._pandas.name, lambda self, name: setattr(self._pandas, "name", name))

    def __len__(self) -> int:
        return len(self._pandas)

    def __getitem__(self, at: Any) -> Any:
        return wrapped(self._pandas[at])

    def __iter__(self) -> Any:
        raise TypeError("cuDF's labels are not iterated")


def _operator(name: str) -> Any:
    def apply(self: StepSeries, *others: Any) -> Any:
        operands = [plain(other) for other in others]
        if any(isinstance(each, pd.Series) and not each.index.equals(self._pandas.index) for each in operands):
            raise ValueError("Can only compare identically-labeled Series objects")
        calls.append(("Series", name, {}))
        return wrapped(getattr(self._pandas, name)(*operands))

    return apply


for _name in ("eq", "ne", "lt", "le", "gt", "ge", "add", "radd", "sub", "rsub", "mul", "and", "or", "invert"):
    setattr(StepSeries, f"__{_name}__", _operator(f"__{_name}__"))


def concat_steps(objs: list[Any], axis: int) -> Any:
    """Side by side, if all labels are equal; or one below the other, if all types are."""
    parts = [plain(part) for part in objs]
    calls.append(("cudf", "concat", {"axis": axis, "objs": [type(part).__name__ for part in parts]}))
    if axis == 1 and any(not part.index.equals(parts[0].index) for part in parts):
        raise NotImplementedError("cuDF joins by labels, in no order")
    if axis == 0:
        types = [tuple(map(str, part.dtypes)) if isinstance(part, pd.DataFrame) else str(part.dtype) for part in parts]
        if len(set(types)) > 1:
            raise NotImplementedError("the stand-in stacks columns of equal types")
    pandas: Any = pd
    return wrapped(pandas.concat(parts, axis=axis))
