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
// threads of a warp: of 16,384 entries in 128 groups each thread looks at 4, and a warp takes 155 instructions and reads
// 36 sectors of 32 bytes, where a thread alone takes 875 and reads 128 (counted in tests/ptx). On a CPU that index goes
// through all of the group's entries, which lie side by side.
const u64 GROUP = 32;
#ifdef __CUDACC_RTC__
template <typename K>
DEVICE bool least_of_group(const u64* column, u64 front, u64 end, u64 i, u64 groups, const K* key, Least* least) {
  u64 value = ~0ull;
  u32 at = (u32)front;
  for (u64 j = front + i; j < end; j += groups * GROUP)
    if (lighter(column[j], value, key)) {
      value = column[j];
      at = (u32)j;
    }
  for (u32 step = GROUP / 2; step; step /= 2) {
    const u32 lane = (threadIdx.x & 31) ^ step;
    const u64 other = __shfl_sync(~0u, value, lane);
    const u32 other_at = __shfl_sync(~0u, at, lane);
    if (lighter(other, value, key)) {
      value = other;
      at = other_at;
    }
  }
  *least = Least{value, at};
  return i % GROUP == 0;
}
#else
template <typename K>
DEVICE bool least_of_group(const u64* column, u64 front, u64 end, u64 i, u64 groups, const K* key, Least* least) {
  if (i % GROUP) return false;
  const u64 share = (end - front + groups - 1) / groups, begin = front + i / GROUP * share;
  Least found = {~0ull, front};
  for (u64 j = begin; j < begin + share && j < end; ++j)
    if (lighter(column[j], found.value, key)) found = Least{column[j], j};
  *least = found;
  return true;
}
#endif

// First launch of the reduction: every group's least, its value and its index.
KERNEL_OF(K, least_of_groups, (const u64* lightest, u64 front, u64 length, u64 groups, const K* edge_key, u64* value,
                               u32* index)) {
  Least least;
  if (!least_of_group(lightest, front, length, i, groups, edge_key, &least)) return;
  value[i / GROUP] = least.value;
  index[i / GROUP] = (u32)least.at;
} END

// The candidate at `at` joins; where no edge leads to any, the one at the front begins a new tree.
DEVICE void join(u64 best, u64 at, u64 front, u64* lightest, u32* vertex, u32* place, u32* chosen, u64* state) {
  if (best == ~0ull) at = front;
  if (best == ~0ull) ++state[2];
  else chosen[state[0]++] = (u32)best;
  const u32 joined = vertex[at], moved = vertex[front];
  vertex[at] = moved;
  place[moved] = (u32)at;
  lightest[at] = lightest[front];
  vertex[front] = joined;
  place[joined] = (u32)front;
  state[1] = joined;
}

// Second launch, of one group: the least of `length` values joins. Without `index` they are those of the candidates
// themselves. `state` is the number of chosen edges, the vertex that joined and the number of trees.
KERNEL_OF(K, join_lightest, (const u64* value, const u32* index, u64 length, u64 front, const K* edge_key,
                             u64* lightest, u32* vertex, u32* place, u32* chosen, u64* state)) {
  Least least;
  if (!least_of_group(value, 0, length, i, 1, edge_key, &least)) return;
  const u64 at = index ? index[least.at] : front + least.at;
  join(least.value, at, front, lightest, vertex, place, chosen, state);
} END

// The neighbors of the vertex that joined, `lanes` at a time, take the edge to it where it is lighter.
KERNEL_OF(K, relax_neighbors, (const u64* offset, const u32* edge, const u32* other, u64 lanes, u64 front,
                                const K* edge_key, const u32* place, const u64* state, u64* lightest)) {
  const u64 joined = state[1], end = offset[joined + 1];
  for (u64 j = offset[joined] + i; j < end; j += lanes) {
    const u32 at = place[other[j]];
    if (at > front) propose(lightest, at, edge_key, edge[j]);
  }
} END

// All rounds in one call, for threads that a fork reaches sooner than a launch from Python would: the groups are shared
// out `share` candidates at a time, the neighbors likewise. `spent` are the nanoseconds of the three steps.
HOST_KERNEL_OF(K, reduce_rounds, (const u64* offset, const u32* edge, const u32* other, u64 vertices, u64 groups,
                                  u64 share, const K* edge_key, u64* lightest, u32* vertex, u32* place, u64* value,
                                  u32* index, u32* chosen, u64* state, u64* spent)) {
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
    const u64 reduced = nanoseconds();
    Least least;
    least_of_group(value, 0, parts, 0, 1, edge_key, &least);
    join(least.value, index[least.at], front, lightest, vertex, place, chosen, state);
    const u64 joined = nanoseconds(), first = offset[state[1]];
    const auto relax = [=](u64 at) {
      const u32 to = place[other[first + at]];
      if (to > front) propose(lightest, to, edge_key, edge[first + at]);
    };
    FORK(offset[state[1] + 1] - first, share, relax);
    spent[0] += reduced - begun;
    spent[1] += joined - reduced;
    spent[2] += nanoseconds() - joined;
  }
} END
