"""The types of the id columns of a source, which may differ between frames, and the type of ids in a result."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import pyarrow as pa

from dfmst._common.deferred import nw, pc
from dfmst._edges.unify import native_type
from dfmst._edges.view import View

_INTEGERS = {f"{sign}int{bits}" for sign in ("", "u") for bits in (8, 16, 32, 64)}  # in the words of all libraries


@dataclass
class IdKinds:
    """Types of id columns, in the order in which they came, and a frame without rows of the user's kind."""

    types: dict[Any, None] = field(default_factory=dict)  # of the frames' library
    view: View | None = None  # None: the source is files

    def note(self, view: View, names: Sequence[Any]) -> None:
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

    def frame(self, table: pa.Table) -> Any:
        """Return a table of ids as the user's kind of frame."""
        view = self.view
        if view is None:
            return table
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
