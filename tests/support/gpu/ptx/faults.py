"""Faults that tests sow into the text of kernels, and whether running the PTX shows them."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from dfmst._engines.kernels import translation_units
from tests.support.gpu.ptx.memory import Fault
from tests.support.gpu.ptx.modules import Card

#: Seeds of the orders in which threads go on.
SCHEDULES = (None, 1, 2)


def sown(right: str, wrong: str) -> Callable[[str], str]:
    """An edit of the kernels' text, in which the right text must be."""
    assert any(right in text for text in translation_units().values()), right
    return lambda text: text.replace(right, wrong)


def is_found(
    is_right: Callable[[Card], bool], edit: Callable[[str], str], seeds: Iterable[int | None] = SCHEDULES
) -> bool:
    """Whether a schedule comes out wrong, faults, never ends, or fails a check of dfmst."""
    for seed in seeds:
        try:
            if not is_right(Card(seed=seed, edit=edit)):
                return True
        except (Fault, RuntimeError, IndexError):
            return True
    return False
