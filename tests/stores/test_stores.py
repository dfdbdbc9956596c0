"""Addresses take the place of paths everywhere, and give the same rows."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.dataset
import pyarrow.fs
import pytest
from click.testing import CliRunner

import dfmst
from dfmst._drive.files import _note
from dfmst._trees.request import Request
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
    sizes = {"files": name, "filesystem": store.filesystem}, {"files": both.address, "storage_options": store.options}
    assert {str(dfmst.plan(**one)) for one in sizes} == {str(dfmst.plan(files=both.folder))}
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


def test_edges_are_read_from_objects_and_written_to_them(store: Store, both: Both, tmp_path: Path) -> None:
    table, bucket = dfmst.read_edges(both.folder), both.bucket
    assert dfmst.read_edges(both.address, storage_options=store.options).equals(table)
    for ending in ("parquet", "arrow", "arrows", "csv", "csv.gz", "tsv.xz", "csv.zst", "csv.bz2"):
        name = f"edges.{ending}"
        dfmst.formats.write_edges(table, f"s3://{bucket}/{name}", storage_options=store.faulty)
        dfmst.formats.write_edges(table, tmp_path / name)
        read = dfmst.read_edges([f"s3://{bucket}/{name}"], storage_options=store.options)
        assert read.equals(dfmst.read_edges(tmp_path / name))
    (tmp_path / "roads.gr").write_text("p sp 3 2\na 1 2 40\na 2 3 7\n")
    roads = store.upload(tmp_path / "roads.gr", f"{bucket}/roads.gr")
    assert dfmst.read_edges(roads, storage_options=store.options).equals(dfmst.read_edges(tmp_path / "roads.gr"))
    assert store.uploads(bucket) == 0


def test_every_command_reads_and_writes_objects(store: Store, both: Both, tmp_path: Path) -> None:
    bucket = f"s3://{both.bucket}"
    commands = {
        "convert": [],
        "components": [],
        "clusters": ["-k", "3"],
        "linkage": [],
        "linked-rows": ["--on", "source"],
        "newick": [],
        "points-forest": ["-c", "weight", "-c", "payload"],
        "knn-edges": ["-c", "weight", "-c", "payload", "-k", "2"],
        "hdbscan": [],
        "report": [],
        "plan": [],
    }
    for name, words in commands.items():
        ending = {"newick": "nwk", "report": "html"}.get(name, "csv")
        targets = [] if name == "plan" else ["-o"]
        here, there = tmp_path / f"{name}.{ending}", f"{bucket}/{name}.{ending}"
        command(store, name, both.address, *words, *targets, *([there] if targets else []))
        CliRunner().invoke(main, [name, str(both.folder), *words, *targets, *([str(here)] if targets else [])])
        if targets and ending != "html":
            assert store.filesystem.open_input_file(there[5:]).readall() == here.read_bytes()
    assert "report.html" in store.keys(both.bucket)
    new = f"{both.address}/part-000.parquet"
    command(store, "forest", both.address, "-o", f"{bucket}/old.parquet")
    command(store, "update", f"{bucket}/old.parquet", new, "-o", f"{bucket}/updated.parquet")
    assert {"old.parquet", "updated.parquet"} <= set(store.keys(both.bucket))


def test_a_cluster_reads_and_writes_objects(store: Store, both: Both, client: Any, tmp_path: Path) -> None:
    import dfmst.dask

    options: dict[str, Any] = {"storage_options": store.options}
    bucket = f"s3://{both.bucket}"
    rows = dfmst.stream.minimum_spanning_forest(str(both.folder)).replace_schema_metadata()
    forest = dfmst.dask.forest_of_files(both.address, f"{bucket}/forest", client=client, **options)
    assert forest.frame.replace_schema_metadata().equals(rows)
    scheduler = ["--scheduler", client.scheduler.address]
    command(store, "forest", both.address, "-o", f"{bucket}/commanded", *scheduler)
    for name in ("forest", "commanded"):
        assert dfmst.read_edges(f"{bucket}/{name}", **options).equals(rows)
        assert f"{name}/_SUCCESS" in store.keys(both.bucket)
    with pytest.raises(dfmst.errors.OutputError, match="it exists"):
        dfmst.dask.forest_of_files(both.address, f"{bucket}/forest", client=client, **options)
    assert forest.path is not None
    saved = tmp_path / "saved"
    store.filesystem.delete_file(f"{both.bucket}/forest/_SUCCESS")
    with pytest.raises(dfmst.errors.OutputError, match="it exists"):  # objects of others
        dfmst.dask.forest_of_files(both.address, f"{bucket}/forest", client=client, checkpoint=saved, **options)
    before = store.keys(both.bucket)
    note = _note(forest.path, Request.of("source", "target", "weight", checkpoint=saved))
    assert note is not None
    note.parent.mkdir(exist_ok=True, mode=0o700)
    note.touch()  # as if that run had been killed
    forest = dfmst.dask.forest_of_files(both.address, f"{bucket}/forest", client=client, checkpoint=saved, **options)
    assert forest.frame.replace_schema_metadata().equals(rows)
    assert set(before) | {"forest/_SUCCESS"} == set(store.keys(both.bucket))
    assert not note.exists()
    address = forest.path
    assert pickle.loads(pickle.dumps(address)).exists()


class _Silent(SimpleHTTPRequestHandler):
    def log_message(self, *_: Any) -> None:
        pass


def test_other_schemes(store: Store, both: Both, tmp_path: Path) -> None:
    fsspec = pytest.importorskip("fsspec")
    expected = dfmst.stream.minimum_spanning_forest(str(both.folder))
    assert dfmst.stream.minimum_spanning_forest(both.folder.as_uri()).equals(expected)
    names = [f"part-{number:03}.parquet" for number in range(3)]
    page = f"http://127.0.0.1:{store.port}/{both.address[5:]}"
    assert dfmst.stream.minimum_spanning_forest([f"{page}/{name}?secret=x" for name in names]).equals(expected)
    server = ThreadingHTTPServer(("127.0.0.1", 0), partial(_Silent, directory=str(both.folder)))  # it has no ranges
    with server, ThreadPoolExecutor(1) as pool:
        pool.submit(server.serve_forever)
        pages = [f"http://127.0.0.1:{server.server_port}/{name}" for name in names]
        assert dfmst.stream.minimum_spanning_forest(pages).equals(expected)
        with pytest.raises(dfmst.errors.MissingFileError, match=r"/none\.parquet: no such graph file"):
            dfmst.read_edges(f"http://127.0.0.1:{server.server_port}/none.parquet?key=secret")
        with pytest.raises(dfmst.errors.OutputError, match="read only"):
            dfmst.formats.write_edges(expected, pages[0])
        server.shutdown()
    memory = fsspec.filesystem("memory")
    memory.put(str(both.folder), "/bucket/p.pq", recursive=True)
    for edges, options in (("memory://bucket/p.pq", {}), ("/bucket/p.pq", {"filesystem": memory})):
        assert dfmst.stream.minimum_spanning_forest(edges, **options).equals(expected)
    output = dfmst.stream.minimum_spanning_forest("memory://bucket/p.pq/*.parquet", output="memory://bucket/f.parquet")
    assert dfmst.read_edges(output).replace_schema_metadata().equals(expected.replace_schema_metadata())
    dfmst.report(expected).save("memory://bucket/page.html")
    assert memory.cat("/bucket/page.html").startswith(b"<!")
