"""The one result: the forest of an edge table, whichever driver found it."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass, field
from html import escape
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO, Literal, TypeAlias, Unpack

import pyarrow as pa

from dfmst._common.arguments import plural
from dfmst._common.machine import Tell, peak_memory
from dfmst._common.types import Array
from dfmst._edges.frames import open_host_frame
from dfmst._edges.read import EdgeColumns
from dfmst._edges.weights import Total
from dfmst.errors import UnsupportedFrameError
from dfmst.formats import write_edges
from dfmst.formats.stores import Located, located

if TYPE_CHECKING:
    from dfmst._trees.certificate import Certificate

Progress: TypeAlias = bool | Tell | None
File: TypeAlias = str | os.PathLike[str] | BinaryIO

_COUNTS = ("rows", "vertices", "components", "total_weight")
_RUN = ("driver", "algorithm", "engine", "threads", "files", "bytes_moved", "memory_limit", "peak_memory")


def kind_of(columns: EdgeColumns) -> str:
    """Return the name of the kind of forest."""
    if columns.weight is None:
        return "spanning forest"
    return "maximum spanning forest" if columns.maximum else "minimum spanning forest"


class ForestRows:
    """The driver's part of a forest; members have the meaning of those of :class:`Forest`."""

    frame: Any
    total_weight: Total | None
    positions: Array | None = None
    vertices: int | None = None
    trace: Any = None

    @property
    def peak_memory(self) -> int | None:
        return peak_memory()

    def certify(self, progress: Progress) -> Certificate:
        raise NotImplementedError

    def arrow(self) -> pa.Table:
        return open_host_frame(self.frame).to_arrow()

    def write(self, path: File, format: str | None) -> None:
        write_edges(self.arrow(), path, format)

    def write_certified(self, path: File, format: str | None, progress: Progress) -> Certificate:
        certificate = self.certify(progress)
        if certificate:
            self.write(path, format)
        return certificate

    def discard_checkpoint(self) -> None:
        pass

    def close(self) -> None:
        pass


@dataclass(eq=False, repr=False)
class Forest:
    """The forest of an edge table, found in memory, as a stream or on a cluster.

    Made by :func:`dfmst.forest.solve`, :func:`dfmst.stream.fold` and :func:`dfmst.dask.forest_of_files`. Rows, total
    weight, vertices and trace are computed when they are first read; ``None`` if the driver does not know them.

    Attributes
    ----------
    driver
        ``"memory"``, ``"stream"`` or ``"cluster"``.
    rows, source_rows
        Rows of the forest, and of the edge table.
    dropped
        Invalid rows of the edge table.
    algorithm
        Name of the algorithm that ran; on a cluster that of the strategy.
    engine, threads
        ``"cpu"`` or ``"cuda"``, and threads that kernels ran on; unknown on a cluster.
    memory_limit
        Limit of a stream's memory, in bytes.
    bytes_moved
        Bytes that the workers of a cluster sent to each other.
    path, files
        Directory that a cluster wrote, and number of files in it.
    """

    store: ForestRows = field(repr=False)
    columns: EdgeColumns = field(repr=False)
    driver: Literal["memory", "stream", "cluster"]
    rows: int
    source_rows: int
    dropped: int | None
    algorithm: str
    engine: str | None = None
    threads: int | None = None
    memory_limit: int | None = None
    bytes_moved: int | None = None
    path: Path | None = None
    files: int | None = None

    def __repr__(self) -> str:
        return f"<Forest: {', '.join(f'{name} {value}' for name, value in self._facts())}>"

    def _repr_html_(self) -> str:
        """Return the facts as a table, for notebooks."""
        rows = (f"<tr><th>{escape(name)}</th><td>{escape(value)}</td></tr>" for name, value in self._facts())
        return f"<table>{''.join(rows)}</table>"

    def _facts(self) -> Iterator[tuple[str, str]]:
        """Yield names and values of facts; a total that must be read from files is left out."""
        yield self.kind, f"of {plural(self.source_rows, 'row')}"
        known = self.driver == "memory" or "total_weight" in vars(self.store)
        counts = (self.rows, self.vertices, self.components, self.total_weight if known else None)
        for name, value in [*zip(_COUNTS, counts, strict=True), ("dropped rows", self.dropped or None)]:
            if value is not None:
                yield name.replace("_", " "), f"{value:,}" if isinstance(value, int) else str(value)
        for name in ("driver", "algorithm", "engine"):
            if getattr(self, name) is not None:
                yield name, str(getattr(self, name))

    def __getstate__(self) -> dict[str, Any]:
        """Return what is pickled and copied: all of a forest of a table in host memory."""
        if self.driver != "memory" or self.engine == "cuda":
            holds = "memory of a GPU" if self.driver == "memory" else "files of this process"
            message = f"this forest holds {holds}, and so is not pickled or copied"
            raise UnsupportedFrameError(message, "write it with .write(path), or pickle its .frame")
        return vars(self).copy()

    @property
    def frame(self) -> Any:
        """The forest's rows, in input order: the same kind of frame, all columns, and a pandas index.

        The forest of files is a ``pyarrow.Table``, which is read now; a stream then removes its checkpoint.
        """
        return self.store.frame

    @property
    def positions(self) -> Array | None:
        """The forest's row positions in the edge table, ascending; on the GPU for a frame in its memory."""
        return self.store.positions

    @property
    def trace(self) -> Any:
        """One record a round, as the same kind of frame; ``None`` if no trace was asked for."""
        return self.store.trace

    @property
    def vertices(self) -> int | None:
        """Vertices that occur in the edge table."""
        return self.store.vertices

    @property
    def components(self) -> int | None:
        """Connected components, that is trees of the forest; a vertex that only has self-loops is one."""
        return None if self.vertices is None else self.vertices - self.rows

    @property
    def total_weight(self) -> Total | None:
        """Sum of the forest's weights, exact for integers and decimals; ``None`` without a weight column."""
        return self.store.total_weight

    @property
    def peak_memory(self) -> int | None:
        """Peak memory in bytes of this process, or of a worker; ``None`` if the system does not report it."""
        return self.store.peak_memory

    @property
    def kind(self) -> str:
        """``"minimum spanning forest"``, ``"maximum spanning forest"`` or ``"spanning forest"``."""
        return kind_of(self.columns)

    def verify(self, progress: Progress = None) -> Certificate:
        """Prove that the rows are the forest; :func:`dfmst.verify` does so for rows of any origin.

        Parameters
        ----------
        progress
            A stream and a cluster read ids and weights of all rows again: True for a bar, or a function that is called
            with the rows (on a cluster: tasks) that are done, and all of them (``None``: unknown).

        Raises
        ------
        CapacityError
            A stream's linked forest, 100 bytes a vertex, does not fit the limit; on a cluster that of each worker.
        """
        return self.store.certify(progress)

    def write(self, path: File, format: str | None = None, **options: Unpack[Located]) -> None:
        """Write the rows to a file with the record of how they were made, and remove the checkpoint.

        Parameters
        ----------
        path, format, storage_options, filesystem
            As for :func:`dfmst.formats.write_edges`: a file, or a binary stream. An error leaves no file.
        """
        self.store.write(located(path, **options), format)

    def write_verified(
        self, path: File, format: str | None = None, progress: Progress = None, **options: Unpack[Located]
    ) -> Certificate:
        """Prove that the rows are the forest, and write them: :meth:`verify` and :meth:`write`, for files in one pass.

        If the certificate is false, nothing was written, and the checkpoint remains.
        """
        return self.store.write_certified(located(path, **options), format, progress)

    def report(self, **options: object) -> Any:
        """Make a page about graph, run and forest; see :func:`dfmst.report`."""
        return import_module("dfmst").report(self, **options)

    def summary(self) -> dict[str, Any]:
        """Return the facts of the run, as ``dfmst forest --json`` prints them."""
        facts = {name: getattr(self, name) for name in (*_COUNTS, *_RUN)}
        return {"kind": self.kind, "input_rows": self.source_rows, "dropped_rows": self.dropped, **facts}

    def to_arrow(self) -> pa.Table:
        """Return the forest as Arrow, whose schema says how it was made; a forest on a GPU is copied to the host.

        :func:`dfmst.update` and :func:`dfmst.stream.verify` read that record from a file.
        """
        return self.store.arrow()

    def discard_checkpoint(self) -> None:
        """Remove the checkpoint of a stream."""
        self.store.discard_checkpoint()

    def close(self) -> None:
        """Remove the files in ``spill_dir``, and let other runs use the directory of the checkpoint.

        A stream's rows cannot be read afterwards. Deleting this object does the same.
        """
        self.store.close()
