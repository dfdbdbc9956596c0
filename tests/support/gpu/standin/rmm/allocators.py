"""``rmm.allocators``."""

from types import SimpleNamespace


def rmm_cupy_allocator(nbytes: int) -> None:
    """Never called: the stand-in's memory is CuPy's."""
    raise NotImplementedError(nbytes)


cupy = SimpleNamespace(rmm_cupy_allocator=rmm_cupy_allocator)
