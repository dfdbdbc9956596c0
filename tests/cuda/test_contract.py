"""The stand-ins against the real packages: whatever they have, the real ones have, under the same names and defaults.

The code can use nothing that the stand-ins lack, so that it uses nothing that the real ones lack. Neither a GPU nor a
driver is needed, only the packages; without them the tests are skipped. They are large: CI does not install them.
"""

from __future__ import annotations

import importlib
import inspect
import subprocess
import sys
from importlib.util import find_spec
from typing import Any

import pytest

from tests.support.gpu import standin
from tests.support.gpu.standin.cudf import steps

#: What tests ask the stand-ins for, and no code of dfmst.
OWN = {
    "cupy": {"driver_memory", "reset", "traffic"},
    "cudf": {"Column", "StringDtype", "options", "pandas"},
    "cupy.cuda": {"capability", "cooperative", "driver_version", "faults", "granted", "launches", "reset", "waits"}
    | {"multiprocessors", "taken", "watched"},
    "cupy.cuda.Stream": {"fault", "note", "work_until", "write", "queue", "begun"},
    "cupy.cuda.Event": {"moment", "done", "stream"},
    "cupy.cuda.MemoryPool": {"give", "limit", "peak", "take", "used"},
}
OWN_ARGUMENTS = {("index", None)}  # of DataFrame.from_arrow: labels for a test's frame
PLACES = {
    "cupy": standin.cupy,
    "cupy.ndarray": standin.cupy.ndarray,
    "cupy.cuda": standin.cupy.cuda,
    "cupy.cuda.Device": standin.cupy.cuda.Device,
    "cupy.cuda.Event": standin.cupy.cuda.Event,
    "cupy.cuda.MemoryPool": standin.cupy.cuda.MemoryPool,
    "cupy.cuda.Stream": standin.cupy.cuda.Stream,
    "cupy.cuda.compiler": standin.cupy.cuda.compiler,
    "cupy.cuda.driver": standin.cupy.cuda.driver,
    "cupy.cuda.memory": standin.cupy.cuda.memory,
    "cupy.cuda.nvrtc": standin.cupy.cuda.nvrtc,
    "cupy.cuda.runtime": standin.cupy.cuda.runtime,
    "rmm.mr": standin.rmm.mr,
    "rmm.mr.PoolMemoryResource": standin.rmm.mr.PoolMemoryResource,
    "rmm.mr.TrackingResourceAdaptor": standin.rmm.mr.TrackingResourceAdaptor,
    "rmm.allocators.cupy": standin.rmm.allocators.cupy,
    "cudf": standin.cudf,
    "cudf.DataFrame": standin.cudf.DataFrame,
    "cudf.Index": standin.cudf.Index,
    "cudf.Series": standin.cudf.Series,
    "cudf.api.extensions": standin.cudf.api.extensions,
    "cudf.api.types": standin.cudf.api.types,
    "pylibcudf": standin.pylibcudf,
    "pylibcudf.unary": standin.pylibcudf.unary,
}
#: Methods of cuDF that Narwhals calls, each with the arguments that it gives.
STEPS = {
    "cudf.DataFrame": steps.StepFrame,
    "cudf.Series": steps.StepSeries,
    "cudf.core.groupby.groupby.DataFrameGroupBy": steps.StepGroups,
}
#: Made in another way than the stand-in's, or by CuPy and cuDF alone.
CONSTRUCTED = {"ndarray", "Column", "Index", "RangeIndex", "Decimal128Dtype", "Event"} | {
    f"{name}Dtype" for name in ("Interval", "List", "String", "Struct")
}
#: Modules that the code takes from ``sys.modules`` or imports, and what it calls there.
USED = {
    "cudf.pandas": ("as_proxy_object", "is_proxy_object"),
    "dask_cudf": ("from_cudf",),
    "dask_cuda": ("LocalCUDACluster",),
}


def real(place: str) -> Any:
    """A module or a class of the real package."""
    package = place.partition(".")[0]
    if find_spec(package) is None:
        pytest.skip(f"needs {package}")
    try:
        return importlib.import_module(place)
    except ModuleNotFoundError:
        parent, _, name = place.rpartition(".")
        return getattr(real(parent), name)


def names(place: str) -> list[str]:
    known = PLACES[place]
    public = getattr(known, "__all__", None) or [name for name in vars(known) if not name.startswith("_")]
    return sorted({*public} - OWN.get(place, set()))


def defaults(function: Any) -> dict[str, Any] | None:
    """Name of each argument -> its default; ``None`` for a function that does not say (CuPy compiles some)."""
    try:
        parameters = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):
        return None
    if any(parameter.kind is parameter.VAR_KEYWORD for parameter in parameters):
        return None
    return {each.name: each.default for each in parameters if each.kind is not each.VAR_POSITIONAL}


def unlike(function: Any, real_one: Any) -> list[str]:
    """Arguments of ours that the real function lacks, or has with another default."""
    ours, theirs = defaults(function), defaults(real_one)
    if ours is None or theirs is None:
        return []
    return [
        argument
        for argument, default in ours.items() - OWN_ARGUMENTS
        if argument not in theirs or (default is not inspect.Parameter.empty and default != theirs[argument])
    ]


@pytest.mark.parametrize("place", PLACES)
def test_the_real_package_has_the_same_names(place):
    found = real(place)
    assert [name for name in names(place) if not hasattr(found, name)] == []


@pytest.mark.parametrize("place", PLACES)
def test_arguments_and_defaults_are_the_same(place):
    found, known = real(place), PLACES[place]
    wrong = []
    for name in names(place):
        function = getattr(known, name)
        if name in CONSTRUCTED or not callable(function) or isinstance(function, type):
            continue
        wrong += [f"{place}.{name}: {argument}" for argument in unlike(function, getattr(found, name))]
    assert wrong == []


@pytest.mark.parametrize("place", STEPS)
def test_the_steps_have_the_real_signatures(place):
    found = real(place)
    known = {name: function for name, function in vars(STEPS[place]).items() if hasattr(function, "__wrapped__")}
    assert known
    wrong = [name for name in known if not hasattr(found, name)]
    for name, function in known.items():
        wrong += [f"{place}.{name}: {argument}" for argument in unlike(function, getattr(found, name, None))]
    assert wrong == []


@pytest.mark.parametrize("module", USED)
def test_the_real_package_has_what_is_used_of_it(module):
    if module == "cudf.pandas":
        real("cudf")
        text = inspect.getsource(importlib.import_module("cudf.pandas"))  # pandas is replaced where it is loaded
        assert [name for name in USED[module] if name not in text] == []
        return
    assert [name for name in USED[module] if not hasattr(real(module), name)] == []


@pytest.mark.slow
@pytest.mark.parametrize("package", ["cupy", "rmm", "pylibcudf", "cudf", "dask_cudf", "dask_cuda"])
def test_the_real_package_warns_of_nothing(package):
    if find_spec(package) is None:
        pytest.skip(f"needs {package}")
    done = subprocess.run([sys.executable, "-W", "error", "-c", f"import {package}"], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
