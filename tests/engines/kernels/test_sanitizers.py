"""The kernels read and write where they should, and no two threads race (see tests/sanitizers/sanitize.py)."""

from __future__ import annotations

import pytest
import sanitize

pytestmark = [
    pytest.mark.slow(seconds=100),
    pytest.mark.skipif(sanitize.missing() is not None, reason=str(sanitize.missing())),
]


@pytest.mark.parametrize("name", sanitize.RUNS)
def test_kernels_are_clean(name, tmp_path):
    done = sanitize.RUNS[name](tmp_path)
    assert done.returncode == 0, done.stdout[-20_000:]


OVERRUN = 'extern "C" void fault(int* p, long at) { p[at] = 1; }\n'
OVERFLOW = 'extern "C" void fault(int* p, long at) { p[0] = 0x7fffffff; p[0] += (int)at; }\n'
CALL = """
import ctypes, os
import numpy as np
np.zeros(100, np.int32)  # its memory may serve again
column = np.zeros(100, np.int32)
ctypes.CDLL(os.environ["DFMST_KERNELS"]).fault(ctypes.c_void_p(column.ctypes.data), ctypes.c_long(100))
"""
RACE = """
#include <thread>
int shared;
int main() {
  std::thread other([] { ++shared; });
  ++shared;
  other.join();
}
"""


@pytest.mark.parametrize(
    ("text", "report"),
    [(OVERRUN, "AddressSanitizer: heap-buffer-overflow"), (OVERFLOW, "runtime error: signed integer overflow")],
)
def test_a_bad_access_is_seen(text, report, tmp_path):
    source = tmp_path / "fault.cpp"
    source.write_text(text)
    done = sanitize.python(sanitize.build(source, tmp_path / "fault.so", "address,undefined"), CALL)
    assert done.returncode != 0
    assert report in done.stdout


def test_a_race_is_seen(tmp_path):
    source = tmp_path / "race.cpp"
    source.write_text(RACE)
    done = sanitize.program(sanitize.build(source, tmp_path / "race", "thread"))
    assert done.returncode != 0
    assert "ThreadSanitizer: data race" in done.stdout
