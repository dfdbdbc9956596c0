"""Every algorithm says where it departs from the paper that it is named after."""

from __future__ import annotations

import inspect

import pytest

from dfmst.algorithms import REGISTRY


@pytest.mark.parametrize("name", REGISTRY)
def test_differences_from_the_paper(name):
    notes = inspect.getdoc(REGISTRY[name]).split("\nNotes\n-----\n")[1]
    section = notes.split("**Differences from the paper**\n\n")[1]
    assert section.startswith("* ")
    assert len(section.split("\n\n")[0]) > 80
