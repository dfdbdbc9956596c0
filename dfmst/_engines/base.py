"""The protocol of an engine: an array module, and one way to run a kernel."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Any, Protocol

import numpy as np

from dfmst._common.types import Array
from dfmst._engines.kernels import Kernel, Parameter, kernel_of_name

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
        """How many threads a kernel may run on at once."""

    @property
    def in_steps(self) -> bool:
        """Whether kernels in steps run: their threads wait for each other (see ``kernels/portable.cuh``)."""

    def launch(self, kernel: str, count: int, *arguments: Array | int | None, grain: int = 4096) -> None:
        """Run a kernel for every index below `count`.

        Arrays go to pointer parameters (``None`` is a null pointer), integers to the others. The
        types of the arrays select the kernel's variant. `grain` is the number of consecutive
        indices that one thread takes at a time.
        """

    def prepare(self, kernel: str, *arguments: Array | int | None) -> Callable[[int], None]:
        """Check a launch's arguments once, for many launches: the result takes the count."""

    def launch_alone(self, kernel: str, *arguments: Array | int | None) -> None:
        """Run a kernel whose index 0 does all the work, one step after the other.

        The CUDA engine runs it on the host, and copies its columns there and back: see
        :meth:`dfmst._engines.cuda.CudaEngine.launch_alone`.
        """

    def sort_records(self, records: Array, bits: int) -> Array:
        """Sort 64-bit records by bits ``[32, 32 + bits)``, keeping the order of equals; may reuse `records`."""

    def stretch(self, most: int) -> int:
        """Entries that one index of a blockwise kernel processes: at most `most`."""

    def in_scratch(self) -> Engine:
        """The same engine for temporary columns; their memory is reused."""

    def lasting(self) -> Engine:
        """The same engine, for columns that stay."""

    def from_host(self, column: Array) -> Array:
        """Bring a NumPy column into the engine's memory; one that is there is copied only from an odd address."""

    def to_host(self, column: Array) -> Array:
        """Bring a column to the host, as NumPy; one that is there already is not copied."""

    def guard(self) -> AbstractContextManager[None]:
        """Turn faults of the engine's device within the block into dfmst's errors."""


def bind(name: str, arguments: tuple[Array | int | None, ...]) -> tuple[str, Kernel]:
    """Check a launch's arguments against the kernel's parameters and name the variant to run."""
    kernel = kernel_of_name(name)
    if len(arguments) != len(kernel.parameters):
        raise TypeError(f"kernel {name} takes {len(kernel.parameters)} arguments, not {len(arguments)}")
    bound = ""
    for parameter, argument in zip(kernel.parameters, arguments, strict=True):
        if not parameter.pointer:
            # A NumPy integer is refused as well: it has an address, which would be passed in place of its value.
            if not isinstance(argument, int):
                raise TypeError(f"kernel {name}: {parameter.name} is a {type(argument).__name__}, not an int")
            continue
        if argument is None:
            continue
        actual = _check(name, parameter, argument)
        if parameter.type == kernel.type_parameter:
            bound = bound or _variant(kernel, parameter, actual)
            expected = bound
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
    # CuPy's arrays are always aligned and writeable, and have no such flags.
    if not getattr(argument.flags, "aligned", True):
        raise TypeError(f"kernel {kernel}: {parameter.name} is not aligned")
    if parameter.written and not getattr(argument.flags, "writeable", True):
        raise TypeError(f"kernel {kernel}: {parameter.name} is read-only, and the kernel writes to it")
    return _NAMES.get(argument.dtype) or str(argument.dtype)


def _variant(kernel: Kernel, parameter: Parameter, actual: str) -> str:
    if actual not in kernel.types:
        message = f"kernel {kernel.name}: {parameter.name} is {actual}; it must be one of {', '.join(kernel.types)}"
        raise TypeError(message)
    return actual
