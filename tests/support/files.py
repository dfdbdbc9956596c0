"""Graph files that a test writes, and what is read of them."""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pyarrow as pa
import pytest

from dfmst.errors import DfmstError
from dfmst.formats import open_edges


def read(text: str | bytes, name: str = "edges.txt", /, format: str | None = None, **options: Any) -> pa.Table:
    """Write a file, read it, and hold what was read to be well formed."""
    with TemporaryDirectory() as folder:
        path = Path(folder) / name
        path.write_bytes(text.encode() if isinstance(text, str) else text)
        table = open_edges(path, format, **options).read_all()
    table.validate(full=True)
    return table


def read_columns(text: str | bytes, name: str = "edges.txt", /, **options: Any) -> dict[str, list[Any]]:
    """Write a file, and return the columns that are read."""
    columns: dict[str, list[Any]] = read(text, name, **options).to_pydict()
    return columns


def refusal(text: str | bytes, name: str = "edges.txt", /, **options: Any) -> str:
    """Write a file, and return the error that names it, without its folder, and the hint."""
    with pytest.raises(DfmstError) as caught:
        read(text, name, **options)
    start, _, end = str(caught.value).partition(f"/{name}")
    assert "/" in start
    return name + end
