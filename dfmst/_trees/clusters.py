"""Clusters, the components of a forest without its heaviest edges; the dendrogram of all of them; lasting names."""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterable
from dataclasses import replace
from functools import reduce
from types import ModuleType
from typing import Any, Literal, NamedTuple, Unpack, overload

import narwhals.stable.v2 as nw
import numpy as np
import pyarrow as pa

from dfmst._common.arguments import real_number
from dfmst._common.deferred import pc
from dfmst._common.types import Array, Column, ColumnName, Columns, EndNames, Frame, FrameT, Scalar, Vertices
from dfmst._edges.arrow_values import arrow_column, ascends, check_distinct, label_array, plain_ids
from dfmst._edges.frame_rows import check_libraries, decoded, take_or_null
from dfmst._edges.frames import host_only
from dfmst._edges.host_frame import FrameView, host_column
from dfmst._edges.unify import family_of, native_type, series_type
from dfmst._edges.vertex_list import Groups, VertexList
from dfmst._edges.vertices import ids_like
from dfmst._engines.primitives.kruskal_tree import Merges, merge_clusters
from dfmst._trees.cut import Thresholds, cut, in_type
from dfmst._trees.ordered import OrderedForest, constrained, order_forest
from dfmst._trees.request import Request, Solving, with_options
from dfmst.errors import InvalidEdgesError, UnsupportedFrameError, missing_column

#: Names of columns of labels of hdbscan, whose noise is -1.
NOISY = re.compile(r"label\d*")
_ON_HOST = "clusters are compared on the host"
_EVENTS = np.array(["new", "kept", "grown", "merged", "split", "gone"])
_NEW, _KEPT, _GROWN, _MERGED, _SPLIT, _GONE = range(len(_EVENTS))


@with_options("memory")
def relabel(new: Frame, old: Frame, *, vertex: str = "vertex", cluster: ColumnName = None) -> tuple[Any, Any]:
    """Give clusters the names of earlier ones, and list what happened to each of them.

    A cluster keeps the name of the old cluster that most of its old members were in; of equally many, the smaller name.
    If several clusters are entitled to one name, the one with most members of the old cluster has it (of equally many,
    the one with the smaller label in `new`). Every other cluster has a name that no cluster had in `old`: its label in
    `new`; if that is taken, its smallest free member; if labels are not members, the next free number or text.

    Parameters
    ----------
    new
        Labels of this run, one row a vertex, as :func:`clusters` or :func:`connected_components` returns them.
    old
        Labels of the last run, best those that this function returned. Vertices may come and go.
    vertex
        Name of the column of vertices in both frames.
    cluster
        Name of the column of labels in both frames; ``None``: the only other column of each. A row with a null is in no
        cluster. Nor is noise, -1 of a column ``label`` (or ``label5``) as :func:`hdbscan` returns it: it stays -1.

    Returns
    -------
    labels
        `new` with the names in place of its labels.
    events
        The same kind of frame, one row a name in ascending order: ``cluster``; ``event``; ``before`` and ``after``,
        its sizes in `old` and in `new`; ``origin``, the old cluster of most of its old members; ``into``, the name that
        most of its old members have now (null: none). Events are ``"new"`` (no old members), ``"merged"`` (members of
        several old clusters), ``"split"`` (other clusters have members of its only old cluster), ``"grown"`` (all
        other members are new vertices), ``"kept"`` (no other members), ``"gone"`` (no cluster has the name now).

    Raises
    ------
    InvalidEdgesError
        Null or repeated vertices, several columns of labels and none named, columns that do not compare; -1 that may be
        noise or a cluster: another column than ``label`` has it, and no vertex is negative.
    ColumnNotFoundError, UnsupportedFrameError
        As for :func:`minimum_spanning_forest`; also for frames on a GPU.

    Examples
    --------
    >>> import pandas as pd
    >>> import dfmst
    >>> monday = pd.DataFrame({"vertex": [1, 2, 3, 4, 5], "cluster": [1, 1, 3, 3, 3]})
    >>> tuesday = pd.DataFrame({"vertex": [1, 2, 3, 4, 5, 6], "cluster": [1, 1, 1, 4, 4, 6]})
    >>> labels, events = dfmst.relabel(tuesday, monday)
    >>> labels.cluster.tolist()
    [1, 1, 1, 3, 3, 6]
    >>> events
       cluster   event  before  after  origin  into
    0        1  merged       2      3       1     1
    1        3   split       3      2       3     3
    2        6     new       0      1    <NA>  <NA>
    """
    this, last = _read_both(new, old, vertex, cluster, cluster)
    flow = _flow(this, last)
    names = _names(this, last, flow)
    return this.view.finish(_labels(this, names)), this.view.finish(_events(this, last, flow, names))


def with_old_names(new: nw.DataFrame[Any], old: Frame, cluster: Any) -> nw.DataFrame[Any]:
    """Return a frame of labels in which one column has the names of an earlier frame."""
    names = host_only(old, "old", _ON_HOST).places
    earlier = "label" if "label" in names and cluster not in names else cluster
    this, last = _read_both(nw.to_native(new), old, "vertex", cluster, earlier)
    return _labels(this, _names(this, last, _flow(this, last)))


class _Labels(NamedTuple):
    """Labeled vertices; clusters are numbered by first occurrence."""

    view: FrameView
    names: tuple[Any, Any]  # columns of vertices and of labels
    vertex: pa.Array
    code: Array  # cluster of each row, ``int64``; -1: none
    label: pa.Array  # of each cluster
    first: Array  # a row of each cluster
    rank: Array  # of each cluster by its label
    noise: Array | None  # rows of noise; None: the column may have none


def _read_both(new: Frame, old: Frame, vertex: Any, *clusters: Any) -> tuple[_Labels, _Labels]:
    views = {which: host_only(frame, which, _ON_HOST) for which, frame in (("new", new), ("old", old))}
    check_libraries(*views.items())
    called = zip(views.items(), clusters, strict=True)
    names = [(vertex, _label_name(view, which, vertex, cluster)) for (which, view), cluster in called]
    columns = list(zip(*(_columns(*item, *pair) for item, pair in zip(views.items(), names, strict=True)), strict=True))
    ids, labels = (ids_like(*pair) for pair in columns)
    arrow = [arrow_column(name, values) for (name, _), values in zip(columns[0], ids[:2], strict=True)]
    for (name, _), values, nulls in zip(columns[0], arrow, ids[2:], strict=True):
        check_distinct(name, values, nulls, "pass one row a vertex")
    negative = any(pa.types.is_signed_integer(values.type) and (pc.min(values).as_py() or 0) < 0 for values in arrow)
    noise = [_noise(*each, negative) for each in zip(names, columns[1], labels[:2], strict=True)]
    numbered = [_numbered(*parts) for parts in zip(labels[:2], labels[2:], noise, strict=True)]
    this, last = (
        _Labels(*parts) for parts in zip(views.values(), names, arrow, *zip(*numbered, strict=True), noise, strict=True)
    )
    return this, last


def _columns(which: str, view: FrameView, *names: ColumnName) -> list[tuple[str, Any]]:
    """Return columns, each with a name for messages."""
    return [(f"{name} of {which}", view.column(name)) for name in names]


def _label_name(view: FrameView, which: str, vertex: ColumnName, cluster: ColumnName) -> Any:
    """Return the name of the column of labels."""
    for name in (vertex, *([] if cluster is None else [cluster])):
        if name not in view.places:
            raise missing_column(name, view.places, f"{which} needs a column of vertices and a column of labels")
    others = [name for name in view.places if name != vertex] if cluster is None else [cluster]
    if len(others) != 1:
        listed = ", ".join(map(repr, others)) or "none"
        raise InvalidEdgesError(f"{which} has {len(others)} columns of labels: {listed}", "name one with cluster=")
    return others[0]


def _noise(names: EndNames, column: tuple[str, Column], labels: Any, negative: bool) -> Array | None:
    """Flag the rows of noise; raise an error if -1 may be a cluster as well."""
    named = NOISY.fullmatch(str(names[1])) is not None
    minus: Array = labels == -1 if isinstance(labels, np.ndarray) else np.zeros(len(labels), bool)
    if named and not isinstance(labels, np.ndarray) and family_of((texts := plain_ids(labels)).type) == "text":
        minus = np.asarray(pc.equal(texts, "-1").fill_null(False))
    if not named and not negative and minus.any():
        row = int(minus.argmax())
        message = f"{column[0]} is -1 in {int(minus.sum()):,} rows, the first is row {row}: noise, or a cluster"
        hint = "if it is noise, name the column label; if it is a cluster, give it another number"
        raise InvalidEdgesError(message, hint, row=row)
    return minus if named else None


def _numbered(labels: object, nulls: Array | None, noise: Array | None) -> tuple[Array, pa.Array, Array, Array]:
    """Number labels by their first occurrence: codes, labels, first rows and ranks."""
    nulls = nulls if noise is None else noise if nulls is None else nulls | noise
    if isinstance(labels, np.ndarray):
        labels = pa.array(labels, mask=nulls)
    elif noise is not None:
        labels = pc.if_else(noise, None, labels)
    encoded = pc.dictionary_encode(labels)
    code = pc.fill_null(encoded.indices, -1).to_numpy().astype(np.int64)
    rows = np.flatnonzero(code >= 0)[::-1]
    first, rank = (np.empty(len(encoded.dictionary), np.int64) for _ in range(2))
    first[code[rows]] = rows  # later assignments win
    rank[_ascending(encoded.dictionary)] = np.arange(len(rank))
    return code, encoded.dictionary, first, rank


def _ascending(column: pa.Array) -> Array:
    """Return the places of different entries in ascending order."""
    places: Array = np.arange(len(column)) if ascends(column) else pc.sort_indices(column).to_numpy()
    return places


class _Flow(NamedTuple):
    """Members that new and old clusters have in common; -1 stands for no cluster."""

    origin: Array  # of each new cluster: the old one of most of its old members
    common: Array  # number of these members
    sources: Array  # of each new cluster: number of old ones that it has members of
    keeper: Array  # of each old cluster: the new one that has its name
    into: Array  # of each old cluster: the new one that has most of its members
    parts: Array  # of each old cluster: number of new ones that have members of it


def _flow(new: _Labels, old: _Labels) -> _Flow:
    """Count common members."""
    match = pc.fill_null(pc.index_in(new.vertex, value_set=old.vertex), -1).to_numpy()
    earlier = np.append(old.code, -1)[match]
    known, width = (earlier >= 0) & (new.code >= 0), max(1, len(old.label))
    pair, count = np.unique(new.code[known] * width + earlier[known], return_counts=True)
    after, before = pair // width, pair % width
    origin, common = np.full(len(new.label), -1), np.zeros(len(new.label), np.int64)
    keeper, into = np.full(len(old.label), -1), np.full(len(old.label), -1)
    best = _least(after, -count, old.rank[before])
    origin[after[best]], common[after[best]] = before[best], count[best]
    best = _least(before, -count, new.rank[after])
    into[before[best]] = after[best]
    claims = np.flatnonzero(origin >= 0)
    best = claims[_least(origin[claims], -common[claims], new.rank[claims])]
    keeper[origin[best]] = best
    sources, parts = (np.bincount(*each) for each in ((after, None, len(origin)), (before, None, len(into))))
    return _Flow(origin, common, sources, keeper, into, parts)


def _least(group: Array, *keys: Array) -> Array:
    """Return the place of each group's least entry by the keys, in the order of the keys."""
    several = np.bincount(group)[group] > 1 if len(group) else np.zeros(0, bool)
    rest = np.flatnonzero(several)  # few of many groups
    rest = rest[np.lexsort((*(key[rest] for key in keys[::-1]), group[rest]))]
    ordered = group[rest]
    first = np.append(True, ordered[1:] != ordered[:-1])[: len(ordered)]
    return np.concatenate([np.flatnonzero(~several), rest[first]])


class _Names(NamedTuple):
    """Names in the user's type, then that of noise; and the place of the name of each new and of each old cluster."""

    series: nw.Series[Any]
    new: Array
    old: Array


def _names(new: _Labels, old: _Labels, flow: _Flow) -> _Names:
    """Name every new cluster."""
    count, places = len(new.label), np.arange(len(new.label) + len(old.label))
    at = places[:count].copy()
    kept = np.flatnonzero(flow.keeper >= 0)
    at[flow.keeper[kept]] = count + kept
    taken = np.asarray(pc.index_in(new.label, value_set=old.label).is_valid())
    nameless = np.flatnonzero((at < count) & taken)
    parts = [take_or_null(each.view.series(each.names[1]), each.first) for each in (new, old)]
    if len(nameless):
        used = pa.concat_arrays([new.label, old.label])
        rows = _free_members(new, nameless, used)
        found = nameless[rows >= 0]
        at[found] = len(places) + np.arange(len(found))
        parts.append(take_or_null(new.view.series(new.names[0]), rows[rows >= 0]))
        rest = nameless[rows < 0]
        at[rest] = len(places) + len(found) + np.arange(len(rest))
        used = pa.concat_arrays([used, new.vertex]) if len(found) else used
        parts.append(_further_names(new, rest, used, parts[0]))
    if new.noise is not None:
        parts.append(take_or_null(new.view.series(new.names[1]), np.flatnonzero(new.noise)[:1]))
    return _Names(_stacked(parts), at, places[count:])


def _free_members(new: _Labels, clusters: Array, used: pa.Array) -> Array:
    """Return the row of the smallest free member of each cluster; -1 if all are names, or labels are not members."""
    rows = np.full(len(clusters), -1)
    if new.label.type != new.vertex.type or new.noise is not None:
        return rows
    match = pc.fill_null(pc.index_in(new.label, value_set=new.vertex), -1).to_numpy()
    if (np.append(new.code, -1)[match] != np.arange(len(new.label))).any():
        return rows
    wanted = np.zeros(len(new.label), bool)
    wanted[clusters] = True
    members = np.flatnonzero((new.code >= 0) & wanted[new.code])
    members = members[~np.asarray(pc.index_in(new.vertex.take(pa.array(members)), value_set=used).is_valid())]
    members = members[pc.sort_indices(new.vertex.take(pa.array(members))).to_numpy()]
    code, first = np.unique(new.code[members], return_index=True)
    rows[np.searchsorted(clusters, code)] = members[first]
    return rows


def _further_names(new: _Labels, clusters: Array, used: pa.Array, like: nw.Series[Any]) -> nw.Series[Any]:
    """Return free numbers or texts for clusters."""
    names: list[Any] = []
    if len(clusters) and pa.types.is_integer(new.label.type):
        names = _free_numbers(len(clusters), used, like)
    elif len(clusters):
        known = set(used.to_pylist())
        for label in new.label.take(pa.array(clusters)).to_pylist():
            if not isinstance(label, str):
                message = f"cluster {label!r} of new needs another name: an old cluster is called so"
                raise InvalidEdgesError(message, "label clusters with integers or strings")
            name = next(name for name in (f"{label}-{number}" for number in itertools.count(2)) if name not in known)
            known.add(name)
            names.append(name)
    kind = nw.String if names and isinstance(names[0], str) else like.dtype if names else None
    return nw.new_series("", names, kind, backend=like.implementation)


def _free_numbers(count: int, used: pa.Array, like: nw.Series[Any]) -> list[int]:
    """Return the numbers after those in use, or the least free ones if the type of a column does not hold those."""
    limits = np.iinfo(str(like.dtype).lower() if like.dtype.is_integer() else np.int64)
    first = pc.max(used).as_py() + 1
    if first + count - 1 <= limits.max:
        return list(range(first, first + count))
    known = set(used.to_pylist())
    free = list(itertools.islice((number for number in range(int(limits.max) + 1) if number not in known), count))
    if len(free) < count:
        message = f"labels of new are {native_type(like)}, which has no number for another cluster"
        raise InvalidEdgesError(message, "cast them to int64")
    return free


def _stacked(parts: list[nw.Series[Any]]) -> nw.Series[Any]:
    """Stack columns of names."""
    parts = [part for place, part in enumerate(parts) if place == 0 or len(part)]
    if len({native_type(part) for part in parts}) > 1:
        parts = [decoded(part) for part in parts]
    if len({native_type(part) for part in parts}) > 1:
        kinds = [series_type(parts[0], part) for part in parts[1:]]
        if None in kinds:
            if not len(parts[0]):  # an empty column may have any type
                return _stacked(parts[1:])
            message = f"labels of new are {native_type(parts[0])}, and labels of old are {native_type(parts[1])}"
            raise InvalidEdgesError(message, "cast both to one type")
        wide = reduce(lambda one, other: nw.UInt64 if nw.UInt64 in (one, other) else other, kinds)
        parts = [part.cast(wide) for part in parts]
    frames = [nw.maybe_reset_index(part.alias("name").to_frame()) for part in parts]
    return nw.concat(frames, how="vertical").get_column("name")


def _labels(new: _Labels, names: _Names) -> nw.DataFrame[Any]:
    """Return the new frame with names in place of its labels."""
    at, missing = np.append(names.new, len(names.series) - 1)[new.code], new.code < 0
    column = take_or_null(names.series, at, missing if new.noise is None else missing & ~new.noise)
    return new.view.frame.with_columns(column.alias(new.names[1]))


def _events(new: _Labels, old: _Labels, flow: _Flow, names: _Names) -> nw.DataFrame[Any]:
    """Return one row a name."""
    sizes = [np.bincount(each.code[each.code >= 0], minlength=len(each.label)) for each in (new, old)]
    gone = np.flatnonzero(flow.keeper < 0)
    origin, none = flow.origin, np.zeros(len(gone), np.int64)
    keeps = np.append(flow.keeper, -1)[origin] == np.arange(len(origin))
    event = np.where(sizes[0] > flow.common, _GROWN, _KEPT)
    event[np.append(flow.parts, 0)[origin] > 1] = _SPLIT
    event[flow.sources > 1] = _MERGED
    event[flow.sources == 0] = _NEW
    place = np.concatenate([names.new, names.old[gone]])
    before = np.concatenate([np.where(keeps, np.append(sizes[1], 0)[origin], 0), sizes[1][gone]])
    came = np.concatenate([np.append(names.old, -1)[origin], none - 1])
    into = np.concatenate([np.where(keeps, np.append(flow.into, -1)[origin], -1), flow.into[gone]])
    into = np.append(names.new, -1)[into]
    called = take_or_null(names.series, place, place < 0).alias("cluster")
    order = _ascending(plain_ids(arrow_column("cluster", host_column("cluster", called))))
    numbers = {
        "event": _EVENTS[np.concatenate([event, none + _GONE])[order]].tolist(),
        "before": before[order],
        "after": np.concatenate([sizes[0], none])[order],
    }
    backend = called.implementation
    columns = [nw.new_series(name, values, backend=backend) for name, values in numbers.items()]
    columns += [
        take_or_null(names.series, at[order], at[order] < 0).alias(name)
        for name, at in (("origin", came), ("into", into))
    ]
    return take_or_null(names.series, place[order], place < 0).alias("cluster").to_frame().with_columns(*columns)


@with_options("memory", "edges")
def clusters(
    edges: FrameT,
    source: ColumnName = "source",
    target: ColumnName = "target",
    weight: ColumnName | None = "weight",
    *,
    n_clusters: int | Iterable[int] | None = None,
    distance: Scalar | Iterable[Scalar] | None = None,
    vertices: Vertices | None = None,
    by: Columns | None = None,
    max_size: int | None = None,
    one_per: Columns | None = None,
    previous: Frame | None = None,
    maximum: bool = False,
    **options: Unpack[Solving],
) -> FrameT:
    """Cut the forest of an edge table into clusters: single-linkage clusters, at one threshold or several.

    Two vertices are in one cluster if a path of the remaining edges joins them. Clusters at a lower threshold are
    contained within those at a higher one, and each is called after its smallest vertex, so that names are stable
    between runs.

    Parameters
    ----------
    edges, source, target, weight, algorithm, engine, invalid, threads
        As for :func:`minimum_spanning_forest`. Edges of the forest alone give the same clusters.
    n_clusters
        Number of clusters: the heaviest edges of the forest are cut, of equal ones the later row first. Several
        numbers give a column each.
    distance
        The heaviest weight that is not cut. A number of Python is compared in the type of the weights, as pandas and
        polars do: 0.9 is equal to a ``float32`` 0.9. Other types that compare with the weights, such as NumPy's, are
        compared exactly. Several weights give a column each.
    vertices
        All vertices, as for :func:`connected_components`: those without edges are clusters of their own.
    by
        A column, or a list of columns, of groups of rows, each of which has its own clusters; `n_clusters` are those
        of each group.
    max_size, one_per
        Conditions on clusters. Rows are merged in their order, and a row is skipped if its cluster would break one.
        This needs all rows: those of the forest alone may give other clusters. Without `n_clusters` and `distance`
        all rows are merged. `max_size` is the largest number of vertices. `one_per` says of which vertices a cluster
        has at most one: the name of `source` or `target`, those of this column (links between two tables of records,
        one to one); two columns of the edges, which hold a property of the source and of the target, those of equal
        properties (records of one source data set); or such a column of `vertices`, a frame with ids in its column
        ``vertex``. Vertices with a null have no such condition.
    previous
        Clusters of an earlier run, with the same columns: clusters keep their names as :func:`relabel` says. Or labels
        of :func:`hdbscan`: noise, -1 of its column ``label``, is no cluster. Not with `by`.
    maximum
        Weights are similarities: the maximum spanning forest is cut, its lightest edges first; `distance` is then the
        lightest weight that is not cut.

    Returns
    -------
    clusters
        The same kind of frame, one row a vertex in ascending order: ``vertex``, and ``cluster``, the smallest vertex
        of its cluster. Of several thresholds one column each instead: ``d5``, ``d10`` for ``distance=[5, 10]``,
        ``k2``, ``k3`` for ``n_clusters=[2, 3]``. With `by` as for :func:`connected_components`.

    Raises
    ------
    InvalidEdgesError
        There are more components, or fewer vertices, than clusters to make; the conditions allow no such number; a
        vertex has two properties.
    ValueError
        Neither or both of `n_clusters` and `distance`, or a distance that does not compare with the weights.
    ColumnNotFoundError, UnsupportedFrameError, EngineUnavailableError, CapacityError
        As for :func:`connected_components`.

    Examples
    --------
    >>> import pandas as pd
    >>> import dfmst
    >>> roads = pd.DataFrame({"source": [1, 2, 3, 4], "target": [2, 3, 4, 5], "weight": [1, 9, 2, 4]})
    >>> dfmst.clusters(roads, n_clusters=2).cluster.tolist()
    [1, 1, 3, 3, 3]
    >>> dfmst.clusters(roads, distance=[1, 2, 9])
       vertex  d1  d2  d9
    0       1   1   1   1
    1       2   1   1   1
    2       3   3   3   1
    3       4   4   3   1
    4       5   5   5   1
    >>> dfmst.clusters(roads, max_size=2).cluster.tolist()
    [1, 1, 3, 3, 5]

    References
    ----------
    Gower and Ross: Minimum spanning trees and single linkage cluster analysis. Applied Statistics 18 (1969).
    """
    conditions = max_size is not None or one_per is not None
    request = Request.of(source, target, weight, maximum=maximum, by=by, joint_keys=False, **options)
    source, target, weight = request.columns.names
    thresholds = Thresholds.of(n_clusters, distance, weight, maximum=request.columns.maximum, optional=conditions)
    if conditions and by is not None and n_clusters is not None:
        raise ValueError("n_clusters= and by= cannot be combined with max_size= or one_per=; leave one of them out")
    if previous is not None and by is not None:
        raise ValueError("previous= and by= cannot be combined: call clusters once for each group")
    ordered = order_forest(edges, request, vertices, all_rows=conditions)
    listed = ordered.listed
    with ordered.engine.guard():
        forest = constrained(ordered, max_size, one_per, vertices) if conditions else ordered
        labels = {"vertex": listed.engine.xp.arange(len(listed)), **cut(forest, listed, thresholds)}
        found: FrameT = listed.frame(labels) if previous is None else _with_old_names(listed, labels, previous)
        return found


def _with_old_names(listed: VertexList, labels: dict[str, Array], previous: Frame) -> Any:
    """Build the frame of labels, with the names of earlier clusters."""
    if listed.view.on_device:
        message = "clusters are compared with previous ones on the host, and this frame is on a GPU"
        raise UnsupportedFrameError(message, "leave previous= out, and pass .to_arrow() of both to dfmst.relabel")
    plain = replace(listed, view=listed.view.plain())
    named = nw.from_native(plain.frame(labels), eager_only=True)
    for name in list(labels)[1:]:
        named = with_old_names(named, previous, name)
    return listed.view.finish(named)


@overload
def single_linkage(
    edges: FrameT,
    source: ColumnName = ...,
    target: ColumnName = ...,
    weight: ColumnName | None = ...,
    *,
    vertices: Vertices | None = ...,
    by: Columns | None = ...,
    join: float | None = ...,
    as_scipy: Literal[False] = False,
    **options: Unpack[Solving],
) -> FrameT: ...
@overload
def single_linkage(
    edges: FrameT,
    source: ColumnName = ...,
    target: ColumnName = ...,
    weight: ColumnName | None = ...,
    *,
    vertices: Vertices | None = ...,
    by: Columns | None = ...,
    join: float | None = ...,
    as_scipy: Literal[True],
    **options: Unpack[Solving],
) -> tuple[Array, Array]: ...
@with_options("memory", "edges")
def single_linkage(
    edges: FrameT,
    source: ColumnName = "source",
    target: ColumnName = "target",
    weight: ColumnName | None = "weight",
    *,
    vertices: Vertices | None = None,
    by: Columns | None = None,
    join: float | None = None,
    as_scipy: bool = False,
    **options: Unpack[Solving],
) -> FrameT | tuple[Array, Array]:
    """Return the single-linkage dendrogram of an edge table: one row a merge, in ascending distance.

    Parameters
    ----------
    edges, source, target, weight, algorithm, engine, invalid, threads
        As for :func:`minimum_spanning_forest`. Edges of the forest alone give the same dendrogram.
    vertices
        All vertices, as for :func:`connected_components`.
    by
        A column, or a list of columns, of groups of rows, each of which has its own dendrogram; not with `join` and
        `as_scipy`.
    join
        Distance at which components are joined in the end, the one with the smallest vertex first; ``None``: they
        stay apart. ``numpy.inf`` is beyond all others.
    as_scipy
        Return SciPy's linkage matrix and the ids of its observations instead.

    Returns
    -------
    merges
        The same kind of frame: ``left``, ``right`` (clusters, the smaller number first), ``distance`` (in the
        weights' type; the nearest ``float64`` with `join`) and ``size`` (vertices of the new cluster). Of n vertices,
        those from 0 to n - 1 are the vertices in ascending order, as :func:`connected_components` lists them, and
        n + r is the cluster that row r makes. Equal distances are in the forest's order, by row. With `by` its columns
        come first, and clusters and rows are counted within each group.
    matrix, ids
        With `as_scipy`: shape ``(n - 1, 4)`` of ``float64``, for ``scipy.cluster.hierarchy``; and the vertices in
        ascending order: an array of numbers, or of texts, also of dates and times.

    Raises
    ------
    InvalidEdgesError
        SciPy's matrix of several components that are not joined; a distance to join them at that is below another one.
    ColumnNotFoundError, UnsupportedFrameError, EngineUnavailableError, CapacityError
        As for :func:`connected_components`.

    Examples
    --------
    >>> import pandas as pd
    >>> import dfmst
    >>> roads = pd.DataFrame({"source": [1, 2, 3, 4], "target": [2, 3, 4, 5], "weight": [1, 9, 2, 4]})
    >>> dfmst.single_linkage(roads)
       left  right  distance  size
    0     0      1         1     2
    1     2      3         2     2
    2     4      6         4     3
    3     5      7         9     5

    References
    ----------
    Gower and Ross: Minimum spanning trees and single linkage cluster analysis. Applied Statistics 18 (1969).
    """
    join = None if join is None else real_number("join", join)
    if join is not None and np.isnan(join):
        raise InvalidEdgesError("join is nan, and it must be a distance", "join components for example at numpy.inf")
    if by is not None and (join is not None or as_scipy):
        raise ValueError("join= and as_scipy= cannot be combined with by=: call single_linkage once for each group")
    request = Request.of(source, target, weight, by=by, joint_keys=False, **options)
    forest, weight = order_forest(edges, request, vertices), request.columns.weight
    with forest.engine.guard():
        left, right, size = merge_clusters(forest.engine, forest.source, forest.target, forest.vertices)
        merges = Merges(left.view(np.int64), right.view(np.int64), size.astype(np.int64))
        begin: dict[Any, Any] = {}
        if forest.listed.groups is not None:
            forest, merges, begin = _in_groups(forest, forest.listed.groups, merges)
        if join is not None:
            join = join if weight is None else float(in_type(join, forest.weights(weight)))
            merges = _joined(forest.engine.xp, merges, forest.vertices)
        if as_scipy:
            return _matrix(forest, merges, weight, join), label_array(forest.listed.arrow())
        distance = None if join is None and weight is not None else _distances(forest, merges, weight, join)
        frame = {"left": merges.left, "right": merges.right, "distance": distance, "size": merges.size}
        built: FrameT = forest.build(weight, frame, begin)
        return built


def _in_groups(forest: OrderedForest, groups: Groups, merges: Merges) -> tuple[OrderedForest, Merges, dict[Any, Any]]:
    """Order edges and merges by group, count clusters within groups, and name the groups."""
    xp, (group, place, order) = forest.engine.xp, forest.places_in_groups()
    first, size = groups.begin[group], groups.sizes[group]

    def count_within(cluster: Array) -> Array:
        made = cluster - forest.vertices
        return xp.where(made < 0, cluster - first, size + place[xp.maximum(made, 0)])[order]  # type: ignore[no-any-return]

    within = Merges(count_within(merges.left), count_within(merges.right), merges.size[order])
    named = groups.columns(forest.view, group[order], [*Merges._fields, "distance"])
    return replace(forest, rows=forest.rows[order]), within, named


def _joined(xp: ModuleType, merges: Merges, vertices: int) -> Merges:
    """Join the remaining clusters one after the other, the one with the smallest number first."""
    count = len(merges.size)
    whole = xp.ones(vertices + count, bool)
    whole[merges.left] = whole[merges.right] = False
    rest = xp.flatnonzero(whole)
    if len(rest) < 2:
        return merges
    sizes = xp.concatenate([xp.ones(vertices, np.int64), merges.size])[rest]
    chain = vertices + count + xp.arange(len(rest) - 2)
    return Merges(
        xp.concatenate([merges.left, rest[:1], rest[2:]]),
        xp.concatenate([merges.right, rest[1:2], chain]),
        xp.concatenate([merges.size, xp.cumsum(sizes)[1:]]),
    )


def _distances(forest: OrderedForest, merges: Merges, weight: ColumnName, join: float | None) -> Array:
    """Distances of all merges, ``float64``."""
    distance: Array = forest.engine.xp.full(len(merges.size), np.nan if join is None else join)
    distance[: len(forest)] = forest.distances(weight)
    if join is not None and len(forest) < len(distance):
        longer = int((~(distance[: len(forest)] <= join)).sum())
        if longer:
            message = f"join is {join:g}, and {longer:,} edges of the forest are not below it"
            raise InvalidEdgesError(message, "join components at no less than their edges, for example at numpy.inf")
    return distance


def _matrix(forest: OrderedForest, merges: Merges, weight: ColumnName, join: float | None) -> Array:
    if len(merges.size) < forest.vertices - 1:
        message = f"{forest.trees:,} components; SciPy's matrix has one tree"
        raise InvalidEdgesError(message, "join them: join=numpy.inf")
    distance = _distances(forest, merges, weight, join)
    columns = map(forest.engine.to_host, (merges.left, merges.right, distance, merges.size))
    return np.column_stack(list(columns)).astype(np.float64)
