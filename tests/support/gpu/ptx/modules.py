"""The stand-in for CuPy with real PTX: modules are compiled by NVRTC, and launches run on the interpreter."""

from __future__ import annotations

import hashlib
import os
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from dfmst._engines.cuda import CudaEngine, bound_kernels, function_of, module_of, resident_blocks
from tests.support.gpu.nvrtc import compiled
from tests.support.gpu.ptx.machine import Launch, Observer, Program, run
from tests.support.gpu.ptx.memory import Memory
from tests.support.gpu.ptx.program import parse
from tests.support.gpu.standin import cupy
from tests.support.gpu.standin.cupy.modules import RawKernel, RawModule

_CACHE = Path(tempfile.gettempdir()) / f"dfmst-ptx-{os.getuid() if hasattr(os, 'getuid') else 0}"


#: Variants of kernels that have run as PTX in this process.
ran: set[str] = set()


@dataclass
class Card:
    """The GPU that PTX runs on.

    Attributes
    ----------
    architecture
        As NVRTC calls it.
    major
        NVRTC's version.
    seed
        Of the order in which threads go on; ``None``: those that are furthest behind first.
    edit
        Changes a translation unit before it is compiled.
    observer
        Counts what launches do.
    """

    architecture: str = "compute_90"
    major: int = 13
    seed: int | None = None
    edit: Callable[[str], str] = str
    observer: Observer | None = None
    rng: np.random.Generator | None = field(init=False)

    def __post_init__(self) -> None:
        """One generator serves all launches."""
        self.rng = None if self.seed is None else np.random.default_rng(self.seed)


def ptx_of(text: str, options: tuple[str, ...], card: Card) -> str:
    """PTX of a text. It is kept on disk: a compilation takes half a second."""
    text = card.edit(text)
    # CuPy adds the last option to every compilation.
    options = (*options, f"--gpu-architecture={card.architecture}", "-ftz=true")
    key = hashlib.sha256(repr((text, options, compiled.__module__, card.major)).encode()).hexdigest()
    path = _CACHE / f"{key}.ptx"
    if not path.exists():
        found = compiled(card.major, text, options, "PTX")
        assert found.forms, found.log
        _CACHE.mkdir(mode=0o700, exist_ok=True)
        part = path.with_suffix(f".{os.getpid()}")
        part.write_bytes(found.forms["PTX"].rstrip(b"\0"))
        part.replace(path)
    return path.read_text(encoding="utf-8")


@cache
def programs(ptx: str) -> dict[str, Program]:
    """The kernels of a module, decoded."""
    return {name: Program(function) for name, function in parse(ptx).items()}


@contextmanager
def real_ptx(card: Card) -> Iterator[CudaEngine]:
    """Let launches run the PTX of a card within the block; the engine to launch with."""

    class Kernel(RawKernel):
        def run(self, shape: tuple[int, int], count: int, values: list[int | None], columns: list[Any]) -> None:
            ran.add(self.name)
            memory = Memory(column._host for column in columns)
            numbers = [count, *(0 if value is None else value for value in values)]
            run(Launch(programs(self.ptx)[self.name], shape, numbers, memory, card.observer), card.rng)

        ptx = ""

    class Module(RawModule):
        def __init__(self, *, code: str, options: Any = ()) -> None:
            super().__init__(code=code, options=options)
            ptx = ptx_of(code, options, card)
            self.kernel_class = type("Kernel", (Kernel,), {"ptx": ptx})

    _clear()
    cupy.RawModule = Module  # type: ignore[misc]
    try:
        yield CudaEngine(cupy)
    finally:
        cupy.RawModule = RawModule  # type: ignore[misc]
        _clear()


def _clear() -> None:
    for cached in (bound_kernels, function_of, module_of, resident_blocks):
        cached.cache_clear()
