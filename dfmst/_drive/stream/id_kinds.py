"""Types of the id columns of a source, which may differ between frames, and of ids and groups in a result."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import pyarrow as pa

from dfmst._common.deferred import nw, pc
from dfmst._common.types import ColumnName
from dfmst._edges.arrow_values import arrow_column, plain_ids, plain_views
from dfmst._edges.unify import native_type
from dfmst._edges.view import View

_INTEGERS = {f"{sign}int{bits}" for sign in ("", "u") for bits in (8, 16, 32, 64)}  # in the words of all libraries


@dataclass
class IdKinds:
    """Types of id columns, in the order in which they came, and a frame without rows of the user's kind."""

    types: dict[Any, None] = field(default_factory=dict)  # of the frames' library
    view: View | None = None  # None: the source is files

    def note(self, view: View, names: Sequence[ColumnName]) -> None:
        """Note the types of another frame."""
        if self.view is None:
            self.view = view.part(0, 0)
        for name in names:
            self.types[native_type(view.series(name))] = None

    def arrow(self, encoded: pa.DataType | None) -> pa.DataType:
        """Return the Arrow type of ids in a result; `encoded` is that of a dictionary."""
        kinds = [kind for kind in self.types if isinstance(kind, pa.DataType) and not pa.types.is_null(kind)]
        if len(kinds) == 1:
            kind = kinds[0]
            if pa.types.is_dictionary(kind) and kind.index_type.bit_width < 32:  # a piece may have more than 127 ids
                return pa.dictionary(pa.int32(), kind.value_type)
            return kind
        names = {str(kind).lower().removesuffix("[pyarrow]") for kind in self.types} & _INTEGERS
        if names and (encoded is None or pa.types.is_integer(encoded)):  # a frame without rows may have another type
            unsigned = "uint64" in names and encoded != pa.int64()  # ids below 0 are signed in the dictionary, too
            return getattr(pa, names.pop() if len(names) == 1 else "uint64" if unsigned else "int64")()
        return pa.uint32() if encoded is None else encoded

    def cast(self, ids: pa.Array, kind: pa.DataType) -> pa.Array:
        """Cast ids to the type of their columns."""
        if pa.types.is_dictionary(kind):
            return ids.cast(kind.value_type).dictionary_encode().cast(kind)
        if pa.types.is_run_end_encoded(kind):
            return pc.run_end_encode(ids.cast(kind.value_type), kind.run_end_type)
        if isinstance(kind, pa.BaseExtensionType):
            return pa.ExtensionArray.from_storage(kind, ids.cast(kind.storage_type))
        return ids.cast(kind)

    def plain_type(self, name: ColumnName) -> pa.DataType:
        """Return the Arrow type of a column without an encoding; null if the frames' library does not say it."""
        if self.view is None:
            (kind,) = self.types
            return plain_views().get(kind, kind)
        # Arrow takes no rows of views and of runs.
        return plain_ids(arrow_column(name, self.view.column(name))).type

    def frame(self, table: pa.Table, named: Mapping[object, pa.DataType]) -> Any:
        """Return a table of ids as the user's kind of frame; `named` are columns of groups that come first, and ids."""
        view = self.view
        if view is None:
            return table
        if named:
            return table if view.on_device else self._in_groups(view, table, named)
        kind: Any = next(iter(self.types)) if len(self.types) == 1 else None
        if hasattr(kind, "pyarrow_dtype"):  # pandas itself does not cast to all of its Arrow types
            cast = pa.table({name: self.cast(table[name], kind.pyarrow_dtype) for name in table.column_names})
            return view.finish(nw.from_native(cast.to_pandas(types_mapper=type(kind)), eager_only=True))
        native = view.plain().build_arrow(dict(zip(table.column_names, table, strict=True)))
        if view.on_device:
            kinds = {name: native[name].dtype if kind is None else kind for name in table.column_names}
            return view.build({name: native[name].astype(each) for name, each in kinds.items()})
        if kind is not None and view.library == "pandas":
            native = native.astype(kind)
        elif kind is not None and view.library == "polars":
            native = native.cast(kind)
        return view.finish(nw.from_native(native, eager_only=True))

    def _in_groups(self, view: View, table: pa.Table, named: Mapping[object, pa.DataType]) -> Any:
        """Return a table of groups, then ids, in the types of their columns."""
        native = view.build_arrow({name: table.column(name) for name in table.column_names})
        frame = nw.from_native(native, eager_only=True)
        *names, source = named
        untyped = {name for name in named if pa.types.is_null(self.plain_type(name))}
        wanted = {str(name): name for name in names} | dict.fromkeys(frame.columns[len(names) :], source)
        casts = [
            nw.col(column).cast(view.frame.schema[name])
            for column, name in wanted.items()
            if name not in untyped
            and view.frame.schema[name] not in (nw.Object, nw.Unknown, frame.schema[column])
            and (view.frame.schema[name] != nw.Categorical or frame.schema[column] == nw.String)
        ]
        return nw.to_native(frame.with_columns(*casts))
