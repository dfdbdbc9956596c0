"""What the kernels expand to for CUDA takes every index once, beyond 2^31 and 2^32 too (``cuda_on_host.cpp``)."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
import sanitize

SOURCE = Path(__file__).resolve().parents[3] / "tests" / "sanitizers" / "cuda_on_host.cpp"

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(sanitize.missing() is not None, reason=str(sanitize.missing())),
    pytest.mark.skipif(sys.maxsize < 2**40, reason="needs 64 bits of address space"),
]


def test_indices(tmp_path):
    program = sanitize.build(SOURCE, tmp_path / "cuda_on_host", "undefined")
    done = subprocess.run([program], capture_output=True, text=True, timeout=300)
    assert (done.returncode, done.stdout) == (0, "every index came out right\n"), done
