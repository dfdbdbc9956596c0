"""Every script in examples/ runs, and comes to the results that it is there to show."""

from __future__ import annotations

import re
import runpy
import shutil
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import dfmst

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"
SCRIPTS = sorted(path.stem for path in EXAMPLES.glob("*.py") if path.stem != "build_cities")

#: Script -> the files that it writes, and what must hold of what `main` returns.
RESULTS: dict[str, tuple[list[str], Any]] = {
    "allele_profiles": (["allele_profiles.csv", "allele_profiles.nwk"], lambda found: names_last(*found)),
    "galaxy_groups": (["galaxy_groups.png"], lambda found: friends_of_friends(*found)),
    "power_grid": (["power_grid.csv"], lambda found: grid_joins_all(*found)),
    "pseudotime": (["pseudotime.csv"], lambda cells: cells[["time", "pseudotime"]].corr("spearman").iloc[0, 1] > 0.95),
    "city_network": (["city_network.png"], lambda lines: len(lines) == len(set(lines.source) | set(lines.target)) - 1),
    "correlation_trees": (["correlation_trees.png"], lambda table: 340 < table.sort("length")["window"][0] < 460),
    "dask_job": (["forest"], lambda rows: len(rows) == 4999),
    "dendrogram": (["dendrogram.png", "iris.nwk"], lambda merges: merges.shape == (149, 4)),
    "duckdb_in_and_out": (["roads.duckdb"], lambda result: result[0] == 4999 and result[-1] == 0),
    "gpu_job": (["forest", "kept"], lambda written: written.rows == 49_999),
    "image_segments": (["image_segments.png"], lambda table: table["d4"].n_unique() > table["d9"].n_unique() > 1),
    "network_planning": (["network_planning.csv"], lambda plan: plan.built.sum() > 10 and not plan.closed.any()),
    "ray_job": (["forest.parquet"], lambda pair: sorted(pair[0]["id"].to_pylist()) == sorted(pair[1]["id"].tolist())),
    "spark_job": (["forest"], lambda pair: sorted(pair[0]["id"].to_pylist()) == sorted(pair[1]["id"].to_pylist())),
    "entity_resolution": (
        ["entity_resolution.csv"],
        lambda found: (
            found["d0.6"].nunique() > found["d0.45"].nunique() > found["d0.3"].nunique() and len(found) == 360
        ),
    ),
    "llm_dedup": (
        ["unique.parquet"],
        lambda counts: counts[0] * 0.89 < counts[1] < counts[0] * 0.93 and counts[2] > 0.95,
    ),
}
NEEDS = {
    "pseudotime": "sklearn",
    "image_segments": "sklearn",
    "dendrogram": "sklearn",
    "spark_job": "pyspark",
    "ray_job": "ray",
    "gpu_job": "dask_cuda",
}
LARGE = ("spark_job", "ray_job", "gpu_job")  # their libraries are, start processes, and warn of their own doings


def names_last(before, after, fresh):
    """Most isolates keep the name of their cluster, more than without the earlier names, and clusters are the same."""
    joined = before.merge(after, on="vertex", suffixes=("_before", "")).merge(
        fresh, on="vertex", suffixes=("", "_fresh")
    )
    kept, by_chance = ((joined[column] == joined.d4_before).mean() for column in ("d4", "d4_fresh"))
    same = after.merge(fresh, on="vertex").groupby("d4_x").d4_y.nunique().max() == 1
    return kept > by_chance + 0.2 and same and len(before) < len(after) == 240


def friends_of_friends(galaxies, groups, summary):
    """SciPy's pairs within the linking length have the same components."""
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components
    from scipy.spatial import cKDTree

    count = len(galaxies)
    length = 0.2 * 100 / count ** (1 / 3)
    tree: Any = cKDTree(galaxies[["x", "y", "z"]].to_numpy(), boxsize=np.full(3, 100.0))
    pairs = tree.query_pairs(length, output_type="ndarray")
    label = connected_components(coo_array((pairs[:, 0] >= 0, pairs.T), (count, count)))[1]
    first = groups["b0.2"].groupby(label).agg(["nunique", "min"])
    return first["nunique"].max() == 1 and first["min"].is_unique and summary.purity.mean() > 0.9


def grid_joins_all(lines, cut):
    """One tree of all places, of lines that may be built, and few lines whose loss cuts it."""
    places = set(lines.source) | set(lines.target)
    component = dfmst.connected_components(lines[lines.built]).component
    one = lines.built.sum() == len(component) - 1 == len(places) - 1 and component.nunique() == 1
    return one and not (lines.built & lines.lake).any() and lines.lake.any() and len(cut) < 10


def test_every_script_is_listed():
    assert sorted(RESULTS) == SCRIPTS
    text = (EXAMPLES / "README.md").read_text(encoding="utf-8")
    assert all(f"{name}.py" in text for name in SCRIPTS)


@pytest.mark.parametrize("name", [name for name in SCRIPTS if "pip install" in (EXAMPLES / f"{name}.py").read_text()])
def test_a_script_names_what_is_not_installed(name, monkeypatch):
    text = (EXAMPLES / f"{name}.py").read_text(encoding="utf-8")
    for missing in re.findall(r"^    (?:import|from) (\w+)", text.partition("try:")[2].partition("except")[0], re.M):
        for module in [missing, *(module for module in sys.modules if module.startswith(f"{missing}."))]:
            monkeypatch.setitem(sys.modules, module, None)
        with pytest.raises(SystemExit, match=f"{missing}.*: pip install .*"):
            runpy.run_path(str(EXAMPLES / f"{name}.py"))
        monkeypatch.undo()


@pytest.mark.filterwarnings("ignore:The inplace keyword")  # Dask's, of pandas
@pytest.mark.parametrize(
    "name",
    [
        pytest.param(name, marks=[pytest.mark.slow, pytest.mark.filterwarnings("ignore")] if name in LARGE else [])
        for name in SCRIPTS
    ],
)
def test_script(name, tmp_path):
    pytest.importorskip(NEEDS.get(name, "dfmst"), reason=f"needs {NEEDS.get(name)}")
    if name == "spark_job" and not shutil.which("java"):
        pytest.skip("PySpark needs a Java runtime")
    folder = tmp_path / "made" / "by it"  # no folder has to be there
    result = runpy.run_path(str(EXAMPLES / f"{name}.py"))["main"](folder)
    files, holds = RESULTS[name]
    assert all((folder / file).exists() for file in files)
    assert holds(result)
