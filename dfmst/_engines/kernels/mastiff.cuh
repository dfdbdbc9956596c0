// Mastiff's rounds over components. `list` holds the components that look for an edge in this round (null: every
// vertex). A vertex is ROOT or EXEMPT if it is its own parent, else MERGED; `exempt` says whether its component
// is the exempt one of its graph component. best[vertex] is its lightest edge, ~0 if it has none.

DEVICE u32 listed(const u32* list, u64 i) { return list ? list[i] : (u32)i; }

// How many of the edges at `position` (null: of all edges) end at each vertex, self-loops left out.
KERNEL(count_ends, (const u32* source, const u32* target, const u32* position, u32* degree)) {
  const u32 at = listed(position, i);
  if (source[at] == target[at]) return;
  atomic_add(&degree[source[at]], 1u);
  atomic_add(&degree[target[at]], 1u);
} END

// The word of an edge in `best`.
template <typename K> DEVICE u64 packed(K key, u64 edge) { return sizeof(K) == 4 ? (u64)key << 32 | edge : edge; }

// Offers a packed edge to a component. `key` are the keys of all edges.
template <typename K> DEVICE void offer(u64* best, u32 component, u64 candidate, const K* key) {
  for (u64 seen = load(&best[component]); lighter(candidate, seen, key);) {
    const u64 found = compare_swap(&best[component], seen, candidate);
    if (found == seen) return;
    seen = found;
  }
}

// One word of 64 edges: each offers itself to the components of its ends, which go to `first` and `second`. `parent`
// leads from the ends to their components (null: they are the ends). All components are known before the first edge is
// offered, so that the misses in `best` overlap. `touched` (or null) counts the ends whose component is not exempt.
KERNEL_OF(K, lightest_of_roots, (const u32* source, const u32* target, const K* key, u64 edges, const u32* parent,
                                 const u8* exempt, u32* first, u32* second, u64* best, u8* touched)) {
  const u64 begin = i * 64, end = begin + word_length(i, edges);
  u64 crossing = 0;
  u32 looks = 0;
  for (u64 j = begin; j < end; ++j) {
    const u32 u = source[j], v = target[j], a = parent ? parent[u] : u, b = parent ? parent[v] : v;
    first[j] = a;
    second[j] = b;
    PREFETCH(&best[a]);
    PREFETCH(&best[b]);
    looks += 2 - exempt[a] - exempt[b];
    crossing |= (u64)(a != b) << (j - begin);
  }
  for (; crossing; crossing &= crossing - 1) {
    const u64 edge = begin + lowest_bit(crossing);
    // An exempt component takes none. There is no branch on that: if half of the ends are exempt, a mispredicted branch
    // costs more than the comparison.
    const u64 candidate = packed(key[edge], edge);
    offer(best, first[edge], candidate | (0 - (u64)exempt[first[edge]]), key);
    offer(best, second[edge], candidate | (0 - (u64)exempt[second[edge]]), key);
  }
  if (touched) touched[i] = (u8)looks;
} END

// Joins every vertex with the entries [from, to) of its list, except vertices of the set `skipped`: their edges that leave
// the set are joined from the other end.
KERNEL(unite_neighbors, (const u64* offset, const u32* other, u64 from, u64 to, u32 skipped, u32* label)) {
  if (load(&label[i]) == skipped) return;
  const u64 begin = offset[i] + from, after = offset[i] + to, end = after < offset[i + 1] ? after : offset[i + 1];
  for (u64 at = begin; at < end; ++at) join_sets(label, (u32)i, other[at]);
} END

// The lightest entry of a part of a list whose edge leaves the component `mine`. `key` and `edge` are its key and edge;
// before the search, those of an edge that it must be lighter than. `at` is its place (~0: none).
template <typename K> struct Lighter {
  K key;
  u32 edge;
  u64 at;
};

// Searches the entries [at, end). A heavier entry is skipped before its component is looked up, eight at a time: in a
// list of d entries, about log(d) are lighter than all before. Entries are in the order of edges, so that the first of
// equal keys is the lightest.
template <typename K>
DEVICE void search_list(const u32* edge, const u32* other, const K* key, u64 at, u64 end, const u32* parent, u32 mine,
                        Lighter<K>* found) {
  Lighter<K> own = *found;
  while (at < end) {
    u64 after = at + 1;
    if (at + 8 <= end) {
      K low = key[at];
      UNROLL for (u32 j = 1; j < 8; ++j) low = key[at + j] < low ? key[at + j] : low;
      after = at + 8;
      if (low > own.key) at = after;
    }
    for (; at < after; ++at) {
      const K candidate = key[at];
      if (candidate > own.key || (candidate == own.key && (own.at != ~0ull || edge[at] >= own.edge))) continue;
      if (parent && parent[other[at]] == mine) continue;
      own.key = candidate;
      own.at = at;
    }
  }
  *found = own;
}

// The lightest entry of a short list that leaves the component `mine`, ~0 if none does. Every entry is looked up, without
// a branch that depends on keys.
template <typename K>
DEVICE u64 search_short_list(const u32* other, const K* key, u64 at, u64 end, const u32* parent, u32 mine) {
  K low = (K)~0ull;
  u64 found = ~0ull;
  for (; at < end; ++at) {
    const bool lighter = (parent[other[at]] != mine) & ((key[at] < low) | (found == ~0ull));
    low = lighter ? key[at] : low;
    found = lighter ? at : found;
  }
  return found;
}

// Offers the component `mine` its lightest entry of a part of a list. True if all neighbors are in that component, which
// is only found out for whole lists of at most `short_list` entries. In the first round (`parent` is null) every vertex
// is its own component: no parent is looked up, and a whole list needs no atomic operation.
template <typename K>
DEVICE bool offer_of_list(const u32* edge, const u32* other, const K* key, u64 at, u64 end, bool whole, u64 short_list,
                          const K* edge_key, const u32* parent, u32 mine, u64* best) {
  if (parent && whole && end - at <= short_list) {
    const u64 found = search_short_list(other, key, at, end, parent, mine);
    if (found != ~0ull) offer(best, mine, packed(key[found], edge[found]), edge_key);
    return found == ~0ull;
  }
  const u64 seen = parent ? load(&best[mine]) : ~0ull;
  Lighter<K> found = {(K)~0ull, (u32)seen, ~0ull};
  if (seen != ~0ull) found.key = sizeof(K) == 4 ? (K)(seen >> 32) : edge_key[(u32)seen];
  search_list(edge, other, key, at, end, parent, mine, &found);
  if (found.at == ~0ull) return false;
  const u64 lightest = packed(found.key, edge[found.at]);
  if (!parent && whole) best[mine] = lightest;
  else offer(best, mine, lightest, edge_key);
  return false;
}

// Step 1 on the list entries [i * share, (i + 1) * share), so that all threads read equally many. Lists of an exempt
// component are skipped, and lists of the vertices in `inside`, whose neighbors are all in their component.
KERNEL_OF(K, lightest_in_lists, (const u64* offset, const u32* edge, const u32* other, const K* key, u64 vertices,
                                 u64 share, u64 short_list, const K* edge_key, const u32* parent, const u8* exempt,
                                 u64* best, u8* inside)) {
  const u64 begin = i * share, after = begin + share, end = after < offset[vertices] ? after : offset[vertices];
  u64 low = 0;  // the last vertex whose list begins at or before `begin`
  for (u64 high = vertices; high - low > 1;) {
    const u64 middle = (low + high) / 2;
    (offset[middle] <= begin ? low : high) = middle;
  }
  for (u64 vertex = low, at = begin; at < end; ++vertex) {
    const u64 next = offset[vertex + 1], stop = next < end ? next : end;
    const u32 mine = parent ? parent[vertex] : (u32)vertex;
    if (at < stop && !exempt[mine] && !inside[vertex]) {
      const bool whole = at == offset[vertex] && stop == next;
      if (offer_of_list(edge, other, key, at, stop, whole, short_list, edge_key, parent, mine, best))
        inside[vertex] = 1;
    }
    at = stop;
  }
} END

// The component at the other end of each listed component's lightest edge, before any of them hooks.
KERNEL(find_across, (const u32* list, const u32* source, const u32* target, const u64* best, const u32* parent,
                     u32* across)) {
  const u32 vertex = listed(list, i);
  if (best[vertex] == ~0ull) return;
  const u32 edge = (u32)best[vertex], a = parent[source[edge]];
  across[vertex] = a == vertex ? parent[target[edge]] : a;
} END

// `append` with the other components known.
KERNEL(append_across, (const u32* list, const u32* across, const u64* best, u32* parent, u64* flags)) {
  const u32 vertex = listed(list, i);
  const u64 mine = best[vertex];
  if (mine == ~0ull) return;
  const u32 other = across[vertex];
  if (best[other] == mine && vertex < other) return;
  parent[vertex] = other;
  set_flag(flags, (u32)mine);
} END

// Finds the root above a vertex and halves the path on the way. Other threads set parents to roots at the same time. A
// plain store would put an older ancestor back, so a parent is replaced only if it has not changed.
DEVICE u32 halve_path(u32* parent, u32 vertex) {
  u32 up = load(&parent[vertex]);
  for (u32 above = load(&parent[up]); above != up; above = load(&parent[up])) {
    compare_swap(&parent[vertex], up, above);
    vertex = above;
    up = load(&parent[vertex]);
  }
  return up;
}

// Step 4 for every vertex that is not right below an exempt component: an exempt component never hooks, so that all of
// its vertices point at it already.
KERNEL(compress_looking, (const u8* exempt, u32* parent)) {
  if (exempt[load(&parent[i])]) return;
  const u32 head = halve_path(parent, (u32)i);
  if (head != i) store(&parent[i], head);
} END

// A component that has hooked adds its size to its root's.
KERNEL(add_sizes, (const u32* list, const u32* parent, u32* size)) {
  const u32 vertex = listed(list, i), head = parent[vertex];
  if (head != vertex) atomic_add(&size[head], size[vertex]);
} END

// Every component hooks onto the one at the other end of its lightest edge. An exempt component has no lightest edge,
// so that it never chooses the same edge as another.
KERNEL(append, (const u32* list, const u32* source, const u32* target, const u64* best, const u32* row, u32* parent,
                u64* flags)) {
  hook_root(listed(list, i), source, target, best, row, parent, flags);
} END

// The root above each listed vertex, and the longest path to one. The walk only reads, so that the depth is exact.
// Where a path is longer than `limit`, all walks end, and `depth` is above `limit`.
KERNEL(find_tops, (const u32* list, const u32* parent, u32 limit, u32* top, u32* depth)) {
  if (load(depth) > limit) return;
  u32 at = listed(list, i), steps = 0;
  for (u32 up = parent[at]; up != at && steps <= limit; up = parent[at], ++steps) at = up;
  top[i] = at;
  if (steps > load(depth)) atomic_max(depth, steps);
} END

// Every listed vertex points to its root; a component that hooked in this round adds its size to its root's.
KERNEL(compress_paths, (const u32* list, const u32* top, const u64* best, u32* parent, u32* size)) {
  const u32 vertex = listed(list, i), head = top[i];
  parent[vertex] = head;
  if (head != vertex && best[vertex] != ~0ull) atomic_add(&size[head], load(&size[vertex]));
} END

// Every root stands for election in its graph component: by size, then by vertex, larger first. The exempt root of the
// last round stands through the components that joined it, or with its old size if none did.
KERNEL(stand, (const u32* list, const u32* parent, const u32* group, const u32* size, u64* largest)) {
  const u32 vertex = listed(list, i), head = parent[vertex], mine = size[head];
  const u64 candidate = (u64)mine << 32 | head;
  if (candidate > load(&largest[group[vertex]])) atomic_max(&largest[group[vertex]], candidate);
} END

// The winner of each election is exempt. `flags` and `next` name the roots that look for an edge in the next round. A
// listed winner hands its place in the list to the root that it replaces, which returns from EXEMPT to ROOT.
KERNEL(elect, (const u32* list, const u32* parent, const u32* group, const u64* largest, u32* winner, u64* best,
               u8* exempt, u32* next, u64* flags)) {
  const u32 vertex = listed(list, i), head = parent[vertex], elected = (u32)largest[group[vertex]];
  best[vertex] = ~0ull;
  exempt[vertex] = head == elected;
  if (head != vertex) return;
  u32 looking = vertex;
  if (vertex == elected) {
    looking = winner[group[vertex]];
    winner[group[vertex]] = vertex;
    if (!list) return;  // the replaced root stands in the list itself
    exempt[looking] = 0;
  }
  next[i] = looking;
  set_flag(flags, i);
} END
