"""``rmm.mr``: where RMM's memory comes from."""

from __future__ import annotations

__all__ = [
    "CudaMemoryResource",
    "PoolMemoryResource",
    "TrackingResourceAdaptor",
    "get_current_device_resource",
    "set_current_device_resource",
]


class CudaMemoryResource:
    """The driver's own memory: the default."""


class PoolMemoryResource:
    """A pool over it."""

    def __init__(
        self, upstream: object = None, initial_pool_size: int | None = None, maximum_pool_size: int | None = None
    ) -> None:
        self.upstream_mr = upstream
        self._size = initial_pool_size or 0

    def pool_size(self) -> int:
        """What it has by now, which may grow up to its maximum; RMM does not name that."""
        return self._size


class TrackingResourceAdaptor:
    """Counts what is in use."""

    def __init__(self, upstream: object) -> None:
        self.upstream_mr = upstream
        self.used = 0

    def get_allocated_bytes(self) -> int:
        return self.used


_current: list[object] = [CudaMemoryResource()]


def get_current_device_resource() -> object:
    return _current[0]


def set_current_device_resource(mr: object) -> None:
    _current[0] = mr
