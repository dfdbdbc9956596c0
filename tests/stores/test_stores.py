"""Addresses take the place of paths everywhere, and give the same rows."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.dataset
import pyarrow.fs
import pytest
from click.testing import CliRunner

import dfmst
from dfmst.cli import main
from tests.stores.conftest import Both
from tests.support.object_store import KEY, SECRET, Store

STREAMS: dict[str, Callable[..., Any]] = {
    "minimum": dfmst.stream.minimum_spanning_forest,
    "maximum": dfmst.stream.maximum_spanning_forest,
    "components": dfmst.stream.connected_components,
    "clusters": lambda edges, **options: dfmst.stream.clusters(edges, n_clusters=3, **options),
    "linked rows": lambda edges, **options: dfmst.stream.linked_rows(edges, on=["source"], **options),
}


@pytest.mark.parametrize("name", STREAMS)
def test_streams_read_and_write_objects(name: str, store: Store, both: Both) -> None:
    expected = STREAMS[name](str(both.folder))
    for edges in (
        both.address,
        f"{both.address}/part-*.parquet",
        [f"{both.address}/part-{n:03}.parquet" for n in range(3)],
    ):
        assert STREAMS[name](edges, storage_options=store.options).equals(expected)
    output = f"s3://{both.bucket}/made/rows.parquet"
    assert str(STREAMS[name](both.address, storage_options=store.options, output=output)) == output
    assert store.read(output).equals(expected)


def command(store: Store, *words: Any, code: int = 0) -> str:
    """Run the command line with the options of the store; return the text that it prints."""
    done = CliRunner().invoke(main, [*map(str, words), *store.words])
    assert done.exit_code == code, done.output
    assert SECRET not in done.output
    return str(done.output)


@pytest.mark.parametrize("limit", ["auto", "300MiB"])
def test_dfmst_forest_reads_and_writes_objects(limit: str, store: Store, both: Both) -> None:
    output = f"s3://{both.bucket}/forest.parquet"
    shown = command(store, "forest", both.address, "-o", output, "--verify", "--memory-limit", limit)
    assert output in shown
    expected = dfmst.stream.minimum_spanning_forest(str(both.folder))
    assert store.read(output).replace_schema_metadata().equals(expected.replace_schema_metadata())
    assert "is a minimum spanning forest" in command(store, "verify", both.address, output, "--memory-limit", limit)


def test_file_systems_of_pyarrow_and_datasets_are_read(store: Store, both: Both, tmp_path: Path) -> None:
    expected = dfmst.stream.minimum_spanning_forest(str(both.folder))
    name = both.address.removeprefix("s3://")
    for options in ({"filesystem": store.filesystem}, {"filesystem": pa.fs.SubTreeFileSystem(name, store.filesystem)}):
        edges = "." if isinstance(options["filesystem"], pa.fs.SubTreeFileSystem) else name
        assert dfmst.stream.minimum_spanning_forest(edges, **options).equals(expected)
    dataset = pa.dataset.dataset(name, filesystem=store.filesystem)
    saved = tmp_path / "saved"
    assert dfmst.stream.minimum_spanning_forest(dataset, checkpoint=saved).equals(expected)


def test_a_checkpoint_knows_the_versions_of_objects_and_no_credentials(
    store: Store, both: Both, tmp_path: Path
) -> None:
    saved, options = tmp_path / "saved", store.options

    def stop(event: str, rows: int) -> None:
        if event == "saved":
            raise KeyboardInterrupt

    def fold(**more: Any) -> dfmst.forest.Forest:
        return dfmst.stream.fold(both.address, storage_options=options, checkpoint=saved, **more)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("dfmst._fold.checkpoint._LEAST", 0)
        patch.setattr("dfmst._fold.budget._BATCH", 256)
        with pytest.raises(KeyboardInterrupt):
            fold(on_checkpoint=stop)
    content = b"".join(path.read_bytes() for path in saved.iterdir() if path.is_file())
    assert both.address.encode() in content
    assert not {secret for secret in (SECRET, KEY) if secret.encode() in content}
    resumed: list[int] = []
    found = fold(on_checkpoint=lambda event, rows: resumed.append(rows) if event == "resumed" else None)
    assert resumed
    assert found.frame.equals(dfmst.stream.minimum_spanning_forest(str(both.folder)))
