"""How addresses are opened: the file systems of their schemes, by options in the words of pandas, polars or PyArrow."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from contextlib import suppress
from importlib import import_module
from pathlib import Path
from typing import Any, NamedTuple, TypedDict
from urllib.parse import parse_qsl, unquote, urlsplit
from urllib.request import url2pathname

import pyarrow as pa

from dfmst.errors import EngineUnavailableError, OutputError, did_you_mean
from dfmst.formats.addresses import ATTEMPTS, Address, of_fsspec, scheme_of

_OPTIONS = re.compile(r"\?(\w+=.*)", re.DOTALL)  # after an address, as PyArrow writes them


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
            return name
        text = os.fspath(name)
        scheme = scheme_of(text)
        if self._filesystem is not None and scheme not in ("file", "http", "https"):
            return _in_filesystem(self._filesystem, text, scheme)
        if scheme is None:
            return Path(name)
        if scheme == "file":
            return Path(url2pathname(unquote(urlsplit(text).path)))
        if scheme in ("http", "https"):
            web: Path = import_module("dfmst.formats.web").WebPage(text)
            return web
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
            retries = fs.AwsStandardS3RetryStrategy(max_attempts=ATTEMPTS)
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
    return (opened_by or Access()).path(name)


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
