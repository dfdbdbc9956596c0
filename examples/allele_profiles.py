"""Outbreaks among bacterial isolates: profiles of alleles with gaps, clusters at several thresholds, names that last.

A profile has the number of an allele at each of 400 genes; 0 is a gap, a gene that was not found. The distance of two
isolates is the number of genes that differ, of those found in both. Of equal distances the pair with fewer gaps comes
first in the tree.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import numpy as np

try:
    import pandas as pd
except ModuleNotFoundError as error:
    sys.exit(f"{error}: pip install pandas")


import dfmst

ISOLATES, GENES, FAMILIES, LINEAGES = 240, 400, 4, 12
THRESHOLDS = [4, 15, 70]


def draw_profiles(rng: np.random.Generator) -> pd.DataFrame:
    """Profiles in random order: each isolate descends from another one of its lineage."""
    fresh = iter(range(2, 10**6))  # numbers of alleles that nobody had before

    def mutated(profile: np.ndarray, count: int) -> np.ndarray:
        child = profile.copy()
        child[rng.choice(GENES, count, replace=False)] = [next(fresh) for _ in range(count)]
        return child

    families = [mutated(np.ones(GENES, np.int64), 60) for _ in range(FAMILIES)]
    lineages = [[mutated(families[lineage % FAMILIES], 20)] for lineage in range(LINEAGES)]
    profiles = []
    for lineage in rng.integers(0, LINEAGES, ISOLATES):
        parent = lineages[lineage][rng.integers(0, len(lineages[lineage]))]
        lineages[lineage].append(mutated(parent, int(rng.poisson(2.5))))
        profiles.append(lineages[lineage][-1])
    table = np.stack(profiles)
    table[rng.random(table.shape) < rng.choice([0.005, 0.08], (ISOLATES, 1), p=[0.8, 0.2])] = 0
    names = [f"isolate {number:03}" for number in range(ISOLATES)]
    return pd.DataFrame(rng.permutation(table), index=rng.permutation(names))


def distance_table(profiles: pd.DataFrame) -> pd.DataFrame:
    """All pairs of isolates: genes that differ, and genes that one of the two lacks."""
    alleles, names = profiles.to_numpy(), profiles.index.to_numpy()
    tables = []
    for place in range(len(alleles) - 1):
        others = alleles[place + 1 :]
        both = (alleles[place] > 0) & (others > 0)
        tables.append(
            pd.DataFrame(
                {
                    "source": names[place],
                    "target": names[place + 1 :],
                    "differences": ((alleles[place] != others) & both).sum(axis=1),
                    "gaps": GENES - both.sum(axis=1),
                }
            )
        )
    return pd.concat(tables, ignore_index=True)


def main(folder: Path) -> Any:
    folder.mkdir(parents=True, exist_ok=True)
    profiles = draw_profiles(np.random.default_rng(11))
    pairs = distance_table(profiles)
    tree = dfmst.minimum_spanning_forest(pairs, weight=["differences", "gaps"])
    (folder / "allele_profiles.nwk").write_text(dfmst.newick(tree, weight="differences"), encoding="utf-8")
    print(f"{len(tree)} links of {len(pairs):,} pairs, of {tree.differences.mean():.1f} differences")

    # Last month's clusters, then those of all isolates under last month's names.
    earlier = set(profiles.index[: ISOLATES * 2 // 3])
    before = dfmst.clusters(
        pairs[pairs.source.isin(earlier) & pairs.target.isin(earlier)], weight="differences", distance=THRESHOLDS
    )
    after = dfmst.clusters(tree, weight="differences", distance=THRESHOLDS, previous=before)
    for threshold in THRESHOLDS:
        earlier_count, count = (labels[f"d{threshold}"].nunique() for labels in (before, after))
        print(f"up to {threshold} differences: {earlier_count} clusters, then {count}")

    column = f"d{THRESHOLDS[0]}"
    fresh = dfmst.clusters(tree, weight="differences", distance=THRESHOLDS[:1]).rename(columns={"cluster": column})
    _, events = dfmst.relabel(fresh[["vertex", column]], before[["vertex", column]])
    print(events[events.event.isin(["merged", "split"])].to_string(index=False))
    after.to_csv(folder / "allele_profiles.csv", index=False)
    return before, after, fresh


if __name__ == "__main__":
    main(Path(sys.argv[1] if len(sys.argv) > 1 else "."))
