// Kernels of Mastiff's rounds over components. `list` holds the components that look for an edge in this round (none:
// every vertex). A vertex is ROOT or EXEMPT where it is its own parent, MERGED elsewhere; `exempt` tells whether its
// component is the exempt one of its graph component. best[vertex] is its lightest edge, ~0 where it has none.

DEVICE u32 listed(const u32* list, u64 i) { return list ? list[i] : (u32)i; }

// Edges at each vertex, a self-loop twice, among those at `position` (none: among all).
KERNEL(count_ends, (const u32* source, const u32* target, const u32* position, u32* degree)) {
  const u32 at = listed(position, i);
  atomic_add(&degree[source[at]], 1u);
  atomic_add(&degree[target[at]], 1u);
} END

// Every component hooks onto the one at the other end of its lightest edge. An exempt one has no edge: what another
// chose is never taken for the same edge.
KERNEL(append, (const u32* list, const u32* source, const u32* target, const u64* best, const u32* row, u32* parent,
                u64* flags)) {
  hook_root(listed(list, i), source, target, best, row, parent, flags);
} END

// The root above each listed vertex, and the longest way to one. The walk only reads, so that the depth is exact;
// where a way is longer than `limit`, all walks end and `depth` is above it.
KERNEL(find_tops, (const u32* list, const u32* parent, u32 limit, u32* top, u32* depth)) {
  if (load(depth) > limit) return;
  u32 at = listed(list, i), steps = 0;
  for (u32 up = parent[at]; up != at && steps <= limit; up = parent[at], ++steps) at = up;
  top[i] = at;
  if (steps > load(depth)) atomic_max(depth, steps);
} END

// Full path compression; a component that hooked in this round adds its size to its root's.
KERNEL(settle, (const u32* list, const u32* top, const u64* best, u32* parent, u32* size)) {
  const u32 vertex = listed(list, i), head = top[i];
  parent[vertex] = head;
  if (head != vertex && best[vertex] != ~0ull) atomic_add(&size[head], load(&size[vertex]));
} END

// Every root stands for election in its graph component: by size, then the larger vertex. The exempt one of the last
// round stands through those that joined it, or with its old size where nobody did. `greatest` is the size of the
// largest component of all.
KERNEL(stand, (const u32* list, const u32* parent, const u32* group, const u32* size, u64* largest, u32* greatest)) {
  const u32 vertex = listed(list, i), head = parent[vertex], mine = size[head];
  const u64 candidate = (u64)mine << 32 | head;
  if (candidate > load(&largest[group[vertex]])) atomic_max(&largest[group[vertex]], candidate);
  if (mine > load(greatest)) atomic_max(greatest, mine);
} END

// The winner of each election is exempt. `flags` and `next` name the roots that look for an edge in the next round. A
// listed winner hands its place to the one that it replaces, which returns from EXEMPT to ROOT.
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
    if (!list) return;  // the one replaced answers for itself
    exempt[looking] = 0;
  }
  next[i] = looking;
  set_flag(flags, i);
} END
