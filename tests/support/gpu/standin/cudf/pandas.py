"""``cudf.pandas``: proxies that look like pandas and hold a frame of cuDF."""

from __future__ import annotations

from typing import Any


class DataFrame:
    """A proxy: it calls itself pandas' class, and hands out what it holds."""

    def __init__(self, frame: Any) -> None:
        self._frame = frame

    columns = property(lambda self: self._frame.columns)

    def __len__(self) -> int:
        return len(self._frame)

    def as_gpu_object(self) -> Any:
        return self._frame


DataFrame.__module__ = "pandas"


def is_proxy_object(obj: Any) -> bool:
    return isinstance(obj, DataFrame)


def as_proxy_object(obj: Any) -> Any:
    return DataFrame(obj)
