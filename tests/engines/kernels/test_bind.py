"""What a launch refuses, and in which words."""

from __future__ import annotations

import numpy as np
import pytest

from dfmst._engines import CpuEngine
from dfmst._engines.kernels import bind

U32, U64 = np.zeros(4, np.uint32), np.zeros(4, np.uint64)


def frozen(column):
    column = column.copy()
    column.flags.writeable = False
    return column


def misaligned(dtype):
    return np.zeros(4 * np.dtype(dtype).itemsize + 1, np.uint8)[1:].view(dtype)


@pytest.mark.parametrize(
    ("kernel", "arguments", "variant"),
    [
        ("flatten", (U32,), "flatten"),
        ("sample_labels", (U32, 4, 4, U32, 4, U32), "sample_labels_u32"),
        ("sample_labels", (U64, 4, 4, U32, 4, U32), "sample_labels_u64"),
        ("gather_keys", (np.zeros(4, np.float32), 0, None, U32), "gather_keys_f32"),
        ("gather_keys", (np.zeros(4, np.int64), 0, U32, U64), "gather_keys_i64"),
        ("lightest_edges", (U32, U32, U64, U32, U64), "lightest_edges_u64"),
        ("gather_rows", (U32, None, U32), "gather_rows"),
        ("sample_labels", (frozen(U32), 4, 4, U32, 4, U32), "sample_labels_u32"),
        # C's long long is int64's twin; NumPy keeps the two types apart.
        ("gather_keys", (np.zeros(4, np.longlong), 0, None, np.zeros(4, np.ulonglong)), "gather_keys_i64"),
    ],
)
def test_variant(kernel, arguments, variant):
    name, signature = bind(kernel, arguments)
    assert name == variant
    assert signature.name == kernel


@pytest.mark.parametrize(
    ("kernel", "arguments", "message"),
    [
        ("flatten", (), "kernel flatten takes 1 arguments, not 0"),
        ("flatten", (U64,), "kernel flatten: parent is u64, not u32"),
        ("flatten", (7,), "kernel flatten: parent must be an array"),
        ("flatten", (np.zeros(8, np.uint32)[::2],), "kernel flatten: parent is not contiguous"),
        ("flatten", (misaligned(np.uint32),), "kernel flatten: parent is not aligned"),
        ("flatten", (frozen(U32),), "kernel flatten: parent is read-only, and the kernel writes to it"),
        ("flatten", (U32.astype(">u4"),), "kernel flatten: parent is >u4, not u32"),
        ("sample_labels", (np.zeros(4, np.int64), 4, 4, U32, 4, U32), "id is i64; it must be one of u32, u64"),
        ("sample_labels", (U32, 4.0, 4, U32, 4, U32), "kernel sample_labels: step is a float, not an int"),
        ("sample_labels", (U32, np.uint64(4), 4, U32, 4, U32), "kernel sample_labels: step is a uint64, not an int"),
        ("sample_labels", (U32, None, 4, U32, 4, U32), "kernel sample_labels: step is a NoneType, not an int"),
        ("sample_labels", (U32, U32, 4, U32, 4, U32), "kernel sample_labels: step is a ndarray, not an int"),
        ("sample_labels", (None, 4, 4, U32, 4, U32), "kernel sample_labels: None in place of every column of its type"),
        ("gather_keys", (None, 0, None, U32), "kernel gather_keys: None in place of every column of its type"),
        ("gather_keys", (np.zeros(4), 0, None, U32), "kernel gather_keys: key is u32, not u64"),
        ("gather_keys", (np.zeros(4, np.float16), 0, None, U32), "weight is float16; it must be one of i32, u32, f32"),
        ("pack_ends", (U32, U64, None, U64), "kernel pack_ends: target is u64, not u32"),
    ],
)
def test_refused(kernel, arguments, message):
    with pytest.raises(TypeError) as caught:
        CpuEngine(1).launch(kernel, 0, *arguments)
    assert message in str(caught.value)
