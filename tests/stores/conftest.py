"""What tests of addresses share: an S3 server, no credentials of this machine, and edges in files and in a bucket."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from tests.support.object_store import Store, running_store
from tests.support.stream_files import edges, write_parts

pytest.importorskip("moto")


@pytest.fixture(scope="session")
def store() -> Iterator[Store]:
    """A server for all tests of a process."""
    with running_store() as running:
        yield running


@pytest.fixture(autouse=True)
def no_credentials(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let nothing of the machine's configuration reach a store."""
    for name in [name for name in os.environ if name.startswith("AWS_")]:
        monkeypatch.delenv(name)
    for name in ("AWS_CONFIG_FILE", "AWS_SHARED_CREDENTIALS_FILE"):
        monkeypatch.setenv(name, os.devnull)
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")


@pytest.fixture(scope="session")
def client() -> Iterator[Any]:
    """A cluster in this process."""
    distributed = pytest.importorskip("distributed")
    settings = {"n_workers": 1, "threads_per_worker": 1, "dashboard_address": None, "silence_logs": "CRITICAL"}
    with distributed.LocalCluster(processes=False, **settings) as cluster, distributed.Client(cluster) as client:
        yield client


class Both(NamedTuple):
    """Equal files of this machine and of the store."""

    folder: Path
    address: str
    bucket: str


@pytest.fixture
def both(store: Store, tmp_path: Path) -> Both:
    """Edges in three Parquet files, with several row groups each."""
    folder, bucket = write_parts(tmp_path / "parts", edges(300, 3000), 3, 400), store.bucket()
    return Both(folder, store.upload(folder, f"{bucket}/parts"), bucket)
