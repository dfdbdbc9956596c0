"""The examples in the docstrings."""

from __future__ import annotations

import doctest
import importlib
import pkgutil

import pytest

import dfmst.formats

MODULES = [f"dfmst.formats.{module.name}" for module in pkgutil.iter_modules(dfmst.formats.__path__)]


@pytest.mark.parametrize("name", MODULES)
def test_examples(name: str) -> None:
    assert doctest.testmod(importlib.import_module(name)).failed == 0
