"""Tables with groups, rows to keep or drop and keys of several columns, and calls that use them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

import dfmst

ROWS = 300
TWO = {"source": ["a", "k"], "target": ["b", "m"]}
CALLS: dict[str, dict[str, Any]] = {
    "integers": {"by": "day"},
    "floats": {"by": "level"},
    "texts": {"by": "kind", "maximum": True},
    "two groups": {"by": ["kind", "level"], "weight": "w"},
    "keep": {"keep": "built"},
    "keep floats": {"keep": "built", "weight": "w", "maximum": True},
    "keep unsigned": {"keep": "built", "weight": "u", "maximum": True},
    "drop": {"drop": "closed", "weight": None},
    "keep and drop": {"keep": "built", "drop": "closed", "weight": None},
    "all": {"by": ["day", "kind"], "keep": "built", "drop": "closed", **TWO, "weight": ["weight", "w"]},
    "ids": TWO,
    "text ids": {"by": "day", "source": "k", "target": "m"},
    "weights": {"weight": ["weight", "w"], "maximum": True},
    "ids and weights": {**TWO, "weight": ["w", "weight"], "keep": "built"},
    "one each": {"source": ["a"], "target": ["b"], "weight": ["w"]},
}


def frame(seed: int, keep: bool, **names: Any) -> pd.DataFrame:
    """Draw edges; the rows to keep have no cycle in any call, and the rows to drop are others."""
    rng = np.random.default_rng(seed)
    ends = rng.integers(0, 15, (2, ROWS))
    table = pd.DataFrame({"a": ends[0], "b": ends[1]})
    table["k"], table["m"] = (rng.choice(["", "x", "x1"], ROWS) for _ in range(2))
    table["weight"] = rng.integers(-4, 5, ROWS)
    table["w"] = rng.integers(-3, 3, ROWS).astype(np.float32) / 2
    table["u"] = rng.integers(0, 4, ROWS).astype(np.uint64)
    table["day"] = rng.integers(-1, 4, ROWS)
    table["level"] = rng.choice([0.0, -0.0, 0.5, np.nan], ROWS)
    table["kind"] = rng.choice(np.array(["x", "x1", None], object), ROWS)
    built = dfmst.spanning_forest(table.iloc[::9], names.get("source", "a"), names.get("target", "b"))
    table["built"] = table.index.isin(built.index) if keep else False
    table["closed"] = (rng.random(ROWS) < 0.2) & ~table["built"]
    return table.set_index(pd.Index(np.arange(ROWS) * 2, name="row"))
