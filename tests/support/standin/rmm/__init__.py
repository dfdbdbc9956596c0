"""RMM: only its allocator for CuPy."""

from tests.support.standin.rmm import allocators

__all__ = ["allocators"]
