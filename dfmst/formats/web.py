"""Files behind ``https://``, which are read by ranges of bytes."""

from __future__ import annotations

import io
import re
import shutil
import tempfile
import time
from base64 import b64encode
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from http.client import HTTPException
from typing import Any
from urllib.error import HTTPError
from urllib.parse import unquote, urlsplit
from urllib.request import Request, urlopen

import pyarrow as pa

from dfmst._common.directories import naming_full
from dfmst.errors import OutputError
from dfmst.formats.addresses import ATTEMPTS, BUFFER, Address

_PAUSE = 0.1  # seconds before the second attempt, and twice as long before each later one
_TIMEOUT = 60  # seconds
_LATER = (429, 500, 502, 503, 504)  # states of servers that may answer the next time


class WebPage(Address):
    """A file behind ``https://``; its text has neither user, password nor query, which may be a signature."""

    def __init__(self, url: str) -> None:
        parts = urlsplit(url)
        who, _, host = parts.netloc.rpartition("@")
        secrets = [one for one in (*re.split("[=&]", parts.query), *who.split(":")) if len(one) > 3]
        super().__init__(None, unquote(parts.path), f"{parts.scheme}://{host}", secrets)
        self._url = parts._replace(netloc=host, fragment="").geturl()
        self._headers = {"Authorization": f"Basic {b64encode(unquote(who).encode()).decode()}"} if who else {}

    def _state(self) -> tuple[str, int]:
        try:
            with self.reached(), self.get(0, 0) as answer:
                return "File", size_of(answer) or 0
        except FileNotFoundError:
            return "", 0

    def native(self) -> pa.NativeFile:
        """Open it for reading at any place; a file of a server without ranges is copied to this machine first."""
        with self.reached(), self.get(0, 0) as answer:
            size, tag = size_of(answer), tag_of(answer)
            if answer.status == 206 and size is not None:
                return pa.PythonFile(io.BufferedReader(_Ranges(self, size, tag), BUFFER), "r")
        copy: Any = tempfile.TemporaryFile()  # noqa: SIM115 - closed with the file that reads it
        with self.reached(), naming_full():
            self._copy_to(copy)
        return pa.PythonFile(copy, "r")

    def _copy_to(self, copy: Any) -> None:
        for attempt in range(ATTEMPTS):
            copy.seek(0)
            copy.truncate()
            try:
                with self.get() as answer:
                    shutil.copyfileobj(answer, copy)
                    expected = answer.headers.get("Content-Length")
                    if expected in (None, str(copy.tell())):
                        break
                    raise ConnectionError(f"the server sent {copy.tell():,} of {int(expected):,} bytes")
            except (HTTPException, ConnectionError, TimeoutError):
                if attempt == ATTEMPTS - 1:
                    raise
        copy.seek(0)

    def stamp(self) -> tuple[int, str]:
        """Return size and version (etag)."""
        with self.reached(), self.get(0, 0) as answer:
            return size_of(answer) or 0, tag_of(answer)

    def check_store(self) -> None:
        """Raise: nothing is written there."""
        raise OutputError(f"cannot write {self}: https:// is read only", "write to a file or to a store, and copy it")

    @contextmanager
    def get(self, begin: int | None = None, end: int = 0, tag: str = "") -> Iterator[Any]:
        """Context manager: ask for all bytes, or for a range; a server that fails is asked again."""
        headers = dict(self._headers)
        if begin is not None:
            headers["Range"] = f"bytes={begin}-{end}"
        if tag.startswith('"'):
            headers["If-Match"] = tag
        with _answer(Request(self._url, headers=headers)) as answer:
            yield answer


def _answer(request: Request) -> Any:
    for attempt in range(ATTEMPTS):
        try:
            return urlopen(request, timeout=_TIMEOUT)
        except HTTPError as error:
            error.close()
            if error.code in (404, 410):
                raise FileNotFoundError(2, "No such file or directory") from None
            if error.code == 416:  # a range of an empty file
                return urlopen(Request(request.full_url, headers={}), timeout=_TIMEOUT)
            if error.code == 412:
                raise OSError("the file has changed since it was opened") from None
            if error.code not in _LATER or attempt == ATTEMPTS - 1:
                raise OSError(f"the server says {error.code} {error.reason}") from None
        except OSError:
            if attempt == ATTEMPTS - 1:
                raise
        time.sleep(_PAUSE * 2**attempt)
    raise AssertionError


def size_of(answer: Any) -> int | None:
    """Return the bytes of a file by the answer of a server, which may have sent a range."""
    whole = re.search(r"/(\d+)$", answer.headers.get("Content-Range", ""))
    size = whole[1] if whole else answer.headers.get("Content-Length") if answer.status == 200 else None
    return None if size is None else int(size)


def tag_of(answer: Any) -> str:
    """Return the version of a file by the answer of a server."""
    return str(answer.headers.get("ETag") or answer.headers.get("Last-Modified") or "")


class _Ranges(io.RawIOBase):
    """A file whose bytes are asked for when they are read."""

    def __init__(self, page: WebPage, size: int, tag: str) -> None:
        self._page, self._size, self._tag, self._place = page, size, tag, 0

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        self._place = offset + {io.SEEK_SET: 0, io.SEEK_CUR: self._place, io.SEEK_END: self._size}[whence]
        return self._place

    def readinto(self, buffer: Any) -> int:
        length = min(len(buffer), self._size - self._place)
        if length <= 0:
            return 0
        for _ in range(ATTEMPTS):
            with (
                suppress(HTTPException, ConnectionError, TimeoutError),
                self._page.get(self._place, self._place + length - 1, self._tag) as answer,
            ):
                content = answer.read()
                if len(content) == length:
                    buffer[:length] = content
                    self._place += length
                    return length
        raise ConnectionError(f"the connection was cut {ATTEMPTS} times")
