"""Every example in a docstring of the installed package runs and gives what it says."""

from __future__ import annotations

import doctest
import pkgutil

import pytest

import dfmst
from tests.packaging.test_public_names import public_module

MODULES = ["dfmst", *sorted(module.name for module in pkgutil.walk_packages(dfmst.__path__, "dfmst."))]
OPTIONS = doctest.NORMALIZE_WHITESPACE | doctest.ELLIPSIS


# The compiled kernels are a library, not a module of Python.
@pytest.mark.parametrize("name", [name for name in MODULES if not name.rpartition(".")[2].startswith("_kernels")])
def test_examples(name, capsys, monkeypatch, tmp_path):
    module = public_module(name)
    monkeypatch.chdir(tmp_path)  # examples may write files
    failed, _ = doctest.testmod(module, optionflags=OPTIONS)
    assert not failed, capsys.readouterr().out
