"""Rules for the claims of a paper; the verdict on a figure follows from them alone."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import combinations, pairwise


def falls(values: Sequence[float]) -> bool:
    """Every value is below the one before."""
    return all(after < before for before, after in pairwise(values))


def rises(values: Sequence[float]) -> bool:
    """Every value is above the one before."""
    return all(after > before for before, after in pairwise(values))


def steady(values: Sequence[float], factor: float = 1.25) -> bool:
    """No value is more than `factor` times another."""
    return max(values) <= factor * min(values)


def within(values: Iterable[float], low: float, high: float) -> bool:
    """All values are in a closed range."""
    return all(low <= value <= high for value in values)


def same_order(ours: Mapping[str, float], published: Mapping[str, float]) -> bool:
    """Values that differ in the paper have the same order here."""
    pairs = ((a, b) if published[a] < published[b] else (b, a) for a, b in combinations(published, 2))
    return all(ours[less] < ours[more] for less, more in pairs if published[less] != published[more])


def fastest(name: str, curves: Mapping[str, Sequence[float]]) -> bool:
    """No other curve is below this one at any point."""
    others = [curve for other, curve in curves.items() if other != name]
    return all(mine <= value for curve in others for mine, value in zip(curves[name], curve, strict=True))
