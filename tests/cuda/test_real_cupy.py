"""The real CuPy without a GPU: its wheel is installed into a folder of its own, and runs on a driver made for tests."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.gpu.driver import redirect

pytestmark = pytest.mark.slow(seconds=120)

ROOT = Path(__file__).parents[2]
WHEELS = ["cupy-cuda13x>=14", "cuda-pathfinder", "nvidia-cuda-runtime", "nvidia-cuda-crt", "nvidia-cuda-nvrtc"]


@pytest.fixture(scope="module")
def environment(tmp_path_factory):
    """Variables of a process that finds CuPy and the driver."""
    if not sys.platform.startswith("linux") or os.uname().machine != "x86_64":
        pytest.skip("the driver is for Linux on x86-64")
    if missing := [tool for tool in ("cc", "nm") if shutil.which(tool) is None]:
        pytest.skip(f"needs {missing[0]}, to build the driver")
    folder = tmp_path_factory.mktemp("cupy")
    pip = [sys.executable, "-m", "pip", "install", "-q", "--no-compile", "--no-deps", "--only-binary", ":all:"]
    done = subprocess.run([*pip, "--target", str(folder), *WHEELS], capture_output=True, text=True, check=False)
    if done.returncode:
        pytest.skip(f"CuPy's wheel cannot be installed: {(done.stderr.strip().splitlines() or ['pip failed'])[-1]}")
    headers = next(folder.rglob("cuda_runtime_api.h")).parent
    redirect.library(headers, folder)
    nvrtc = next(folder.rglob("libnvrtc.so.*")).parent
    path = os.pathsep.join(map(str, (folder, nvrtc)))
    # Tests alone are on the path: dfmst is the installed package, since that of the sources has no compiled kernels.
    (folder / "tests").symlink_to(ROOT / "tests")
    return {**os.environ, "LD_LIBRARY_PATH": path, "PYTHONPATH": str(folder)}


def run(environment, *arguments):
    command = [sys.executable, "-m", "pytest", "-q", "-p", "tests.support.gpu.driver.plugin", "-p", "no:cacheprovider"]
    done = subprocess.run(
        [*command, *arguments], cwd=ROOT, env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout[-6000:] + done.stderr[-3000:]
    (passed,) = re.findall(r"(\d+) passed", done.stdout)
    return int(passed), done.stdout


def test_tests_for_a_gpu_pass(environment):
    """Kernels of dfmst run in the CPU's library, CuPy's own as PTX: the shapes of graphs make no difference to it."""
    files = ("tests/cuda/test_device.py", "tests/cuda/test_filter_boruvka.py")
    passed, reported = run(environment, "-m", "gpu", "-k", "not test_shapes", *files)
    assert passed > 80, reported


def test_memory_devices_streams_and_launches(environment):
    assert run(environment, "tests/support/gpu/driver/check_cupy.py", "tests/cuda/test_contract.py")[0] >= 30


def test_kernels_as_ptx_between_those_of_cupy(environment):
    here = {**environment, "DFMST_TEST_PTX": "1"}
    chosen = ("tests/support/gpu/driver/check_cupy.py", "-k", "few_launches or denormal or green")
    assert run(here, *chosen)[0] >= 3
