// The Euler tour of a forest: every edge is two arcs, which are twins. After an arc, the tour takes the arc that follows
// its twin around their vertex. Arcs have places in a list ordered by their tails. The tour of a tree ends in the first
// arc of the next tree, so that there is one list.

KERNEL(arc_records, (const u32* source, const u32* target, u64 edges, u64* records)) {
  records[i] = (u64)(i < edges ? source[i] : target[i - edges]) << 32 | i;
} END

KERNEL(arc_places, (const u64* records, u32* place)) { place[(u32)records[i]] = (u32)i; } END

DEVICE u32 twin_of(u64 record, u64 edges) { return (u32)record < edges ? (u32)(record + edges) : (u32)(record - edges); }

// The place of each arc's twin, and the place after each place. `after` of a root is the first place of the next tree, or
// ~0 behind the last one; ~1 marks a vertex that is no root.
KERNEL(follow_arcs, (const u64* records, const u32* place, const u64* offset, const u32* after, u64 edges, u32* twin,
                     u32* next)) {
  if (i + 16 < count) PREFETCH(&place[twin_of(records[i + 16], edges)]);
  const u64 vertex = records[i] >> 32, end = offset[vertex + 1];
  const u32 turn = after[vertex], other = place[twin_of(records[i], edges)];
  twin[i] = other;
  next[other] = i + 1 < end ? (u32)i + 1 : turn == ~1u ? (u32)offset[vertex] : turn;
} END

// Ranks of a list (Helman and JaJa 2001): of each 64 places one is a splitter, at an offset without a pattern. A walk from
// each splitter to the next one numbers its places; `onward` is the splitter at which it ends. Eight walks of an index
// take their steps in turns, so that their cache misses overlap. The head of the list is the last splitter.
DEVICE u64 splitter_at(u64 block) { return block * 64 + ((u32)(block * 2654435769u) >> 26); }

KERNEL(walk_list, (const u32* next, u64 length, u64 splitters, u64 head, u64* walked, u32* onward, u32* steps)) {
  u32 at[8], taken[8], walking = 0;
  for (u32 k = 0; k < 8; ++k) {
    const u64 number = i * 8 + k, begin = number == splitters ? head : splitter_at(number);
    const bool walks = number <= splitters && begin < length && (number == splitters || begin != head);
    at[k] = walks ? (u32)begin : ~0u;
    taken[k] = 0;
    walking += walks;
    if (number > splitters) continue;
    onward[number] = ~0u;
    steps[number] = 0;
  }
  while (walking)
    for (u32 k = 0; k < 8; ++k) {
      if (at[k] == ~0u) continue;
      const u64 number = i * 8 + k;
      walked[at[k]] = number << 32 | taken[k]++;
      const u32 to = next[at[k]];
      if (to != ~0u && splitter_at(to >> 6) != to) {
        at[k] = to;
        continue;
      }
      onward[number] = to == ~0u ? ~0u : to >> 6;
      steps[number] = taken[k];
      at[k] = ~0u;
      --walking;
    }
} END

KERNEL(rank_list, (const u64* walked, const u32* base, u32* rank)) {
  rank[i] = base[walked[i] >> 32] + (u32)walked[i];
} END

// An arc that comes after its twin leads back to the root: it sets its tail's parent, the edge to it, and the ranks of both
// arcs. `away` flags the other arcs by rank.
KERNEL(lead_away, (const u64* records, const u32* twin, const u32* rank, u64 edges, u8* away, u32* parent, u32* edge,
                   u32* first, u32* last)) {
  if (i + 16 < count) PREFETCH(&rank[twin[i + 16]]);
  const u32 mine = rank[i], other = rank[twin[i]];
  away[mine] = mine < other;
  if (mine < other) return;
  const u32 arc = (u32)records[i], tail = (u32)(records[i] >> 32);
  parent[tail] = (u32)(records[twin[i]] >> 32);
  edge[tail] = arc < edges ? arc : (u32)(arc - edges);
  first[tail] = other;
  last[tail] = mine;
} END

// Depth, place in depth-first order, and number of vertices below each vertex and with it. `away` has become its running
// sum; `tree` is the number of each vertex's tree, and `begin` the place of its root.
KERNEL(number_tree, (const u32* away, const u32* edge, const u32* first, const u32* last, const u32* root,
                     const u32* tree, const u32* begin, u32* depth, u32* order, u32* size)) {
  const u32 mine = tree[root[i]];
  if (edge[i] == ~0u) {
    depth[i] = 0;
    order[i] = begin[mine];
    size[i] = begin[mine + 1] - begin[mine];
    return;
  }
  const u32 passed = away[first[i]];
  depth[i] = (u32)(2 * (u64)passed - first[i] - 1);
  order[i] = passed + mine;
  size[i] = (last[i] - first[i] + 1) / 2;
} END

// Sums (index 0), and the greatest edges (index 1), of the paths to the roots: parents come before their children.
HOST_KERNEL_OF(W, fold_paths, (const u32* sequence, u64 vertices, const u32* parent, W* sum, u32* greatest)) {
  for (u64 j = 0; j < vertices; ++j) {
    if (STOPPED_AT(j)) return;
    if (j + 16 < vertices) PREFETCH(&parent[sequence[j + 16]]);
    const u32 vertex = sequence[j], up = parent[vertex];
    if (up == vertex) continue;
    if (i == 0) sum[vertex] += sum[up];
    else if (greatest[up] != ~0u && greatest[up] > greatest[vertex]) greatest[vertex] = greatest[up];
  }
} END

// The least and the greatest place in depth-first order to which rows outside the tree lead from each place.
KERNEL_OF(V, reach_orders, (const V* source, const V* target, const u8* chosen, const u32* order, u32* least,
                            u32* greatest)) {
  if (chosen[i]) return;
  const u32 a = order[source[i]], b = order[target[i]], low = a < b ? a : b, high = a < b ? b : a;
  if (low < load(&least[high])) atomic_min(&least[high], low);
  if (high > load(&greatest[low])) atomic_max(&greatest[low], high);
} END
