// Prim's algorithm over adjacency lists, one candidate a round, by a minimum reduction that carries its index (the other
// form: prim.cuh).

// Candidates stand in columns from `front` on: their vertex and the lightest edge from a tree to it (see propose; ~0:
// none). place[vertex] is the place of the vertex's candidate. Those before `front` have joined.

// A candidate's lightest edge, and its place.
struct Least {
  u64 value, at;
};

// The indices [32 g, 32 g + 32) are group g of `groups`, which has its part of the entries [front, end) of a column.
// True for the group's first index, which then holds the group's least. For CUDA it is a tree of exchanges among the
// threads of a warp: of 16,384 entries in 128 groups each thread looks at 4, and a warp takes a fifth of the instructions
// and reads a third of the sectors that a thread alone does (counted in tests/ptx). On a CPU (whose TILE is 1) that index
// goes through all of the group's entries.
[[maybe_unused]] const u64 GROUP = 32;
template <typename K>
DEVICE bool least_of_group(const u64* column, u64 front, u64 end, u64 i, u64 groups, const K* key, Least* least) {
  const u64 lane = i % GROUP, share = (end - front + groups - 1) / groups, begin = front + i / GROUP * share;
  if (lane >= TILE) return false;
  u64 value = ~0ull;
  u32 at = (u32)front;
  for (u64 j = begin + lane; j < begin + share && j < end; j += TILE)
    if (lighter(column[j], value, key)) {
      value = column[j];
      at = (u32)j;
    }
  for (u32 step = TILE / 2; step; step /= 2) {
    const u64 other = exchange(value, step);
    const u32 other_at = exchange(at, step);
    if (lighter(other, value, key)) {
      value = other;
      at = other_at;
    }
  }
  *least = Least{value, at};
  return lane == 0;
}

// First launch of the reduction: every group's least, its value and its index.
KERNEL_OF(K, least_of_groups, (const u64* lightest, u64 front, u64 length, u64 groups, const K* edge_key, u64* value,
                               u32* index)) {
  Least least;
  if (!least_of_group(lightest, front, length, i, groups, edge_key, &least)) return;
  value[i / GROUP] = least.value;
  index[i / GROUP] = (u32)least.at;
} END

// The candidate at `at` joins; if no edge leads to any, the one at the front begins a new tree.
DEVICE void join(u64 best, u64 at, u64 front, u64* lightest, u32* vertex, u32* place, u32* chosen, u64* state) {
  if (best == ~0ull) at = front;
  if (best == ~0ull) ++state[TREES];
  else chosen[state[JOINED]++] = (u32)best;
  const u32 joined = vertex[at], moved = vertex[front];
  vertex[at] = moved;
  place[moved] = (u32)at;
  lightest[at] = lightest[front];
  vertex[front] = joined;
  place[joined] = (u32)front;
  state[VERTEX] = joined;
}

// Second launch, of one group: the least of `length` values joins. Without `index` they are those of the candidates
// themselves. VERTEX of `state` is the one that joined.
KERNEL_OF(K, join_lightest, (const u64* value, const u32* index, u64 length, u64 front, const K* edge_key,
                             u64* lightest, u32* vertex, u32* place, u32* chosen, u64* state)) {
  Least least;
  if (!least_of_group(value, 0, length, i, 1, edge_key, &least)) return;
  const u64 at = index ? index[least.at] : front + least.at;
  join(least.value, at, front, lightest, vertex, place, chosen, state);
} END

// Lists as records (Wang et al., figure 4): of a vertex, its degree and the begin of its list, in one word; of an entry,
// the neighbor and the key, in one word or, of 64-bit keys, two.
KERNEL(list_spans, (const u64* offset, u64* spans)) { spans[i] = (offset[i + 1] - offset[i]) << 32 | offset[i]; } END

template <typename K> struct alignas(2 * sizeof(K)) Neighbor {
  K key;
  u32 vertex;
};

KERNEL_OF(K, list_pairs, (const u32* other, const K* key, u64* pairs)) {
  ((Neighbor<K>*)pairs)[i] = {key[i], other[i]};
} END

// Lists as columns (there, figure 3a) or, if `pairs` is not null, as records as well.
template <typename K> struct ListsOf {
  const u64* offset;
  const u32* edge;
  const u32* other;
  const K* key;
  const u64* spans;
  const u64* pairs;
};

template <typename K> DEVICE void list_of(const ListsOf<K>& lists, u64 vertex, u64* begin, u64* end) {
  const u64 span = lists.pairs ? lists.spans[vertex] : 0;
  *begin = lists.pairs ? (u32)span : lists.offset[vertex];
  *end = lists.pairs ? *begin + (span >> 32) : lists.offset[vertex + 1];
}

// Proposes the edge of an entry; a heavier edge is not looked up.
DEVICE void propose_entry(u64* best, u64 place, u32 mine, const u32* edge, u64 at, const u32*) {
  const u64 seen = load(&best[place]);
  if (mine > (u32)(seen >> 32)) return;
  const u64 candidate = (u64)mine << 32 | edge[at];
  if (candidate < seen) atomic_min(&best[place], candidate);
}
DEVICE void propose_entry(u64* best, u64 place, u64 mine, const u32* edge, u64 at, const u64* edge_key) {
  const u64 seen = load(&best[place]);
  if (seen == ~0ull || mine <= edge_key[seen]) propose(best, place, edge_key, edge[at]);
}

// The neighbor of an entry takes the edge to it if that is lighter.
template <typename K>
DEVICE void relax(const ListsOf<K>& lists, u64 at, u64 front, const u32* place, const K* edge_key, u64* lightest) {
  Neighbor<K> entry;
  if (lists.pairs) entry = ((const Neighbor<K>*)lists.pairs)[at];
  else entry = {lists.key[at], lists.other[at]};
  const u32 to = place[entry.vertex];
  if (to > front) propose_entry(lightest, to, entry.key, lists.edge, at, edge_key);
}

// The neighbors of the vertex that joined, `lanes` at a time.
KERNEL_OF(K, relax_neighbors, (const u64* offset, const u32* edge, const u32* other, const K* key, const u64* spans,
                                const u64* pairs, u64 lanes, u64 front, const K* edge_key, const u32* place,
                                const u64* state, u64* lightest)) {
  const ListsOf<K> lists = {offset, edge, other, key, spans, pairs};
  u64 begin, end;
  list_of(lists, state[VERTEX], &begin, &end);
  for (u64 j = begin + i; j < end; j += lanes) relax(lists, j, front, place, edge_key, lightest);
} END

// All rounds in one call, for threads that a fork reaches sooner than a launch from Python would: the groups are shared
// out `share` candidates at a time, the neighbors likewise. `spent` are the nanoseconds of the three steps.
HOST_KERNEL_OF(K, reduce_rounds, (const u64* offset, const u32* edge, const u32* other, const K* key, const u64* spans,
                                  const u64* pairs, u64 vertices, u64 groups, u64 share, const K* edge_key,
                                  u64* lightest, u32* vertex, u32* place, u64* value, u32* index, u32* chosen,
                                  u64* state, u64* spent)) {
  const ListsOf<K> lists = {offset, edge, other, key, spans, pairs};
  for (u64 front = 0; front < vertices; ++front) {
    const u64 begun = nanoseconds(), candidates = vertices - front;
    const u64 parts = candidates < 2 * share ? 1 : groups;
    const auto reduce = [=](u64 group) {
      Least least;
      least_of_group(lightest, front, vertices, group * GROUP, parts, edge_key, &least);
      value[group] = least.value;
      index[group] = (u32)least.at;
    };
    FORK(parts, share * parts / candidates + 1, reduce);
    if (STOPPED || STOPPED_AT(front)) return;
    const u64 reduced = nanoseconds();
    Least least;
    least_of_group(value, 0, parts, 0, 1, edge_key, &least);
    join(least.value, index[least.at], front, lightest, vertex, place, chosen, state);
    const u64 joined = nanoseconds();
    u64 first, end;
    list_of(lists, state[VERTEX], &first, &end);
    const auto relax_one = [=](u64 at) { relax(lists, first + at, front, place, edge_key, lightest); };
    FORK(end - first, share, relax_one);
    spent[0] += reduced - begun;
    spent[1] += joined - reduced;
    spent[2] += nanoseconds() - joined;
  }
} END
