"""An S3 server on the loopback, and a proxy before it that is slow, or fails, when a test says so."""

from __future__ import annotations

import itertools
import os
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.client import HTTPConnection
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.fs
import pyarrow.parquet
import pytest

KEY, SECRET = "AKIDOFTESTS", "a-secret-of-tests"
_PATIENCE = 60  # seconds until the server must answer
#: Says of a request, its method and its path, whether a fault befalls it.
Chosen = Callable[[str, str], bool]


class Store:
    """The server: its buckets, and how they are reached, directly or through the proxy."""

    def __init__(self, port: int, proxy: Proxy) -> None:
        self.port, self.proxy = port, proxy
        self._numbers = itertools.count()
        self.filesystem = pa.fs.S3FileSystem(
            access_key=KEY,
            secret_key=SECRET,
            region="us-east-1",
            endpoint_override=f"127.0.0.1:{port}",
            scheme="http",
            request_timeout=_PATIENCE,
            allow_bucket_creation=True,
        )

    @property
    def options(self) -> dict[str, Any]:
        """Storage options as pandas writes them."""
        place = {"endpoint_url": f"http://127.0.0.1:{self.port}", "region_name": "us-east-1"}
        return {"key": KEY, "secret": SECRET, "client_kwargs": place}

    @property
    def faulty(self) -> dict[str, Any]:
        """Storage options as polars writes them, through the proxy."""
        place = {"aws_endpoint_url": f"http://127.0.0.1:{self.proxy.server_port}", "aws_region": "us-east-1"}
        return {"aws_access_key_id": KEY, "aws_secret_access_key": SECRET, **place}

    @property
    def words(self) -> list[str]:
        """Options of the command line."""
        place = {"endpoint_url": f"http://127.0.0.1:{self.port}", "region": "us-east-1"}
        pairs = {"key": KEY, "secret": SECRET, **place}.items()
        return [word for name, value in pairs for word in ("--storage-option", f"{name}={value}")]

    def bucket(self) -> str:
        """Make a bucket, and return its name."""
        name = f"bucket-{next(self._numbers)}"
        self.filesystem.create_dir(name)
        return name

    def upload(self, source: Path, target: str) -> str:
        """Copy a file, or a directory, to a key; return its address."""
        for path in source.iterdir() if source.is_dir() else [source]:  # PyArrow's copy_files hides errors
            key = f"{target}/{path.name}" if source.is_dir() else target
            with self.filesystem.open_output_stream(key, compression=None) as file:
                file.write(path.read_bytes())
        return f"s3://{target}"

    def keys(self, bucket: str) -> list[str]:
        """Names of all objects of a bucket."""
        found = self.filesystem.get_file_info(pa.fs.FileSelector(bucket, recursive=True))
        return sorted(info.path.removeprefix(f"{bucket}/") for info in found if info.is_file)

    def read(self, address: str) -> pa.Table:
        """Read a Parquet object with PyArrow alone."""
        return pa.parquet.read_table(address.removeprefix("s3://"), filesystem=self.filesystem)

    def uploads(self, bucket: str) -> int:
        """Count the uploads of a bucket that are neither finished nor aborted."""
        connection = HTTPConnection("127.0.0.1", self.port)
        connection.request("GET", f"/{bucket}?uploads")
        count = connection.getresponse().read().count(b"<Upload>")
        connection.close()
        return count


class Proxy(ThreadingHTTPServer):
    """Passes requests on to the server; `faults` are taken one by one by the requests that they choose.

    A fault is an error 500, ``"500"``, an answer that ends in the middle, ``"read"``, or a connection that ends in the
    middle of a request, ``"upload"``; or a function that is called before the request is passed on. Each answer comes
    `latency` seconds late, and `most` requests came at the same time.
    """

    daemon_threads = True

    def __init__(self, port: int) -> None:
        super().__init__(("127.0.0.1", 0), _Request)
        self.port = port
        self.faults: list[tuple[Chosen, Any]] = []
        self.requests: list[tuple[str, str]] = []
        self.latency, self.running, self.most = 0.0, 0, 0
        self._lock = threading.Lock()

    def fault(self, method: str, path: str) -> Any:
        """Take the first fault that chooses a request."""
        with self._lock:
            self.requests.append((method, path))
            self.running += 1
            self.most = max(self.most, self.running)
            at = next((at for at, (chosen, _) in enumerate(self.faults) if chosen(method, path)), None)
            return None if at is None else self.faults.pop(at)[1]

    def wait(self) -> None:
        """Pass the time that a request takes."""
        time.sleep(self.latency)
        with self._lock:
            self.running -= 1

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Do nothing: clients that are cut off close their connections."""


class _Request(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: Proxy

    def _pass_on(self) -> None:
        fault = self.server.fault(self.command, self.path)
        self.server.wait()
        if fault == "upload":
            self.rfile.read(1)
            self._cut()
            return
        chunked = self.headers.get("Transfer-Encoding") == "chunked"
        content = list(self._chunks()) if chunked else self.rfile.read(int(self.headers.get("Content-Length", 0)))
        if fault == "500":
            self.send_response(500)
            self.send_header("Content-Length", "0")
            self.end_headers()
            return
        if callable(fault):
            fault()
        connection = HTTPConnection("127.0.0.1", self.server.port)
        headers = {name: value for name, value in self.headers.items() if name.lower() != "expect"}
        connection.request(self.command, self.path, content, headers, encode_chunked=chunked)
        answer = connection.getresponse()
        body = answer.read()
        connection.close()
        self.send_response(answer.status)
        for name, value in answer.getheaders():
            if name.lower() not in ("transfer-encoding", "connection", "content-length", "server", "date"):
                self.send_header(name, value)
        length = answer.getheader("Content-Length", "0") if self.command == "HEAD" else str(len(body))
        self.send_header("Content-Length", length)
        self.end_headers()
        self.wfile.write(body[: len(body) // 2] if fault == "read" else body)
        if fault == "read":
            self._cut()

    def _chunks(self) -> Iterator[bytes]:
        while size := int(self.rfile.readline(), 16):
            yield self.rfile.read(size)
            self.rfile.readline()
        self.rfile.readline()

    def _cut(self) -> None:
        self.close_connection = True
        self.connection.shutdown(socket.SHUT_RDWR)

    do_DELETE = do_GET = do_HEAD = do_POST = do_PUT = _pass_on

    def log_message(self, *_: Any) -> None:
        pass


def _free_port() -> int:
    with socket.socket() as place:
        place.bind(("127.0.0.1", 0))
        port: int = place.getsockname()[1]
        return port


#: A server whose bucket `many` has as many empty objects as its first argument says.
_SERVER = """
import sys
from moto.s3.models import s3_backends
from moto.server import main
buckets = s3_backends["123456789012"]["aws"]
buckets.create_bucket("many", "us-east-1")
for number in range(int(sys.argv[1])):
    buckets.put_object("many", f"parts/_others/{number}.parquet", b"")
main(sys.argv[2:])
"""


@contextmanager
def running_store(many: int = 0) -> Iterator[Store]:
    """Start the server and the proxy, and stop both at the end; `many` empty objects make a long list."""
    port = _free_port()
    command = [sys.executable, "-W", "ignore", "-c", _SERVER, str(many), "-H", "127.0.0.1", "-p", str(port)]
    silent = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    variables = {name: value for name, value in os.environ.items() if not name.startswith("AWS_")}
    with subprocess.Popen(command, env=variables, **silent) as process, Proxy(port) as proxy:  # type: ignore[call-overload]
        thread = threading.Thread(target=proxy.serve_forever)
        thread.start()
        try:
            _wait(port, process)
            yield Store(port, proxy)
        finally:
            proxy.shutdown()
            thread.join()
            process.kill()


def _wait(port: int, process: subprocess.Popen[bytes]) -> None:
    end = time.monotonic() + _PATIENCE
    while True:
        try:
            socket.create_connection(("127.0.0.1", port)).close()
            return
        except OSError:
            if process.poll() is not None or time.monotonic() > end:
                pytest.fail("the S3 server does not start")
            time.sleep(0.05)
