"""Segments of a picture: its pixels joined with their neighbors, the forest cut where colors jump."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

try:
    import matplotlib
    import polars as pl
    from sklearn.datasets import load_sample_image
except ModuleNotFoundError as error:
    sys.exit(f"{error}: pip install matplotlib polars scikit-learn")

import numpy as np

import dfmst

matplotlib.use("Agg")
from matplotlib import pyplot


def pixel_edges(image: np.ndarray) -> pl.DataFrame:
    """Join every pixel with the next one to the right and below; the weight is the largest step of a color."""
    number = np.arange(image.shape[0] * image.shape[1]).reshape(image.shape[:2])
    color = image.reshape(-1, 3).astype(np.int64)
    source = np.concatenate([number[:, :-1].ravel(), number[:-1].ravel()])
    target = np.concatenate([number[:, 1:].ravel(), number[1:].ravel()])
    step = np.abs(color[source] - color[target]).max(axis=1)
    return pl.DataFrame({"source": source, "target": target, "step": step})


def main(folder: Path) -> Any:
    folder.mkdir(parents=True, exist_ok=True)
    image = load_sample_image("flower.jpg")[::2, ::2]
    steps = [4, 6, 9]
    segments = dfmst.clusters(pixel_edges(image), weight="step", distance=steps)  # a column each: d4, d6, d9

    _, axes = pyplot.subplots(1, 4, figsize=(18, 3.2))
    axes[0].imshow(image)
    for axis, step in zip(axes[1:], steps, strict=True):
        label = segments[f"d{step}"].to_numpy()
        sizes = np.bincount(label, minlength=len(label))
        mean = np.stack([np.bincount(label, image.reshape(-1, 3)[:, c], len(label)) for c in range(3)], axis=1)
        axis.imshow((mean[label] / sizes[label][:, None]).astype(np.uint8).reshape(image.shape))
        axis.set_title(f"steps up to {step}: {np.count_nonzero(sizes >= 50)} large segments")
        print(f"steps up to {step}: {np.count_nonzero(sizes):,} segments")
    for axis in axes:
        axis.axis("off")
    pyplot.savefig(folder / "image_segments.png", dpi=100, bbox_inches="tight")
    pyplot.close()
    return segments


if __name__ == "__main__":
    main(Path(sys.argv[1] if len(sys.argv) > 1 else "."))
