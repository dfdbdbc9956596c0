"""An engine over columns of NumPy whose kernels run as PTX: tests of single kernels run on it unchanged."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from dfmst._engines import CpuEngine
from dfmst._engines.cuda import OPTIONS
from dfmst._engines.kernels import TYPES, bind, kernels, translation_units
from tests.support.gpu.ptx.machine import Launch, run
from tests.support.gpu.ptx.memory import Memory
from tests.support.gpu.ptx.modules import Card, programs, ptx_of, ran

_BLOCK = 64
_BLOCKS = 3  # at most: a thread takes several indices of most launches


@dataclass(frozen=True)
class PtxEngine:
    """Runs kernels of a GPU on the interpreter, and those that only CPUs run on the CPU.

    Attributes
    ----------
    card
        How PTX is compiled and scheduled.
    """

    card: Card = field(default_factory=Card, compare=False)
    threads: int = 2
    name: str = "cpu"
    on_host: bool = True
    in_steps: bool = True
    ends_long_launches: bool = False
    xp: Any = np

    def __getattr__(self, name: str) -> Any:
        """Everything else is the CPU's."""
        return getattr(CpuEngine(self.threads), name)

    def launch(self, kernel: str, count: int, *arguments: Any, grain: int = 4096) -> None:
        """Run a kernel for every index below `count`."""
        if kernels()[kernel].on_host:
            CpuEngine(self.threads).launch(kernel, count, *arguments, grain=grain)
            return
        variant, signature = bind(kernel, arguments)
        text = translation_units()[signature.variants()[variant]]
        program = programs(ptx_of(text, OPTIONS, self.card))[variant]
        ran.add(variant)
        if not count:
            return
        values = [count]
        for parameter, argument in zip(signature.parameters, arguments, strict=True):
            if parameter.pointer:
                values.append(0 if argument is None else int(argument.__array_interface__["data"][0]))
            else:
                values.append(int(argument) & (1 << 8 * TYPES[parameter.type].itemsize) - 1)
        memory = Memory(argument for argument in arguments if isinstance(argument, np.ndarray))
        shape = min(-(-count // _BLOCK), _BLOCKS), _BLOCK
        run(Launch(program, shape, values, memory, self.card.observer), self.card.rng)

    def prepare(self, kernel: str, *arguments: Any) -> Callable[[int], None]:
        """Return a function that launches the kernel."""
        return lambda count: self.launch(kernel, count, *arguments)

    def in_scratch(self) -> PtxEngine:
        """Return the engine."""
        return self

    def lasting(self) -> PtxEngine:
        """Return the engine."""
        return self
