"""Narwhals, loaded at its first use: frames of pandas and Arrow are read without it, and it takes 60 ms to load."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

__all__ = ["nw"]


class _Later:
    """A module that is imported when something is asked of it.

    Parameters
    ----------
    name
        The module's name.
    """

    def __init__(self, name: str) -> None:
        self._name = name

    def __getattr__(self, name: str) -> Any:
        value = getattr(import_module(self._name), name)
        setattr(self, name, value)
        return value


if TYPE_CHECKING:
    import narwhals.stable.v2 as nw
else:
    nw = _Later("narwhals.stable.v2")
