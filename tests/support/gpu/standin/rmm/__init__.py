"""RMM: its allocator for CuPy, and its kinds of memory."""

from tests.support.gpu.standin.rmm import allocators, mr

__all__ = ["allocators", "mr"]
