"""Draw the picture of the README: the minimum spanning forest of the world's cities.

python docs/picture.py    # needs matplotlib; writes docs/_static/cities.png
"""

from __future__ import annotations

from pathlib import Path

import matplotlib
import numpy as np
from matplotlib.collections import LineCollection
from matplotlib.figure import Figure

import dfmst

OUTPUT = Path(__file__).parent / "_static" / "cities.png"
COLORS = "#f6f5f0", "#0b6e6e", "#d1495b"  # of the ground, of links, and of the forest's longest links
LONGEST = 100


def main() -> None:
    """Write the picture."""
    matplotlib.use("Agg")
    forest = dfmst.minimum_spanning_forest(dfmst.datasets.links(), weight="km")
    points = dfmst.datasets.cities()
    place = {name: at for at, name in enumerate(points.column(0).to_pylist())}
    at = np.column_stack([points["lon"].to_numpy(), points["lat"].to_numpy()])
    ends = [[place[name] for name in forest[column].to_pylist()] for column in ("source", "target")]
    lines = np.stack([at[each] for each in ends], axis=1)
    lines = lines[np.abs(lines[:, 0, 0] - lines[:, 1, 0]) < 180]  # no line runs around the back of the map
    by_length = np.argsort(np.linalg.norm(lines[:, 0] - lines[:, 1], axis=1))
    figure = Figure(figsize=(10, 4.4), dpi=120, facecolor=COLORS[0])
    axes = figure.add_axes((0, 0, 1, 1))
    axes.add_collection(LineCollection(lines[by_length[:-LONGEST]], colors=COLORS[1], linewidths=0.45))
    axes.add_collection(LineCollection(lines[by_length[-LONGEST:]], colors=COLORS[2], linewidths=0.45))
    axes.set(xlim=(-180, 180), ylim=(-57, 75))
    axes.axis("off")
    figure.savefig(OUTPUT, pil_kwargs={"optimize": True})
    from PIL import Image

    Image.open(OUTPUT).convert("P", palette=Image.Palette.ADAPTIVE, colors=32).save(OUTPUT, optimize=True)


if __name__ == "__main__":
    main()
