"""The protocol of an engine: an array module, and one way to run a kernel."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Any, Protocol

import numpy as np

from dfmst._common.types import Array
from dfmst._engines.kernels import Kernel, Parameter, kernel_of

#: C type of a kernel parameter -> NumPy dtype.
TYPES: dict[str, np.dtype[Any]] = {
    "u8": np.dtype(np.uint8),
    "i32": np.dtype(np.int32),
    "u32": np.dtype(np.uint32),
    "i64": np.dtype(np.int64),
    "u64": np.dtype(np.uint64),
    "f32": np.dtype(np.float32),
    "f64": np.dtype(np.float64),
}
_NAMES = {dtype: name for name, dtype in TYPES.items()}
_KEY_TYPES = {4: "u32", 8: "u64"}


class Engine(Protocol):
    """Runs kernels over columns in its own memory."""

    @property
    def name(self) -> str:
        """``"cpu"`` or ``"cuda"``."""

    @property
    def on_host(self) -> bool:
        """Whether columns are in the host's memory."""

    @property
    def xp(self) -> Any:
        """The array module: NumPy or CuPy."""

    @property
    def threads(self) -> int:
        """Number of threads that a kernel may run on at once."""

    @property
    def in_steps(self) -> bool:
        """Whether kernels run whose threads wait for each other (see ``kernels/portable.cuh``)."""

    def launch(self, kernel: str, count: int, *arguments: Array | int | None, grain: int = 4096) -> None:
        """Run a kernel for every index below `count`.

        Pointer parameters take arrays (``None`` is a null pointer), the others integers. The types of the arrays select
        the variant of the kernel. `grain` is the number of consecutive indices that one thread takes at a time.
        """

    def prepare(self, kernel: str, *arguments: Array | int | None) -> Callable[[int], None]:
        """Check the arguments once, and return a function of the count that launches the kernel."""

    def launch_alone(self, kernel: str, *arguments: Array | int | None) -> None:
        """Run a kernel that does all work at index 0; the CUDA engine runs it on the host."""

    def sort_records(self, records: Array, bits: int) -> Array:
        """Sort 64-bit records stably by bits ``[32, 32 + bits)``; may reuse `records`."""

    def stretch(self, most: int) -> int:
        """Return the entries that one index of a blockwise kernel processes, at most `most`."""

    def in_scratch(self) -> Engine:
        """Return the engine for temporary columns, whose memory is reused."""

    def lasting(self) -> Engine:
        """Return the engine for columns that outlive a call."""

    def from_host(self, column: Array) -> Array:
        """Return a column in the engine's memory, copied from the host or from an odd address."""

    def to_host(self, column: Array) -> Array:
        """Return a column on the host, as NumPy; a column on the host is not copied."""

    def guard(self) -> AbstractContextManager[None]:
        """Context manager: raise errors of dfmst for faults of the device."""


def bind(name: str, arguments: tuple[Array | int | None, ...]) -> tuple[str, Kernel]:
    """Check the arguments of a launch, and return the variant to run and the kernel."""
    kernel = kernel_of(name)
    if len(arguments) != len(kernel.parameters):
        raise TypeError(f"kernel {name} takes {len(kernel.parameters)} arguments, not {len(arguments)}")
    bound = ""
    for parameter, argument in zip(kernel.parameters, arguments, strict=True):
        if not parameter.pointer:
            # Not a NumPy integer, whose address would be passed.
            if not isinstance(argument, int):
                raise TypeError(f"kernel {name}: {parameter.name} is a {type(argument).__name__}, not an int")
            continue
        if argument is None:
            continue
        actual = _check(name, parameter, argument)
        if parameter.type == kernel.type_parameter:
            if actual not in kernel.types:
                known = ", ".join(kernel.types)
                raise TypeError(f"kernel {name}: {parameter.name} is {actual}; it must be one of {known}")
            bound = expected = bound or actual
        elif parameter.type == "Key<W>":
            expected = _KEY_TYPES[TYPES[bound].itemsize] if bound else actual
        else:
            expected = parameter.type
        if actual != expected:
            raise TypeError(f"kernel {name}: {parameter.name} is {actual}, not {expected}")
    if not kernel.type_parameter:
        return name, kernel
    if not bound:
        raise TypeError(f"kernel {name}: None in place of every column of its type")
    return f"{name}_{bound}", kernel


def _check(kernel: str, parameter: Parameter, argument: Any) -> str:
    if isinstance(argument, int):
        raise TypeError(f"kernel {kernel}: {parameter.name} must be an array")
    if not argument.flags.c_contiguous:
        raise TypeError(f"kernel {kernel}: {parameter.name} is not contiguous")
    # Arrays of CuPy are always aligned and writeable, and lack these flags.
    if not getattr(argument.flags, "aligned", True):
        raise TypeError(f"kernel {kernel}: {parameter.name} is not aligned")
    if parameter.written and not getattr(argument.flags, "writeable", True):
        raise TypeError(f"kernel {kernel}: {parameter.name} is read-only, and the kernel writes to it")
    return _NAMES.get(argument.dtype) or str(argument.dtype)
