"""The same questions on a GPU; `bench/gpu_session.py` runs these scripts."""

from __future__ import annotations

from importlib import import_module
from typing import Any

LEFT_OUT = 77  # exit code, as bench/gpu_session.py knows it


def require(*names: str) -> list[Any]:
    """Import libraries; if one is missing, end with `LEFT_OUT`."""
    try:
        return [import_module(name) for name in names]
    except ImportError as error:
        print(f"left out: {error}")
        raise SystemExit(LEFT_OUT) from None
