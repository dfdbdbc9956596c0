// Mastiff's rounds over components. `list` holds the components that look for an edge in this round (null: every
// vertex). A vertex is ROOT or EXEMPT where it is its own parent, MERGED elsewhere; `exempt` says whether its component
// is the exempt one of its graph component. best[vertex] is its lightest edge, ~0 where it has none.

DEVICE u32 listed(const u32* list, u64 i) { return list ? list[i] : (u32)i; }

// How many of the edges at `position` (null: of all edges) end at each vertex; a self-loop counts twice.
KERNEL(count_ends, (const u32* source, const u32* target, const u32* position, u32* degree)) {
  const u32 at = listed(position, i);
  atomic_add(&degree[source[at]], 1u);
  atomic_add(&degree[target[at]], 1u);
} END

// Offers an edge to the component at one of its ends; an exempt component takes none. There is no branch on `exempt`:
// where half of the ends are exempt, a mispredicted branch costs more than the comparison.
template <typename K> DEVICE void offer(u64* best, u32 component, u32 exempt, const K* key, u64 edge) {
  const u64 candidate = (sizeof(K) == 4 ? (u64)key[edge] << 32 | edge : edge) | (0 - (u64)exempt);
  for (u64 seen = load(&best[component]); lighter(candidate, seen, key);) {
    const u64 found = compare_swap(&best[component], seen, candidate);
    if (found == seen) return;
    seen = found;
  }
}

// One word of 64 edges: each offers itself to the components of its ends, which go to `first` and `second`. `parent`
// leads from the ends to their components (null: they are the ends). All components are known before the first edge is
// offered, so that the misses in `best` overlap. `touched` counts the ends whose component is not exempt.
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
    offer(best, first[edge], exempt[first[edge]], key, edge);
    offer(best, second[edge], exempt[second[edge]], key, edge);
  }
  touched[i] = (u8)looks;
} END

// The same vertex by vertex, for 64 vertices at a time: `edge` and `other` hold the vertices' lists of edges, which begin at
// `offset`. The lists of an exempt component are skipped; no edge column is written. A list offers its lightest edge only.
// `loads` counts the list entries that were read.
KERNEL_OF(K, lightest_in_lists, (const u64* offset, const u32* edge, const u32* other, const K* key, u64 vertices,
                                 const u32* parent, const u8* exempt, u64* best, u64* loads)) {
  const u64 begin = i * 64, end = begin + word_length(i, vertices);
  u64 looks = 0;
  for (u64 vertex = begin; vertex < end; ++vertex) {
    const u32 mine = parent[vertex];
    if (exempt[mine]) continue;
    u64 lightest = ~0ull;
    for (u64 at = offset[vertex]; at < offset[vertex + 1]; ++at, ++looks) {
      if (parent[other[at]] == mine) continue;
      const u64 candidate = sizeof(K) == 4 ? (u64)key[edge[at]] << 32 | edge[at] : edge[at];
      if (lighter(candidate, lightest, key)) lightest = candidate;
    }
    if (lightest != ~0ull) offer(best, mine, 0, key, (u32)lightest);
  }
  loads[i] = looks;
} END

// The component at the other end of every component's lightest edge, before any of them hooks.
KERNEL(find_across, (const u32* source, const u32* target, const u64* best, const u32* parent, u32* across)) {
  if (best[i] == ~0ull) return;
  const u32 edge = (u32)best[i], a = parent[source[edge]];
  across[i] = a == i ? parent[target[edge]] : a;
} END

// `append` with the other components known.
KERNEL(append_across, (const u32* across, const u64* best, u32* parent, u64* flags)) {
  const u64 mine = best[i];
  if (mine == ~0ull) return;
  const u32 other = across[i];
  if (best[other] == mine && i < other) return;
  parent[i] = other;
  set_flag(flags, (u32)mine);
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
// last round stands through the components that joined it, or with its old size where none did. `greatest` is the size
// of the largest component of all.
KERNEL(stand, (const u32* list, const u32* parent, const u32* group, const u32* size, u64* largest, u32* greatest)) {
  const u32 vertex = listed(list, i), head = parent[vertex], mine = size[head];
  const u64 candidate = (u64)mine << 32 | head;
  if (candidate > load(&largest[group[vertex]])) atomic_max(&largest[group[vertex]], candidate);
  if (mine > load(greatest)) atomic_max(greatest, mine);
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
