"""Real graphs beside the repository (../shared/data), for tests that skip where the folder is absent."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

import numpy as np
import pytest

SHARED = Path(__file__).resolve().parents[3] / "shared"


class SharedGraph(NamedTuple):
    """Dense ends and weights of a graph's rows."""

    source: np.ndarray
    target: np.ndarray
    weight: np.ndarray
    vertices: int


def hash24(source: np.ndarray, target: np.ndarray) -> np.ndarray:
    """The manifest's derived weight: a hash of both ends, 24 bits."""
    a = np.minimum(source, target).astype(np.uint64)
    b = np.maximum(source, target).astype(np.uint64)
    x = a * np.uint64(0x9E3779B97F4A7C15) + b * np.uint64(0xBF58476D1CE4E5B9)
    x ^= x >> np.uint64(31)
    x *= np.uint64(0x94D049BB133111EB)
    x ^= x >> np.uint64(29)
    return ((x >> np.uint64(40)) + np.uint64(1)).astype(np.int64)


def read_shared(name: str, derived: bool = False) -> SharedGraph:
    """Read a graph, with its own or the derived weights; skip the test where it is absent."""
    parquet = pytest.importorskip("pyarrow.parquet")
    path = SHARED / "data" / f"{name}.parquet"
    if not path.exists():
        pytest.skip(f"no {name}: the folder ../shared/data is not beside the repository")
    table = parquet.read_table(path)
    ends = [table[column].to_numpy() for column in ("src", "dst")]
    ids, dense = np.unique(np.concatenate(ends), return_inverse=True)
    source, target = dense.astype(np.uint32).reshape(2, -1)
    return SharedGraph(source, target, hash24(*ends) if derived else table["weight"].to_numpy(), len(ids))
