"""Whether this machine can run the session: its GPUs, driver, CUDA and CuPy, and which libraries and tools it has.

    python bench gpu/facts [-o FOLDER]

Prints a line for each finding, then compiles and runs one kernel. Writes them to ``DEVICE/device.json``. Exit code 1,
with the missing part and how to install it, if dfmst cannot use a GPU.
"""

from __future__ import annotations

import importlib
import json
import shutil
from typing import Any

import numpy as np
from support.inside import select_engine
from support.machine import describe_device
from support.results import parser, write

from dfmst.errors import DfmstError

#: Library -> the steps of the session that need it, which are left out otherwise.
LIBRARIES = {
    "cudf": "algorithm dataframe, cudf, stream",
    "dask_cuda": "dask-cuda",
    "cugraph": "cugraph",
    "rmm": "memory pools",
    "pytest": "tests",
}
TOOLS = {"compute-sanitizer": "memcheck, initcheck, synccheck", "ncu": "profile"}


def libraries() -> dict[str, str | None]:
    """Version of each library, or why it cannot be imported; ``None``: not installed."""
    found: dict[str, str | None] = {}
    for name in LIBRARIES:
        try:
            found[name] = str(getattr(importlib.import_module(name), "__version__", "installed"))
        except ModuleNotFoundError as error:
            found[name] = None if error.name == name else f"fails: {error}"
        except Exception as error:  # a library that does not fit the driver fails in many ways
            found[name] = f"fails: {type(error).__name__}: {error}"
    return found


def gpus(runtime: Any) -> list[str]:
    """Name and free memory of each GPU, which of them is used, and links between them."""
    lines = []
    for number in range(runtime.getDeviceCount()):
        properties = runtime.getDeviceProperties(number)
        size = properties["totalGlobalMem"] / 1e9
        lines.append(f"GPU {number}: {properties['name'].decode()}, {size:.0f} GB")
    free, total = runtime.memGetInfo()
    return [*lines, f"GPU {runtime.getDevice()} is used: {free / 1e9:.1f} of {total / 1e9:.1f} GB are free"]


def main() -> int:
    chosen = parser(__doc__).parse_args()
    try:
        engine = select_engine("cuda")
        column = engine.from_host(np.array([0, 0, 1], np.uint32))
        with engine.guard():
            engine.launch("flatten", 3, column)
            works = engine.to_host(column).tolist() == [0, 0, 0]
    except DfmstError as error:
        print(f"dfmst cannot use a GPU: {error}")
        return 1
    device = describe_device(engine.xp)
    device["gpus"], device["libraries"] = gpus(engine.xp.cuda.runtime), libraries()
    device["tools"] = {tool: shutil.which(tool) is not None for tool in TOOLS}
    for line in device["gpus"]:
        print(line)
    print(f"driver {device['driver']}, CUDA {device['cuda_runtime']}, CuPy {device['packages']['cupy']}")
    for name, found in device["libraries"].items():
        print(f"{name}: {found or f'not installed; leaves out: {LIBRARIES[name]}'}")
    for tool, there in device["tools"].items():
        print(f"{tool}: {'installed' if there else f'not installed; leaves out: {TOOLS[tool]}'}")
    write(chosen.output / device["folder"] / "device.json", device)
    print(json.dumps({"device": device["device"], "a kernel ran": works}))
    return int(not works)
