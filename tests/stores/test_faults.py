"""Stores that fail: requests that are sent again, errors, and objects that remain."""

from __future__ import annotations

import signal
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import dfmst
from dfmst.errors import DfmstError, FormatError, OutputError
from tests.stores.conftest import Both
from tests.support.forked import Forked
from tests.support.object_store import KEY, SECRET, Store, running_store
from tests.support.stream_files import edges, write_parts

BIG = 12 << 20  # bytes of an object that is uploaded in several parts


@pytest.fixture(autouse=True)
def no_faults(store: Store) -> None:
    """Let each test begin without faults."""
    store.proxy.faults.clear()
    store.proxy.requests.clear()


def of(method: str, text: str) -> Callable[[str, str], bool]:
    """Choose the requests of a method whose paths hold a text."""
    return lambda used, path: used == method and text in path


def fail(store: Store, method: str, text: str, kind: Any, times: int) -> None:
    store.proxy.faults += [(of(method, text), kind)] * times


def addresses(scheme: str, store: Store, both: Both) -> list[str]:
    """Addresses of the objects behind the proxy."""
    start = f"http://127.0.0.1:{store.proxy.server_port}/" if scheme == "http" else "s3://"
    return [f"{start}{both.bucket}/parts/part-{number:03}.parquet" for number in range(3)]


@pytest.mark.parametrize(
    ("scheme", "method", "kind"),
    [("s3", "HEAD", "500"), *((scheme, "GET", kind) for scheme in ("s3", "http") for kind in ("500", "read"))],
)
def test_a_server_that_fails_is_asked_again(scheme: str, method: str, kind: str, store: Store, both: Both) -> None:
    expected = dfmst.stream.minimum_spanning_forest(str(both.folder))
    fail(store, method, "part-001", kind, 1)
    objects = addresses(scheme, store, both)
    assert dfmst.stream.minimum_spanning_forest(objects, storage_options=store.faulty).equals(expected)
    assert not store.proxy.faults


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["500", "read"])
@pytest.mark.parametrize("scheme", ["s3", "http"])
def test_a_server_that_keeps_failing_is_an_error_that_names_the_object(
    scheme: str, kind: str, store: Store, both: Both
) -> None:
    fail(store, "GET", "part-001", kind, 1000)
    with pytest.raises(DfmstError, match=r"part-001\.parquet") as caught:
        dfmst.stream.minimum_spanning_forest(addresses(scheme, store, both), storage_options=store.faulty)
    assert not {secret for secret in (KEY, SECRET) if secret in str(caught.value)}
    assert len(store.proxy.requests) < 100


@pytest.mark.parametrize("times", [1, pytest.param(1000, marks=pytest.mark.slow)])
@pytest.mark.parametrize("kind", ["500", "upload"])
def test_an_upload_is_whole_or_not_at_all(times: int, kind: str, store: Store) -> None:
    bucket, table = store.bucket(), pa.table({"source": np.random.default_rng(0).random(BIG // 8)})
    fail(store, "PUT", "edges.parquet", kind, times)
    write: Callable[[], None] = lambda: dfmst.formats.write_edges(  # noqa: E731
        table, f"s3://{bucket}/edges.parquet", storage_options=store.faulty
    )
    if times == 1:
        write()
        assert store.read(f"s3://{bucket}/edges.parquet").equals(table)
        return
    with pytest.raises(OutputError, match="cannot write s3://"):
        write()
    assert store.keys(bucket) == []


def test_an_object_that_is_replaced_between_two_passes_is_an_error(store: Store, both: Both) -> None:
    forest = dfmst.stream.fold(both.address, storage_options=store.options)
    other = (both.folder / "part-001.parquet").read_bytes().replace(b"\0", b"\1", 1)
    with store.filesystem.open_output_stream(f"{both.bucket}/parts/part-001.parquet") as file:
        file.write(other)  # of equal size
    with pytest.raises(FormatError, match=r"part-001\.parquet: the file has changed since the run began"):
        _ = forest.frame


@pytest.mark.parametrize("rows", [1_000, 20_000], ids=["short", "long"])
@pytest.mark.parametrize(("method", "before"), [("GET", 0), ("GET", 1), ("GET", 2), ("HEAD", 1), ("HEAD", 2)])
def test_an_object_that_is_replaced_during_a_run_is_an_error(
    rows: int, method: str, before: int, store: Store, tmp_path: Path
) -> None:
    """It is replaced when the request comes that has as many like it before."""
    folder, key = write_parts(tmp_path / "parts", edges(300, 3 * rows), 3, rows // 3), f"{store.bucket()}/parts"
    address, content = store.upload(folder, key), (folder / "part-001.parquet").read_bytes().replace(b"\0", b"\1", 1)

    def replace() -> None:
        with store.filesystem.open_output_stream(f"{key}/part-001.parquet") as file:
            file.write(content)

    requests = [(lambda: None)] * before + [replace]
    store.proxy.faults = [(of(method, "part-001"), request) for request in requests]
    if rows < 20_000 and (method, before) in (("GET", 1), ("GET", 2), ("HEAD", 2)):
        dfmst.stream.minimum_spanning_forest(address, storage_options=store.faulty)
        assert store.proxy.faults  # a short object is read at once, and needs fewer requests
        return
    with pytest.raises(FormatError, match=r"part-001\.parquet: .*changed since the run began"):
        dfmst.stream.minimum_spanning_forest(address, storage_options=store.faulty)


@pytest.mark.parametrize(("rows", "heads"), [(1_000, 1), (20_000, 2)], ids=["short", "long"])
def test_a_pass_takes_few_requests_a_file(rows: int, heads: int, store: Store, tmp_path: Path) -> None:
    """The first pass looks at each file, and each pass asks once whether the file is the same."""
    groups, files = 5, 20
    folder = write_parts(tmp_path / "parts", edges(300, files * rows), files, rows // groups)
    address = store.upload(folder, f"{store.bucket()}/parts")
    names = [f"{address}/{path.name}" for path in sorted(folder.iterdir())]
    store.proxy.latency, store.proxy.most = 0.05, 0
    try:
        for edges_of in (address, names):
            for passes, name in enumerate(("connected_components", "minimum_spanning_forest"), 1):
                call = getattr(dfmst.stream, name)
                store.proxy.requests.clear()
                assert call(edges_of, storage_options=store.faulty).equals(call(folder))
                counts = Counter(request for request in store.proxy.requests if ".parquet" in request[1])
                assert len({path for _, path in counts}) == files
                for (method, _), count in counts.items():
                    assert count <= (heads + passes - 1 if method == "HEAD" else passes * (1 + groups))
                assert len(store.proxy.requests) <= 2 * files * (passes + heads - 1) + 1
    finally:
        store.proxy.latency = 0.0
    assert store.proxy.most >= files // 2  # at the same time


#: Writes an object of several parts, and says so after the first one is sent.
_WRITER = """
import sys, numpy, pyarrow, dfmst
options = dict(pair.split("=", 1) for pair in sys.argv[2:])
table = pyarrow.table({"source": numpy.random.default_rng(0).random(6 << 20)})
dfmst.formats.write_edges(table, sys.argv[1], storage_options=options)
"""


@pytest.mark.slow
@pytest.mark.parametrize("sent", [signal.SIGKILL, signal.SIGINT])
def test_a_killed_upload_leaves_no_object_or_a_whole_one(sent: signal.Signals, store: Store, tmp_path: Path) -> None:
    bucket, started = store.bucket(), []

    def slow() -> None:
        started.append(time.monotonic())
        time.sleep(1)

    store.proxy.faults = [(of("PUT", "partNumber"), slow)] * 3
    options = [f"{name}={value}" for name, value in store.faulty.items()]
    process = Forked(_WRITER, [f"s3://{bucket}/edges.parquet", *options], tmp_path)
    end = time.monotonic() + 60
    while not started and time.monotonic() < end:
        time.sleep(0.02)
    assert started
    process.send_signal(sent)
    process.wait(60)
    time.sleep(1.5)  # requests that were on their way have arrived
    if sent == signal.SIGKILL:
        assert store.keys(bucket) == []
    elif store.keys(bucket):
        assert store.read(f"s3://{bucket}/edges.parquet").num_rows == 6 << 20


@pytest.mark.slow
def test_a_listing_of_ten_thousand_objects(both: Both) -> None:
    expected = dfmst.stream.minimum_spanning_forest(str(both.folder))
    with running_store(10_000) as store:
        objects = store.upload(both.folder, "many/parts")
        assert dfmst.stream.minimum_spanning_forest(objects, storage_options=store.faulty).equals(expected)
        assert sum("list-type=2" in path for _, path in store.proxy.requests) > 10  # a page has 1,000


def test_checkpoints_and_spilled_rows_stay_on_this_machine(store: Store, both: Both) -> None:
    for option in ("checkpoint", "spill_dir"):
        directory: dict[str, Any] = {option: f"s3://{both.bucket}/saved"}
        with pytest.raises(OutputError, match=f"{option} is s3://"):
            dfmst.stream.fold(both.address, storage_options=store.options, **directory)
