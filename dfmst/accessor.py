"""The ``mst`` accessor, which :mod:`dfmst.pandas`, ``polars``, ``cudf`` and ``dask`` register."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from importlib import import_module
from typing import TYPE_CHECKING, Any, Generic, TypeVar

import dfmst

if TYPE_CHECKING:  # their modules load NumPy and PyArrow
    from typing import Unpack

    from dfmst._common.types import ColumnName, Columns
    from dfmst._drive.strategies import Plan
    from dfmst._trees.request import DrivenOptions

__all__ = ["ForestAccessor"]

FrameT = TypeVar("FrameT")


def _on_frame(function: Callable[..., object]) -> Callable[..., Any]:
    @wraps(function)
    def method(self: ForestAccessor[object], *values: object, **named: object) -> Any:
        return function(self._frame, *values, **named)

    return method


class _Method:
    """A method made of a function of :mod:`dfmst`, which is imported at its first use."""

    def __init__(self, function: str, make: Callable[[Callable[..., Any]], Callable[..., Any]] = _on_frame) -> None:
        self._function, self._make = function, make

    def __set_name__(self, owner: type, name: str) -> None:
        self._owner, self._name = owner, name

    def __get__(self, instance: object, owner: type | None = None) -> Any:
        made: Any = self._make(getattr(dfmst, self._function))
        setattr(self._owner, self._name, made)
        return made.__get__(instance, owner)


class ForestAccessor(Generic[FrameT]):
    """Functions of :mod:`dfmst` on an edge table, a table of points or labels, as ``frame.mst``.

    Every method has the name and the parameters of the function. The three forests are ``minimum``, ``maximum`` and
    ``spanning``; ``components`` and ``linkage`` are short for ``connected_components`` and ``single_linkage``.
    """

    def __init__(self, frame: FrameT) -> None:
        self._frame = frame

    def __repr__(self) -> str:
        methods = ", ".join(sorted(name for name in dir(self) if not name.startswith("_")))
        return f"<dfmst: functions of this frame, such as .mst.minimum(source, target, weight): {methods}>"

    if TYPE_CHECKING:  # the functions, less their first argument

        def minimum(  # noqa: D102
            self,
            source: Columns = ...,
            target: Columns = ...,
            weight: Columns | None = ...,
            **options: Unpack[DrivenOptions],
        ) -> FrameT: ...

        maximum = minimum

        def spanning(  # noqa: D102
            self, source: Columns = ..., target: Columns = ..., **options: Unpack[DrivenOptions]
        ) -> FrameT: ...
        def __getattr__(self, name: str) -> Callable[..., Any]: ...

    else:
        minimum = _Method("minimum_spanning_forest")
        maximum = _Method("maximum_spanning_forest")
        spanning = _Method("spanning_forest")
        components = _Method("connected_components")
        linkage = _Method("single_linkage")
        for _name in dfmst.FRAME_FUNCTIONS:
            if not _name.endswith("spanning_forest"):
                vars()[_name] = _Method(_name)
        del _name

    def plan(self, source: ColumnName = "source", target: ColumnName = "target", **options: Any) -> Plan:
        """Predict the memory and the traffic of this table's forest; see :func:`dfmst.plan`.

        Rows and vertices are counted unless the options have them.
        """
        from dfmst._common.options import driver_of
        from dfmst._edges.frames import open_frame

        driver = driver_of(self._frame)
        if driver is not None:
            planned: Plan = import_module(driver.module).plan(self._frame, source, target, **options)
            return planned
        if options.get("n_edges") is None:
            options["n_edges"] = max(1, len(open_frame(self._frame)))
        if options.get("n_vertices") is None:
            vertices = dfmst.connected_components(self._frame, source, target)
            options["n_vertices"] = max(1, len(open_frame(vertices)))
        return dfmst.plan(**options)
