"""RMM: only its allocator for CuPy."""

from standin.rmm import allocators

__all__ = ["allocators"]
