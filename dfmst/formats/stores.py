"""Addresses of files that other machines hold, such as ``s3://bucket/edges.parquet`` or ``https://host/edges.csv``.

An :class:`Address` has those methods of a path that readers and writers call, so that they treat both alike. PyArrow
opens object stores, by options in the words of pandas, polars or PyArrow. Python's own library reads ``https://``, by
ranges of bytes, and fsspec opens all else, if it is installed.
"""

from __future__ import annotations

import errno
import io
import os
import re
import shutil
import tempfile
import time
from base64 import b64encode
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from copy import copy
from fnmatch import fnmatchcase
from functools import partial
from http.client import HTTPException
from importlib import import_module
from pathlib import Path, PurePosixPath
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias, TypedDict
from urllib.error import HTTPError
from urllib.parse import parse_qsl, unquote, urlsplit
from urllib.request import Request, url2pathname, urlopen

import pyarrow as pa

from dfmst._common.directories import naming_full
from dfmst.errors import DfmstError, EngineUnavailableError, OutputError, did_you_mean, no_space

if TYPE_CHECKING:
    _Path = Path  # for type checkers an address is a path; at run time it lacks the methods that nobody calls
else:
    _Path = object

ReadRange: TypeAlias = Callable[[int, int], bytes]  # of the bytes from one place to another

#: The object that says that a directory is complete.
COMPLETE = "_SUCCESS"
_ADDRESS = re.compile(r"([A-Za-z][A-Za-z0-9+.-]+)://")
_OPTIONS = re.compile(r"\?(\w+=.*)", re.DOTALL)  # after an address, as PyArrow writes them
_MAGIC = re.compile(r"[*?\[]")
_ATTEMPTS = 5  # to send a request
_PAUSE = 0.1  # seconds before the second attempt, and twice as long before each later one
_TIMEOUT = 60  # seconds
_LATER = (429, 500, 502, 503, 504)  # states of servers that may answer the next time
_BUFFER = 1 << 20  # bytes that are read at a time
_SENT, _WAITING = 8 << 20, 8  # bytes of a piece that is sent, and pieces that may wait
_HINT = "check the address, storage_options= and the network"
_WORDS = "check the address, --storage-option and the network"


class Address(_Path):
    """A file or a directory of another file system; its text never shows credentials."""

    _looked: tuple[tuple[int, str], ReadRange | None] | None = None

    def __init__(self, filesystem: Any, key: str, start: str, secrets: Sequence[str] = (), root: str = "") -> None:
        self.filesystem, self.start, self._root, self._secrets = filesystem, start, root, tuple(secrets)
        self._path = PurePosixPath(key)

    @property
    def key(self) -> str:
        """The name in the file system."""
        return "" if self._path == PurePosixPath() else str(self._path)

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in self.__dict__.items() if name != "_looked"}

    def __str__(self) -> str:
        return self.start + self.key.removeprefix(self._root)

    __fspath__ = as_posix = __str__

    def __repr__(self) -> str:
        return f"Address({str(self)!r})"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Address) and str(self) == str(other)

    def __hash__(self) -> int:
        return hash(str(self))

    def __lt__(self, other: Any) -> bool:
        return str(self) < str(other)

    parts = property(lambda self: self._path.parts)
    name = property(lambda self: self._path.name)
    suffix = property(lambda self: self._path.suffix)
    suffixes = property(lambda self: self._path.suffixes)
    parent = property(lambda self: self._at(self._path.parent))

    def _at(self, path: PurePosixPath | str) -> Address:
        return Address(self.filesystem, str(path), self.start, self._secrets, self._root)

    def __truediv__(self, name: Any) -> Address:
        return self._at(self._path / name)

    def relative_to(self, other: Any) -> Any:  # type: ignore[override]
        """Return the name in a directory."""
        return self._path.relative_to(other._path)

    def is_relative_to(self, other: Any, *_: Any) -> bool:
        """Whether a directory holds it."""
        if not isinstance(other, Address) or (self.start, self._root) != (other.start, other._root):
            return False
        return bool(self._path.is_relative_to(other._path))

    def resolve(self, strict: bool = False) -> Address:
        """Return the address: it has no links."""
        return self

    absolute = resolve

    def samefile(self, other: Any) -> bool:
        """Whether the other one has the same address."""
        return bool(self == other)

    def exists(self, **_: Any) -> bool:
        """Whether it is a file or a directory."""
        return bool(self._state()[0])

    def is_file(self, **_: Any) -> bool:
        """Whether it is a file."""
        return self._state()[0] == "File"

    def is_dir(self, **_: Any) -> bool:
        """Whether there are files whose names begin with it and a slash."""
        return self._state()[0] == "Directory"

    def stat(self, **_: Any) -> Any:
        """Return its size; raise FileNotFoundError if it does not exist."""
        kind, size = self._state()
        if not kind:
            raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), str(self))
        return SimpleNamespace(st_size=size)

    def _state(self) -> tuple[str, int]:
        """Return its kind, ``"File"``, ``"Directory"`` or nothing, and its size."""
        if self.suffix:  # else it may be a directory
            with suppress(OSError, DfmstError):
                self.look()
        if self._looked is not None:
            return "File", self._looked[0][0]
        with self.reached():
            info = self.filesystem.get_file_info(self.key)
        return ("" if info.type.name == "NotFound" else info.type.name), info.size or 0

    def native(self) -> pa.NativeFile:
        """Open it for reading at any place."""
        with self.reached():
            return self.filesystem.open_input_file(self.key)

    def open(self, *_: Any, **__: Any) -> Any:
        """Open it for reading, with a buffer."""
        (size, _stamp), read = self.look()
        return self.native() if read is None else io.BufferedReader(RangeFile(self._named(read), size), _BUFFER)

    def _named(self, read: ReadRange) -> ReadRange:
        """Let errors of a read name the address."""

        def named(begin: int, end: int) -> bytes:
            with self.reached():
                return read(begin, end)

        return named

    def look(self) -> tuple[tuple[int, str], ReadRange | None]:
        """Return its stamp, and how its ranges are read (``None``: only all of it); the store is asked once."""
        self._looked = self._looked or self._look()
        return self._looked

    def stamp(self) -> tuple[int, str]:
        """Return size and version (etag); one of them changes if the file is replaced."""
        return self._look()[0]

    def _look(self) -> tuple[tuple[int, str], ReadRange | None]:
        store = of_fsspec(self.filesystem)
        with self.reached():
            if store is None:
                file = self.filesystem.open_input_file(self.key)
                size, tag = file.size(), (file.metadata() or {}).get("ETag", "")
            else:
                about, tag = store.info(self.key), store.ukey(self.key)
                size = about["size"]
                if about["type"] != "file":
                    raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), str(self))
            tag = tag.decode() if isinstance(tag, bytes) else str(tag)
            stamp = size or 0, tag or str(self.filesystem.get_file_info(self.key).mtime_ns)
        if size is None:
            return stamp, None
        if store is None:
            return stamp, lambda begin, end: file.read_at(end - begin, begin)
        return stamp, lambda begin, end: store.cat_file(self.key, start=begin, end=end)

    def files(self) -> list[tuple[Address, int]]:
        """List all files under the directory, with their sizes."""
        fs = import_module("pyarrow.fs")
        with self.reached():
            found = self.filesystem.get_file_info(fs.FileSelector(self.key, recursive=True, allow_not_found=True))
        return sorted((self._at(info.path), info.size or 0) for info in found if info.is_file)

    def iterdir(self) -> Any:
        """Yield the files under the directory."""
        return iter([path for path, _ in self.files()])

    def matches(self) -> list[Address]:
        """List the files that its name as a pattern stands for."""
        parts = self.parts
        plain = next(number for number, part in enumerate(parts) if _MAGIC.search(part))
        names = [path for path, _ in self._at(PurePosixPath(*parts[:plain])).files()]
        return [path for path in names if _matches(path.parts[plain:], parts[plain:])]

    def mkdir(self, *_: Any, **__: Any) -> None:
        """Do nothing: a directory is the beginning of its files' names."""

    def unlink(self, missing_ok: bool = False) -> None:
        """Remove the file."""
        self._looked = None
        with self.reached():
            self.filesystem.delete_file(self.key)

    def remove_files(self) -> None:
        """Remove all files under the directory."""
        with self.reached():
            if len(self.parts) > 1:
                self.filesystem.delete_dir(self.key)
            else:  # of a bucket, which stays
                self.filesystem.delete_dir_contents(self.key, accept_root_dir=True)

    def check_store(self) -> None:
        """Raise if its bucket, or its container, does not exist."""
        bucket = self._at(self.parts[0])
        if of_fsspec(self.filesystem) is None and len(self.parts) > 1 and not bucket.exists():
            raise OutputError(f"cannot write {self}: {bucket} does not exist", "create it first, or name another one")

    def upload(self, file: Path) -> None:
        """Copy a local file to it, whole or not at all."""
        self._looked = None
        store = of_fsspec(self.filesystem)
        try:
            if store is None:
                with ThreadPoolExecutor(1) as pool:  # which no signal interrupts
                    pool.submit(self._send, file).result()
            else:
                with store.transaction:
                    store.put_file(str(file), self.key)
            if self.stat().st_size != file.stat().st_size:
                raise OSError("it has another size than the file that was sent")
        except OSError as error:
            raise OutputError(f"cannot write {self}: {self.shown(error)}", _HINT, option=(_HINT, _WORDS)) from None

    def _send(self, file: Path) -> None:
        """Write the bytes of a local file; a stream of PyArrow that is deleted after a fault completes its object."""
        output = self.filesystem.open_output_stream(self.key, compression=None)
        try:
            with file.open("rb") as stream:
                for number, piece in enumerate(iter(partial(stream.read, _SENT), b""), 1):
                    output.write(piece)
                    if not number % _WAITING:
                        output.flush()  # until it is sent, a piece is in memory
            output.close()
        except BaseException:
            with suppress(OSError):
                output.close()
                self.filesystem.delete_file(self.key)
            raise

    @contextmanager
    def reached(self) -> Iterator[None]:
        """Context manager: name the address if the file system fails."""
        try:
            yield
        except (FileNotFoundError, OutputError):
            raise
        except OSError as error:
            message = f"{self}: cannot be reached ({self.shown(error)})"
            raise DfmstError(message, _HINT, option=(_HINT, _WORDS)) from None

    def shown(self, error: BaseException) -> str:
        """Return the first line of an error without credentials."""
        text = str(error).partition("\n")[0]
        for secret in self._secrets:
            text = text.replace(secret, "…")
        return text


class _WebPage(Address):
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
            return "File", self.look()[0][0]
        except FileNotFoundError:
            return "", 0

    def native(self) -> pa.NativeFile:
        """Open it for reading at any place; a file of a server without ranges is copied to this machine first."""
        (size, _), read = self.look()
        if read is not None:
            return pa.PythonFile(io.BufferedReader(RangeFile(read, size), _BUFFER), "r")
        file: Any = tempfile.TemporaryFile()  # noqa: SIM115 - closed with the file that reads it
        with self.reached(), naming_full():
            self._ask(partial(_copy, file))
        return pa.PythonFile(file, "r")

    def check_store(self) -> None:
        """Raise: nothing is written there."""
        raise OutputError(f"cannot write {self}: https:// is read only", "write to a file or to a store, and copy it")

    def _look(self) -> tuple[tuple[int, str], ReadRange | None]:
        with self.reached():
            size, tag, has_ranges = self._ask(_described, (0, 0))
        return (size or 0, tag), partial(self._read, tag=tag) if has_ranges and size is not None else None

    def _read(self, begin: int, end: int, tag: str) -> bytes:
        """Read a range of bytes; the file must have this version."""

        def read(answer: Any) -> bytes:
            content: bytes = answer.read()
            if len(content) != end - begin:
                raise ConnectionError(f"the server sent {len(content):,} of {end - begin:,} bytes")
            return content

        return self._ask(read, (begin, end - 1), tag)  # type: ignore[no-any-return]

    def _ask(self, read: Callable[[Any], Any], span: tuple[int, int] | None = None, tag: str = "") -> Any:
        """Return what `read` makes of a server's answer; a server that fails, or is cut off, is asked again."""
        request = Request(self._url, headers=self._headers)
        if span is not None:
            request.add_header("Range", f"bytes={span[0]}-{span[1]}")
        if tag.startswith('"'):
            request.add_header("If-Match", tag)
        for pause in (*(_PAUSE * 2**attempt for attempt in range(_ATTEMPTS - 1)), None):
            try:
                with urlopen(request, timeout=_TIMEOUT) as answer:
                    return read(answer)
            except HTTPError as error:
                error.close()
                if error.code in (404, 410):
                    raise FileNotFoundError(2, "No such file or directory") from None
                if error.code == 416:  # a range of an empty file
                    return self._ask(read)
                if error.code == 412:
                    raise OSError("the file has changed since it was opened") from None
                if error.code not in _LATER or pause is None:
                    raise OSError(f"the server says {error.code} {error.reason}") from None
            except (OSError, HTTPException) as error:
                if no_space(self, error) is not None:  # for the copy on this machine
                    raise
                if pause is None:
                    raise ConnectionError(f"the connection failed {_ATTEMPTS} times: {error}") from error
            time.sleep(pause)
        raise AssertionError


def _described(answer: Any) -> tuple[int | None, str, bool]:
    """Return size, version and whether the answer is a range."""
    whole = re.search(r"/(\d+)$", answer.headers.get("Content-Range", ""))
    size = whole[1] if whole else answer.headers.get("Content-Length") if answer.status == 200 else None
    tag = str(answer.headers.get("ETag") or answer.headers.get("Last-Modified") or "")
    return None if size is None else int(size), tag, answer.status == 206


def _copy(file: Any, answer: Any) -> None:
    """Copy the whole file that a server sends."""
    file.seek(0)
    file.truncate()
    shutil.copyfileobj(answer, file)
    expected = answer.headers.get("Content-Length")
    if expected not in (None, str(file.tell())):
        raise ConnectionError(f"the server sent {file.tell():,} of {int(expected):,} bytes")
    file.seek(0)


class RangeFile(io.RawIOBase):
    """The bytes of a file; what `pieces` (begin, bytes) do not hold is read when it is asked for."""

    def __init__(self, read: ReadRange, size: int, pieces: Sequence[tuple[int, bytes]] = ()) -> None:
        self._read, self._size, self._pieces, self._place = read, size, pieces, 0

    def readable(self) -> bool:
        """Whether it can be read."""
        return True

    def seekable(self) -> bool:
        """Whether it can be read at any place."""
        return True

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        """Go to a place."""
        self._place = offset + {io.SEEK_SET: 0, io.SEEK_CUR: self._place, io.SEEK_END: self._size}[whence]
        return self._place

    def read(self, size: int = -1) -> Any:
        """Read bytes; of a piece they are not copied."""
        begin, end = self._place, self._size if size < 0 else min(self._place + size, self._size)
        self._place = max(begin, end)
        if begin >= end:
            return b""
        for first, piece in self._pieces:
            if first <= begin and end <= first + len(piece):
                return memoryview(piece)[begin - first : end - first]
        return self._read(begin, end)

    def readinto(self, buffer: Any) -> int:
        """Read bytes into a buffer."""
        content = self.read(len(buffer))
        buffer[: len(content)] = content
        return len(content)


def _matches(names: Sequence[str], patterns: Sequence[str]) -> bool:
    """Whether parts of a name fit those of a pattern; ``**`` fits any number of them."""
    if not patterns:
        return not names
    if patterns[0] == "**":
        return any(_matches(names[skipped:], patterns[1:]) for skipped in range(len(names) + 1))
    return bool(names) and fnmatchcase(names[0], patterns[0]) and _matches(names[1:], patterns[1:])


def of_fsspec(filesystem: Any) -> Any:
    """Return the object of fsspec that PyArrow's file system calls, if it calls one."""
    return getattr(getattr(filesystem, "handler", None), "fs", None)


def scheme_of(name: Any) -> str | None:
    """Return the scheme of an address in small letters; ``None``: a name on this machine."""
    text = os.fspath(name) if isinstance(name, (str, os.PathLike)) else ""
    found = _ADDRESS.match(text) if isinstance(text, str) else None
    return None if found is None else found[1].lower()


def file_stamp(path: Path) -> tuple[Any, ...]:
    """Return the size of a file and its version: when it was written, or the etag of an object."""
    if isinstance(path, Address):
        return path.stamp()
    state = path.stat()
    return state.st_size, state.st_mtime_ns


class Located(TypedDict, total=False):
    """How addresses of files are opened; see :func:`dfmst.stream.minimum_spanning_forest`."""

    storage_options: Mapping[str, Any] | None
    filesystem: Any


class Access:
    """How addresses are opened: by a file system, or by options for those that the addresses name."""

    def __init__(self, storage_options: Mapping[str, Any] | None = None, filesystem: Any = None) -> None:
        if storage_options is not None and not isinstance(storage_options, Mapping):
            raise TypeError(f"storage_options is a {type(storage_options).__name__}, not a dictionary")
        if storage_options and filesystem is not None:
            raise ValueError("storage_options and filesystem cannot be combined: the file system has its options")
        self._options, self._opened = dict(storage_options or {}), dict[tuple[str, str], Any]()
        self._filesystem = None if filesystem is None else _as_arrow(filesystem)

    def path(self, name: Any) -> Path:
        """Return the path or the address that a name stands for."""
        if isinstance(name, Address):
            return copy(name)  # which is looked at anew
        text = os.fspath(name)
        scheme = scheme_of(text)
        if self._filesystem is not None and scheme not in ("file", "http", "https"):
            return _in_filesystem(self._filesystem, text, scheme)
        if scheme is None:
            return Path(name)
        if scheme == "file":
            return Path(url2pathname(unquote(urlsplit(text).path)))
        if scheme in ("http", "https"):
            return _WebPage(text)
        return self._open(text, scheme)

    def _open(self, text: str, scheme: str) -> Path:
        options, place = dict(self._options), text.partition("://")[2]
        more = _OPTIONS.search(place)
        if more is not None and scheme in _STORES:
            options |= parse_qsl(more[1])
            place = place[: more.start()]
        host, _, rest = place.partition("/")
        who, _, host = host.rpartition("@")
        store = _STORES.get(scheme)
        if store is None:
            place, start, root = text, f"{scheme}://", ""
        elif store is _AZURE and who:  # abfs://container@account.dfs.core.windows.net/name
            options["account_name"] = host.partition(".")[0]
            place, start, root = f"{who}/{rest}", f"{scheme}://{who}@{host}/", f"{who}/"
        else:
            if who:
                options["access_key"], _, options["secret_key"] = map(unquote, who.partition(":"))
            place, start, root = f"{host}/{rest}", f"{scheme}://", ""
        known = (scheme, host if store is _S3 else start)
        if known not in self._opened:
            self._opened[known] = _fsspec(scheme, options) if store is None else store.open(scheme, options, host)
        filesystem = self._opened[known]
        if store is None:
            place = str(of_fsspec(filesystem)._strip_protocol(place))
        return Address(filesystem, place, start, _secrets(options), root)


def _in_filesystem(filesystem: Any, text: str, scheme: str | None) -> Path:
    kind, store = filesystem.type_name, of_fsspec(filesystem)
    if kind == "local" or "local" in getattr(store, "protocol", ()):
        return Path(text if store is None else store._strip_protocol(text))
    key = text.partition("://")[2] if scheme else text
    key = key if store is None else str(store._strip_protocol(text))
    return Address(filesystem, key, f"{scheme or {'gcs': 'gs'}.get(kind, kind.rpartition('+')[2])}://")


_PUBLIC = ("region", "endpoint", "scheme", "account_name", "project", "allow_http", "anon")


def _secrets(options: Mapping[str, Any]) -> list[str]:
    """Return the values of options that no message shows."""
    values: list[str] = []
    for name, value in options.items():
        if isinstance(value, Mapping):
            values += _secrets(value)
        elif not any(word in str(name).lower() for word in _PUBLIC) and len(str(value)) > 3:
            values.append(str(value))
    return values


class _Store(NamedTuple):
    """A kind of store: PyArrow's class, and the names of its options, each with those of other libraries."""

    kind: str
    options: dict[str, tuple[str, ...]]
    environment: tuple[tuple[str, str], ...] = ()
    numbers: tuple[str, ...] = ()

    def open(self, scheme: str, options: Mapping[str, Any], bucket: str) -> Any:
        """Open the file system of a bucket."""
        fs = import_module("pyarrow.fs")
        chosen: dict[str, Any] = {name: os.environ[key] for name, key in self.environment if key in os.environ}
        chosen |= self._named(scheme, options)
        endpoint = str(chosen.get("endpoint_override", ""))
        if "://" in endpoint:
            chosen["scheme"], _, chosen["endpoint_override"] = endpoint.rstrip("/").partition("://")
        if self is _S3:
            if not {"endpoint_override", "region"} & chosen.keys() and not {*_REGIONS} & os.environ.keys():
                with suppress(OSError, ValueError):  # a later request says why
                    chosen["region"] = fs.resolve_s3_region(bucket)
            retries = fs.AwsStandardS3RetryStrategy(max_attempts=_ATTEMPTS)
            chosen = {"request_timeout": _REQUEST, "connect_timeout": _CONNECT, **chosen}
            chosen |= {"retry_strategy": retries, "allow_delayed_open": True}  # small objects take one request
        try:
            return getattr(fs, self.kind)(**chosen)
        except ImportError as error:
            message = f"{scheme}:// cannot be read: this PyArrow has no {self.kind}"
            raise EngineUnavailableError(message, "pass an object of fsspec as filesystem=") from error
        except (TypeError, ValueError, OSError, pa.ArrowException) as error:
            text = str(error)
            for secret in _secrets(options):
                text = text.replace(secret, "…")
            raise ValueError(f"storage_options of {scheme}://: {text}") from None

    def _named(self, scheme: str, options: Mapping[str, Any]) -> dict[str, Any]:
        known = {alias: name for name, aliases in self.options.items() for alias in (name, *aliases)}
        chosen: dict[str, Any] = {}
        for given, value in options.items():
            name = re.sub("^(aws|google|azure_storage|azure)_", "", str(given).lower())
            if name in ("client_kwargs", "config_kwargs") and isinstance(value, Mapping):
                chosen |= self._named(scheme, value)
            elif name in ("allow_http", "use_ssl"):
                chosen.setdefault("scheme", "http" if _yes(value) == (name == "allow_http") else "https")
            elif name == "token" and value == "anon":
                chosen["anonymous"] = True
            elif name not in known:
                hint = did_you_mean(given, known, f"known: {', '.join(self.options)}")
                raise ValueError(f"{scheme}:// has no storage option {given!r}; {hint}")
            elif value is not None:
                chosen[known[name]] = _yes(value) if known[name] == "anonymous" else value
        return {name: float(value) if name in self.numbers else value for name, value in chosen.items()}


def _yes(value: Any) -> bool:
    return str(value).lower() in ("true", "1", "yes")


_REQUEST, _CONNECT = 30.0, 10.0  # seconds; PyArrow's three and one are too few for stores that are busy
_REGIONS = ("AWS_REGION", "AWS_DEFAULT_REGION")  # variables that name a region
_S3 = _Store(
    "S3FileSystem",
    {
        "access_key": ("key", "access_key_id"),
        "secret_key": ("secret", "secret_access_key"),
        "session_token": ("token",),
        "region": ("default_region", "region_name"),
        "endpoint_override": ("endpoint_url", "endpoint"),
        "anonymous": ("anon", "skip_signature"),
        **dict.fromkeys(("scheme", "role_arn", "session_name", "external_id", "proxy_options", "tls_ca_file_path"), ()),
        "request_timeout": ("timeout", "read_timeout"),
        "connect_timeout": (),
        "force_virtual_addressing": ("virtual_hosted_style_request",),
    },
    environment=(("endpoint_override", "AWS_ENDPOINT_URL"), ("endpoint_override", "AWS_ENDPOINT_URL_S3")),
    numbers=("request_timeout", "connect_timeout"),
)
_GCS = _Store(
    "GcsFileSystem",
    {
        "access_token": ("token",),
        "anonymous": ("anon", "skip_signature"),
        "endpoint_override": ("endpoint_url", "endpoint"),
        "project_id": ("project",),
        **dict.fromkeys(("scheme", "target_service_account", "credential_token_expiration"), ()),
    },
)
_AZURE = _Store(
    "AzureFileSystem",
    {
        "account_name": (),
        "account_key": ("access_key",),
        "sas_token": ("sas_key",),
        **dict.fromkeys(("client_id", "client_secret", "tenant_id"), ()),
        **dict.fromkeys(("blob_storage_authority", "blob_storage_scheme"), ()),
        **dict.fromkeys(("dfs_storage_authority", "dfs_storage_scheme"), ()),
    },
    (("account_name", "AZURE_STORAGE_ACCOUNT_NAME"), ("account_key", "AZURE_STORAGE_ACCOUNT_KEY")),
)
_STORES = {"s3": _S3, "s3a": _S3, "gs": _GCS, "gcs": _GCS, "az": _AZURE, "abfs": _AZURE, "abfss": _AZURE}


def _as_arrow(filesystem: Any) -> Any:
    """Return PyArrow's file system of an object of PyArrow or fsspec."""
    fs = import_module("pyarrow.fs")
    if isinstance(filesystem, fs.FileSystem):
        return filesystem
    if hasattr(filesystem, "_strip_protocol") and hasattr(filesystem, "put_file"):
        return fs.PyFileSystem(fs.FSSpecHandler(filesystem))
    kind = type(filesystem).__name__
    raise TypeError(f"filesystem is a {kind}; pass a pyarrow.fs.FileSystem, or a file system of fsspec")


def _fsspec(scheme: str, options: Mapping[str, Any]) -> Any:
    """Open a file system that PyArrow does not have."""
    known = f"known without fsspec: {', '.join(_STORES)}, http, https, file"
    try:
        fsspec = import_module("fsspec")
    except ImportError as error:
        raise EngineUnavailableError(f"{scheme}:// needs fsspec", f"install fsspec; {known}") from error
    try:
        return _as_arrow(fsspec.filesystem(scheme, **options))
    except ValueError as error:
        raise EngineUnavailableError(f"{scheme}:// is not known", known) from error
    except ImportError as error:
        raise EngineUnavailableError(f"{scheme}:// needs another library: {error}", known) from error


def path_of(name: Any, opened_by: Access | None = None) -> Path:
    """Return the path or the address that a name stands for."""
    return name if isinstance(name, Address) and opened_by is None else (opened_by or Access()).path(name)


def located(name: Any, storage_options: Mapping[str, Any] | None = None, filesystem: Any = None) -> Any:
    """Return the path or the address that a name stands for; a stream stays one."""
    if not isinstance(name, (str, os.PathLike)):
        return name
    path = Access(storage_options, filesystem).path(name)
    return name if path == Path(name) else path  # a slash at its end says that it is a directory


def local_folder(name: Any, argument: str) -> Path:
    """Return the path of a directory that must be on this machine."""
    if scheme_of(name) not in (None, "file"):
        option = f"--{argument.replace('_', '-')}"
        hint = "name a directory of {}, which is on a disk of this machine"
        place = re.sub(r"(?<=//)[^/@]*@|\?.*", "", os.fspath(name))
        message = f"{argument} is {place}, and its files are locked and renamed, which stores cannot do"
        words = hint.format(argument), hint.format(option)
        raise OutputError(message, words[0], option=words)
    return path_of(name)
