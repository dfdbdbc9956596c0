"""Groups of galaxies by friends-of-friends: all galaxies that steps of at most a linking length join.

The catalogue is a periodic cube of space (`box=`). One tree of its points has the groups of every linking length: its
edges up to that length.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

try:
    import matplotlib
    import pandas as pd
except ModuleNotFoundError as error:
    sys.exit(f"{error}: pip install matplotlib pandas")

import numpy as np

import dfmst

matplotlib.use("Agg")
from matplotlib import pyplot

SIDE = 100.0  # of the cube, Mpc
HALOS, FIELD = 250, 4_000  # groups that are drawn, and galaxies between them
SHARES = [0.1, 0.2, 0.3]  # linking lengths, in mean distances between galaxies


def draw_catalogue(rng: np.random.Generator) -> pd.DataFrame:
    """Positions in Mpc and magnitudes; `halo` is the truth, -1 between the groups."""
    members = np.minimum(10 + rng.pareto(1.2, HALOS) * 10, 400).astype(np.int64)
    halo = np.repeat(np.arange(HALOS), members)
    spread = 0.12 * members ** (1 / 3)  # larger groups are wider
    position = rng.random((HALOS, 3))[halo] * SIDE + rng.normal(size=(len(halo), 3)) * spread[halo, None]
    position = np.concatenate([position, rng.random((FIELD, 3)) * SIDE]) % SIDE
    table = pd.DataFrame(position, columns=["x", "y", "z"])
    return table.assign(halo=np.r_[halo, np.full(FIELD, -1)], magnitude=rng.normal(19, 1, len(table)))


def main(folder: Path) -> Any:
    folder.mkdir(parents=True, exist_ok=True)
    galaxies = draw_catalogue(np.random.default_rng(5))
    separation = SIDE / len(galaxies) ** (1 / 3)
    lengths = [share * separation for share in SHARES]

    tree = dfmst.euclidean_forest(galaxies, ["x", "y", "z"], box=SIDE)
    groups = dfmst.clusters(tree, weight="distance", distance=lengths, vertices=galaxies.index)
    groups.columns = ["galaxy", *(f"b{share}" for share in SHARES)]
    for share in SHARES:
        sizes = groups[f"b{share}"].value_counts()
        rich = sizes[sizes >= 10]
        print(f"up to {share * separation:.2f} Mpc: {len(rich)} groups of ten and more, the largest of {rich.max()}")

    found = galaxies.assign(group=groups["b0.2"])
    rich = found[found.groupby("group").group.transform("size") >= 10]
    summary = rich.groupby("group").agg(
        members=("halo", "size"),
        brightest=("magnitude", "min"),
        purity=("halo", lambda halo: halo.value_counts().iloc[0] / len(halo)),
    )
    print(summary.nlargest(5, "members").to_string())

    _, axes = pyplot.subplots(figsize=(7, 7))
    axes.scatter(galaxies.x, galaxies.y, s=0.3, color="0.7")
    axes.scatter(rich.x, rich.y, s=1, c=rich.group % 20, cmap="tab20")
    axes.set(xlabel="Mpc", ylabel="Mpc", title="Groups of ten galaxies and more", xlim=(0, SIDE), ylim=(0, SIDE))
    pyplot.savefig(folder / "galaxy_groups.png", dpi=100, bbox_inches="tight")
    pyplot.close()
    return galaxies, groups, summary


if __name__ == "__main__":
    main(Path(sys.argv[1] if len(sys.argv) > 1 else "."))
