"""What a published claim says of numbers, as rules: a figure's verdict follows from them alone."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import combinations, pairwise

__all__ = ["falls", "fastest", "rises", "same_order", "steady", "within"]


def falls(values: Sequence[float]) -> bool:
    """Every value lies below the one before."""
    return all(after < before for before, after in pairwise(values))


def rises(values: Sequence[float]) -> bool:
    """Every value lies above the one before."""
    return all(after > before for before, after in pairwise(values))


def steady(values: Sequence[float], factor: float = 1.25) -> bool:
    """No value is more than `factor` times another."""
    return max(values) <= factor * min(values)


def within(values: Iterable[float], low: float, high: float) -> bool:
    """All values lie in a closed range."""
    return all(low <= value <= high for value in values)


def same_order(ours: Mapping[str, float], published: Mapping[str, float]) -> bool:
    """What the paper tells apart comes in the same order here."""
    pairs = ((a, b) if published[a] < published[b] else (b, a) for a, b in combinations(published, 2))
    return all(ours[less] < ours[more] for less, more in pairs if published[less] != published[more])


def fastest(name: str, curves: Mapping[str, Sequence[float]]) -> bool:
    """No other curve lies below this one at any point."""
    others = [curve for other, curve in curves.items() if other != name]
    return all(mine <= value for curve in others for mine, value in zip(curves[name], curve, strict=True))
