"""Hashes of ids: the same in every process, whatever the layout of the column."""

from __future__ import annotations

from typing import Any

import pyarrow as pa

from dfmst._common.types import Array
from dfmst._edges import dictionary as columns
from dfmst._edges.arrow_values import whole_ids
from dfmst._engines import CpuEngine


def id_words(ids: Any) -> Array:
    """Return a number of 64 bits for each id: an integer's own, else a hash of its bytes."""
    whole = whole_ids(ids) if isinstance(ids, pa.ChunkedArray) else ids
    words = columns.id_words(columns.plain(whole)).hashed(CpuEngine(threads=1), 0, len(whole))
    assert words.word is not None
    return words.word
