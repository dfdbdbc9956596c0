"""``rmm.mr``: where RMM's memory comes from."""

from __future__ import annotations

__all__ = ["CudaMemoryResource", "PoolMemoryResource", "get_current_device_resource", "set_current_device_resource"]


class CudaMemoryResource:
    """The driver's own memory: the default."""


class PoolMemoryResource:
    """A pool over it."""


_current: list[object] = [CudaMemoryResource()]


def get_current_device_resource() -> object:
    return _current[0]


def set_current_device_resource(mr: object) -> None:
    _current[0] = mr
