"""Run with the stand-ins in CuPy's and cuDF's place: ``python on_standin.py SCRIPT|FOLDER|-m MODULE ARGUMENTS``.

Adds what only benchmarks use: events, the device's properties, versions.
"""

from __future__ import annotations

import importlib.util
import runpy
import sys
import time
from pathlib import Path
from typing import Any

TESTS = Path(__file__).resolve().parents[2]


class Event:
    """A moment on the host's clock: the stand-in has done everything by then."""

    def __init__(self):
        self.record()

    def record(self):
        self.moment = time.perf_counter()

    def synchronize(self):
        """Nothing to wait for."""


def elapsed(begin: Event, end: Event) -> float:
    return 1e3 * (end.moment - begin.moment)


PROPERTIES = {"name": b"NVIDIA Standin 1", "multiProcessorCount": 1, "totalGlobalMem": 1 << 34, "l2CacheSize": 1 << 20}


def import_tests() -> None:
    """Import the package `tests` by its place, as pytest does: its folder's parent also holds the source of dfmst."""
    spec = importlib.util.spec_from_file_location("tests", TESTS / "__init__.py")
    assert spec is not None
    assert spec.loader is not None
    sys.modules["tests"] = module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)


def add_to(cuda: Any, cudf: Any) -> None:
    """Add what only benchmarks use."""
    cuda.Event, cuda.get_elapsed_time = Event, elapsed
    cuda.runtime.getDeviceProperties = lambda _: PROPERTIES
    cuda.runtime.runtimeGetVersion = lambda: 13000


def main() -> None:
    import_tests()
    from tests.support.gpu import standin

    add_to(standin.cupy.cuda, standin.cudf)
    words = [word for word in sys.argv[1:] if word != "-P"]
    with standin.installed():
        if words[0] == "-m":
            sys.argv = words[1:]
            runpy.run_module(words[1], run_name="__main__", alter_sys=True)
        else:
            sys.argv = words
            place = Path(words[0])  # a script, or a folder with a __main__.py
            sys.path[0] = str(place if place.is_dir() else place.parent)
            runpy.run_path(words[0], run_name="__main__")


if __name__ == "__main__":
    main()
