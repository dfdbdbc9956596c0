"""The engine's own code: where it runs, what it launches, what goes wrong, and in which words."""

from __future__ import annotations

import gc
import os
import re
import sys
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import dfmst
import dfmst.stream
from dfmst._engines import CpuEngine, CudaEngine, select_engine
from dfmst._engines.cuda import attributes_of, bound_kernels, capability_of, function_of, module_of, resident_blocks
from dfmst._engines.kernels import bind
from dfmst.errors import CapacityError, DeviceError, EngineUnavailableError
from tests.support.gpu.standin import cupy

pytestmark = pytest.mark.simulated


@pytest.fixture
def fresh():
    """Kernels are compiled anew, before and after."""
    caches = attributes_of, bound_kernels, capability_of, function_of, module_of, resident_blocks
    for cached in caches:
        cached.cache_clear()
    yield
    for cached in caches:
        cached.cache_clear()


# ---- whether there is one -----------------------------------------------------------------------------------------


TABLE = pa.table({"source": [0], "target": [1], "weight": [2]})


def test_without_cupy(monkeypatch):
    monkeypatch.setitem(sys.modules, "cupy", None)
    with pytest.raises(EngineUnavailableError, match="engine='cuda' needs CuPy") as caught:
        dfmst.minimum_spanning_forest(TABLE, engine="cuda")
    assert "pip install 'dfmst[cu13]'" in caught.value.hint
    assert "dfmst[cu12]" in caught.value.hint


@pytest.mark.parametrize(
    ("error", "message", "hint"),
    [
        (OSError(30, "Read-only file system", "/home/cupy"), "Read-only file system: '/home/cupy'", "CUPY_CACHE_DIR"),
        (AttributeError("no attribute 'x'"), "AttributeError: no attribute 'x'", "dfmst[cu13]"),
    ],
)
def test_cupy_that_cannot_be_imported(monkeypatch, error, message, hint):
    def fail(name):
        raise error

    monkeypatch.setattr("dfmst._engines.cuda.import_module", fail)
    message = f"engine='cuda' needs CuPy, which cannot be imported: .*{re.escape(message)}"
    with pytest.raises(EngineUnavailableError, match=message) as caught:
        dfmst.minimum_spanning_forest(TABLE, engine="cuda")
    assert hint in caught.value.hint


@pytest.mark.parametrize("place", ["/proc", "there", "nowhere"])
def test_kernels_are_compiled_without_a_cache_that_cannot_be_written(device, monkeypatch, tmp_path, place):
    (tmp_path / "there").mkdir()
    monkeypatch.setenv("CUPY_CACHE_DIR", str(tmp_path / place))
    monkeypatch.setenv("CUPY_CACHE_IN_MEMORY", "0")
    CudaEngine()
    assert os.environ.get("CUPY_CACHE_IN_MEMORY") == ("1" if place == "/proc" else "0")


INSUFFICIENT = "cudaErrorInsufficientDriver: CUDA driver version is insufficient"  # said without a driver, too


@pytest.mark.parametrize(
    ("fault", "said", "driver", "message", "hint"),
    [
        ("count", INSUFFICIENT, 0, f"finds no CUDA device: {INSUFFICIENT}", "install NVIDIA's driver"),
        ("count", INSUFFICIENT, 12040, f"finds no CUDA device: {INSUFFICIENT}", "is of CUDA 12.4: install dfmst with"),
        (None, "", 13000, "finds no CUDA device", "or another machine"),
        ("nvrtc", "Failure finding libnvrtc", 13000, "needs NVRTC, CUDA's compiler: Failure finding", "'dfmst[cu13]'"),
    ],
)
def test_without_a_part_of_cuda(device, fault, said, driver, message, hint):
    cupy.cuda.driver_version[0] = driver
    if fault is None:
        cupy.cuda.devices[0] = 0
    else:
        setattr(cupy.cuda.faults, fault, said)
    with pytest.raises(EngineUnavailableError, match=message) as caught:
        dfmst.minimum_spanning_forest(TABLE, engine="cuda")
    assert hint in caught.value.hint


@pytest.mark.parametrize(
    ("name", "on_device", "found"),
    [("cuda", False, CudaEngine), ("auto", True, CudaEngine), ("auto", False, CpuEngine), ("cpu", True, CpuEngine)],
)
def test_select(device, name, on_device, found):
    engine = select_engine(name, on_device=on_device)
    assert isinstance(engine, found)
    assert (engine.name, engine.xp) == (("cuda", cupy) if found is CudaEngine else ("cpu", np))


@pytest.mark.parametrize(
    ("capability", "nvrtc", "needed"), [((6, 1), (12, 9), "7.0"), ((7, 0), (13, 0), "7.5"), ((7, 0), (12, 9), None)]
)
def test_an_old_gpu_is_refused_by_name(device, fresh, monkeypatch, capability, nvrtc, needed):
    cupy.cuda.capability[0] = capability
    monkeypatch.setattr(cupy.cuda.nvrtc, "getVersion", lambda: nvrtc)
    if needed is None:
        assert select_engine("cuda").name == "cuda"
        return
    found = ".".join(map(str, capability))
    message = f"needs a GPU of compute capability {needed}; the current one has {found}"
    with pytest.raises(EngineUnavailableError, match=message):
        select_engine("cuda")


# ---- launches -----------------------------------------------------------------------------------------------------


def test_grids_cover_the_count_and_stop_at_the_device(device):
    engine = CudaEngine()
    assert engine.threads == 2048
    for count in (1, 256, 257, 32768, 32769, 100_000):
        parent = engine.xp.arange(count, dtype=np.uint32)
        cupy.cuda.launches.clear()
        engine.launch("flatten", count, parent)
        ((name, launched, threads, _),) = cupy.cuda.launches
        assert (name, launched) == ("flatten", count)
        assert threads == min(-(-count // 256) * 256, 32768)
    cupy.cuda.launches.clear()
    engine.launch("flatten", 0, engine.xp.empty(0, np.uint32))
    assert cupy.cuda.launches == []


def test_each_device_gets_grids_of_its_own_size(device, fresh):
    """Flat kernels cover the device several times; those whose threads wait for each other fill it once."""
    cupy.cuda.devices[0], cupy.cuda.multiprocessors[:] = 2, [1, 3]
    edges = np.random.default_rng(0).integers(0, 9000, (3, 120_000))
    for number, size in ((0, 1), (1, 3), (0, 1)):
        with cupy.cuda.Device(number):
            engine = CudaEngine()
            cupy.cuda.launches.clear()
            engine.launch("flatten", 100_000, engine.xp.arange(100_000, dtype=np.uint32))
            dfmst.arrays.forest_rows(*map(engine.from_host, edges))
            threads = {name: launched for name, _, launched, _ in cupy.cuda.launches}
            assert (engine.threads, threads["flatten"]) == (2048 * size, 32_768 * size)
            assert threads["finish_records_i64"] == 2048 * size


def test_a_count_beyond_32_bits_reaches_the_device(device, monkeypatch):
    monkeypatch.setattr("tests.support.gpu.standin.cupy.modules.RawKernel.run", lambda *_: None)  # takes minutes
    engine, count = CudaEngine(), (1 << 32) + 5
    engine.launch("flatten", count, engine.xp.empty(1, np.uint32))
    engine.prepare("flatten", engine.xp.empty(1, np.uint32))(count)
    assert [launch[1:3] for launch in cupy.cuda.launches] == [(count, 32_768)] * 2


def test_a_kernel_is_compiled_once(device, fresh):
    engine = CudaEngine()
    parent = engine.xp.arange(3, dtype=np.uint32)
    for _ in range(3):
        engine.launch("flatten", 3, parent)
    assert (function_of.cache_info().misses, module_of.cache_info().misses) == (1, 1)
    engine.launch("halve_paths", 3, parent)
    assert (function_of.cache_info().misses, module_of.cache_info().misses) == (2, 1)


@pytest.mark.parametrize(
    ("column", "message"),
    [
        (np.arange(3, dtype=np.uint32), "is a ndarray on the host, not a CuPy array"),
        (cupy.arange(3, dtype=np.uint64), "is u64, not u32"),
        (cupy.arange(6, dtype=np.uint32)[::2], "is not contiguous"),
    ],
)
def test_other_columns_are_refused(device, column, message):
    with pytest.raises(TypeError, match=f"kernel flatten: parent {message}"):
        CudaEngine().launch("flatten", 3, column)


def test_numbers_beyond_32_bits_reach_kernels(device):
    engine = CudaEngine()
    code = engine.xp.empty(1, np.uint64)
    ends = engine.xp.full(1, 2**32 - 2, np.uint32), engine.xp.full(1, 2**32 - 1, np.uint32)
    engine.launch("pair_codes", 1, *ends, 2**32, code)
    assert int(code[0]) == (2**32 - 2) * 2**32 + 2**32 - 1


@pytest.mark.parametrize(
    ("fault", "said"),
    [
        ("launch", "CUDA_ERROR_LAUNCH_FAILED: unspecified launch failure"),
        ("compile", "nvrtc: error: invalid value for --gpu-architecture"),
    ],
)
def test_what_fails_names_the_kernel(device, fresh, fault, said):
    engine = CudaEngine()
    setattr(cupy.cuda.faults, fault, said)
    with pytest.raises(DeviceError, match=f"kernel flatten failed on the GPU: {said}"):
        engine.launch("flatten", 3, engine.xp.arange(3, dtype=np.uint32))


@pytest.mark.parametrize(("value", "synchronous"), [("1", True), ("0", False), ("", False), (None, False)])
def test_the_environment_makes_launches_wait(device, monkeypatch, value, synchronous):
    monkeypatch.delenv("DFMST_CUDA_SYNC", raising=False)
    if value is not None:
        monkeypatch.setenv("DFMST_CUDA_SYNC", value)
    engine = CudaEngine()
    assert engine.synchronous is synchronous
    cupy.cuda.faults.synchronize = "cudaErrorIllegalAddress: an illegal memory access was encountered"
    parent = engine.xp.arange(3, dtype=np.uint32)
    if not synchronous:
        engine.launch("flatten", 3, parent)
        return
    with pytest.raises(DeviceError, match="kernel flatten failed on the GPU: cudaErrorIllegalAddress"):
        engine.launch("flatten", 3, parent)


def test_a_fault_that_shows_later_is_named_too(device):
    engine = CudaEngine()
    with pytest.raises(DeviceError, match="the GPU failed: cudaErrorIllegalAddress") as caught, engine.guard():
        raise cupy.cuda.runtime.CUDARuntimeError("cudaErrorIllegalAddress")
    assert "DFMST_CUDA_SYNC=1" in caught.value.hint


def test_guard_lets_other_errors_through(device):
    engine = CudaEngine()
    with pytest.raises(CapacityError, match="mine"), engine.guard():
        raise CapacityError("mine")
    with pytest.raises(KeyError), engine.guard():
        raise KeyError("x")


def test_a_launch_is_checked_once_for_columns_of_the_same_types(device, fresh, monkeypatch):
    engine, checked = CudaEngine(), list[str]()

    def checking(kernel, arguments):
        checked.append(kernel)
        return bind(kernel, arguments)

    monkeypatch.setattr("dfmst._engines.cuda.bind", checking)
    for length in (3, 5, 7):
        engine.launch("flatten", length, engine.xp.arange(length, dtype=np.uint32))
    assert checked == ["flatten"]
    code = engine.xp.empty(3, np.uint64)
    for ends in (engine.xp.arange(3, dtype=np.uint32),) * 2:
        engine.launch("pair_codes", 3, ends, ends, 2**40, code)
    assert checked == ["flatten", "pair_codes"]
    for wrong in (engine.xp.arange(6, dtype=np.uint32)[::2], engine.xp.arange(3, dtype=np.uint64), 7):
        with pytest.raises(TypeError, match=r"kernel pair_codes: target (is|must)"):  # as `bind` says
            engine.launch("pair_codes", 3, ends, wrong, 2**40, code)


def test_a_green_context_gets_a_smaller_grid(device, fresh):
    """Threads that wait for each other must all run: the driver refuses a grid of more than it grants."""
    edges = [cupy.asarray(column) for column in np.random.default_rng(0).integers(0, 500, (3, 20_000))]
    expected = dfmst.arrays.forest_rows(*edges)
    bound_kernels.cache_clear()
    cupy.cuda.granted[0] = 3
    cupy.cuda.launches.clear()
    rows: Any = dfmst.arrays.forest_rows(*edges)
    assert rows.tolist() == expected.tolist()
    threads = {name: threads for name, _, threads, _ in cupy.cuda.launches}
    assert threads["finish_records_i64"] == 2 * 256
    cupy.cuda.granted[0] = None
    bound_kernels.cache_clear()


# ---- memory -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("algorithm", ["auto", "boruvka", "filter-kruskal", "pma", "mastiff"])
def test_out_of_memory(device, algorithm):
    edges = tuple(cupy.asarray(column) for column in np.random.default_rng(0).integers(0, 500, (3, 20_000)))
    pool = cupy.get_default_memory_pool()
    gc.collect()  # columns of earlier tests would be freed during the call
    dfmst.release_memory()
    pool.free_all_blocks()
    pool.set_limit(pool.used_bytes() + 100_000)
    with pytest.raises(CapacityError) as caught:
        dfmst.arrays.forest_rows(*edges, algorithm=algorithm)
    message = str(caught.value)
    assert "the GPU is out of memory: " in message
    needed = int(message.split("of memory: ")[1].split(" more bytes")[0].replace(",", ""))
    free = int(message.split("at once; now ")[1].split(" of ")[0].replace(",", ""))
    assert free > 0
    assert 0 < needed <= 20_000 * 16
    assert "dfmst.stream" in caught.value.hint
    assert "Dask" in caught.value.hint
    pool.set_limit(0)
    assert len(dfmst.arrays.forest_rows(*edges, algorithm=algorithm)) == 499


def test_an_error_that_someone_holds_keeps_no_columns(device):
    engine, pool = CudaEngine(), cupy.get_default_memory_pool()

    def work() -> None:
        column = engine.xp.zeros(1000, np.uint64)
        raise MemoryError(f"allocate {column.nbytes} bytes")

    before = pool.used_bytes()
    with pytest.raises(CapacityError) as caught, engine.guard():
        work()
    assert (pool.used_bytes(), isinstance(caught.value.__cause__, MemoryError)) == (before, True)


@pytest.mark.parametrize(
    ("size", "needed"),
    [(" (failed to allocate 64 bytes)", "64 "), (" (failed to allocate 1.500000 GiB)", "1,610,612,736 "), ("", "")],
)
def test_out_of_memory_in_the_words_of_rmm(device, size, needed):
    with pytest.raises(CapacityError, match=f"memory: {needed}more bytes were needed"), CudaEngine().guard():
        raise MemoryError(f"std::bad_alloc: out_of_memory: CUDA error{size} at: ...")


@pytest.mark.parametrize(
    "message", ["cudaErrorMemoryAllocation: out of memory", "CUDA_ERROR_OUT_OF_MEMORY: out of memory"]
)
def test_memory_that_no_pool_hands_out(device, fresh, message):
    """CuPy raises no MemoryError for its raw allocator, for pinned memory and for the code of kernels."""
    engine = CudaEngine()
    error = cupy.cuda.runtime.CUDARuntimeError(message)
    with pytest.raises(CapacityError, match="the GPU is out of memory: more bytes were needed"), engine.guard():
        raise error
    cupy.cuda.faults.launch = message
    with pytest.raises(CapacityError, match="the GPU is out of memory"):
        engine.launch("flatten", 3, engine.xp.arange(3, dtype=np.uint32))


def test_a_stream_without_pinned_memory_is_out_of_memory(device):
    cupy.cuda.faults.pinned = "cudaErrorMemoryAllocation: out of memory"
    table = pa.table({"source": [0, 1, 0], "target": [1, 2, 2], "weight": [3.0, 1.0, 2.0]})
    with pytest.raises(CapacityError, match="the GPU is out of memory"):
        dfmst.stream.minimum_spanning_forest([table], engine="cuda")


# ---- sorts, copies, steps -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("bits", [0, 1, 7, 31, 32])
@pytest.mark.parametrize("length", [0, 1, 1000])
def test_sort_is_stable_by_the_leading_bits_alone(device, bits, length):
    rng = np.random.default_rng(bits)
    payload = rng.permutation(length).astype(np.uint64)
    records = rng.integers(0, 1 << min(bits, 5), length).astype(np.uint64) << np.uint64(32 + max(0, bits - 5)) | payload
    engine = CudaEngine()
    found = engine.sort_records(engine.from_host(records), bits)
    expected = CpuEngine(1).sort_records(records.copy(), bits)
    np.testing.assert_array_equal(engine.to_host(found), expected)


def test_sequential_kernels_run_on_the_host(device):
    engine = CudaEngine()
    ends = engine.from_host(np.array([0 << 32 | 1, 1 << 32 | 2], np.uint64))
    parent, size = engine.xp.arange(3, dtype=np.uint32), engine.xp.ones(3, np.uint32)
    link = engine.xp.full(3, 2**64 - 1, np.uint64)
    cycle = engine.xp.full(1, 2**64 - 1, np.uint64)
    cupy.cuda.launches.clear()
    cupy.traffic.reset()
    engine.launch_alone("link_trees", ends, 2, parent, size, link, cycle, 3, None, None, None, None)
    assert cupy.cuda.launches == []
    assert cupy.traffic.to_host == [16, 12, 12, 24, 8]
    assert cupy.traffic.to_device == [12, 12, 24, 8]  # `ends` is only read
    assert engine.to_host(size).max() == 3


def test_the_stand_in_refuses_what_a_gpu_would(device):
    column = cupy.arange(3)
    for silent in (lambda: np.asarray(column), lambda: column + np.arange(3), lambda: np.add(column, 1)):
        with pytest.raises(TypeError):
            silent()
    with pytest.raises(TypeError):
        iter(column)
    with pytest.raises(ValueError, match="translation unit"):
        cupy.RawModule(code="int main() {}", options=())
