"""Every script in examples/ runs, and comes to the results that it is there to show."""

from __future__ import annotations

import runpy
import shutil
from pathlib import Path
from typing import Any

import pytest

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"
SCRIPTS = sorted(path.stem for path in EXAMPLES.glob("*.py") if path.stem != "build_cities")

#: Script -> the files that it writes, and what must hold of what `main` returns.
RESULTS: dict[str, tuple[list[str], Any]] = {
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
    "image_segments": "sklearn",
    "dendrogram": "sklearn",
    "spark_job": "pyspark",
    "ray_job": "ray",
    "gpu_job": "dask_cuda",
}
LARGE = ("spark_job", "ray_job", "gpu_job")  # their libraries are, start processes, and warn of their own doings


def test_every_script_is_listed():
    assert sorted(RESULTS) == SCRIPTS
    text = (EXAMPLES / "README.md").read_text(encoding="utf-8")
    assert all(f"{name}.py" in text for name in SCRIPTS)


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
    result = runpy.run_path(str(EXAMPLES / f"{name}.py"))["main"](tmp_path)
    files, holds = RESULTS[name]
    assert all((tmp_path / file).exists() for file in files)
    assert holds(result)
