// Kernels that grow many subtrees at once as Prim's algorithm does, over keys of type K (u32 or u64).
//
// tree[vertex] names the subtree that a vertex belongs to by its start vertex (~0: none yet) and never changes once it
// is set. An instance compares it with its own start only, and only the instance itself ever stores that: the answer is
// exact, whatever the others do meanwhile. What joins subtrees to each other is kept apart, in `parent`.

// One subtree under growth, and a binary heap of its vertices by their lightest edges. An entry is the vertex and the
// arc (the place in the lists) that left the subtree when last looked at. The subtree only grows: an entry that leads
// inside by now still bounds its vertex's lightest edge from below, and is brought up to date when it comes to the top.
struct NAME(Instance) {
  const u64* offset;
  const u32* edge;
  const u32* other;
  const K* key;
  const u32* tree;
  K* heap_key;
  u64* heap_entry;
  u32 sorted, start;
  u64 size;
};

DEVICE bool NAME(leaves)(const NAME(Instance)& own, u32 arc) { return load(&own.tree[own.other[arc]]) != own.start; }

// The vertex's lightest arc that leaves the subtree, or ~0. A list sorted by weight is walked on from `from`, any other
// is searched as a whole; it is in the order of positions, so that the first of equal keys is the lightest.
DEVICE u32 NAME(lightest_arc)(const NAME(Instance)& own, u32 vertex, u64 from) {
  const u64 end = own.offset[vertex + 1];
  u32 best = ~0u;
  K least = 0;
  for (u64 arc = own.sorted ? from : own.offset[vertex]; arc < end; ++arc) {
    const K key = own.sorted ? 0 : own.key[arc];
    if ((best != ~0u && key >= least) || !NAME(leaves)(own, (u32)arc)) continue;
    best = (u32)arc;
    least = key;
    if (own.sorted) break;
  }
  return best;
}

DEVICE bool NAME(before)(const NAME(Instance)& own, K key, u64 entry, u64 at) {
  if (key != own.heap_key[at]) return key < own.heap_key[at];
  return own.edge[entry >> 32] < own.edge[own.heap_entry[at] >> 32];
}

DEVICE void NAME(place)(const NAME(Instance)& own, u64 at, K key, u64 entry) {
  own.heap_key[at] = key;
  own.heap_entry[at] = entry;
}

DEVICE void NAME(push)(NAME(Instance)& own, u32 vertex) {
  const u32 arc = NAME(lightest_arc)(own, vertex, own.offset[vertex]);
  if (arc == ~0u) return;
  const K key = own.key[arc];
  const u64 entry = (u64)arc << 32 | vertex;
  u64 at = own.size++;
  for (; at && NAME(before)(own, key, entry, (at - 1) / 2); at = (at - 1) / 2)
    NAME(place)(own, at, own.heap_key[(at - 1) / 2], own.heap_entry[(at - 1) / 2]);
  NAME(place)(own, at, key, entry);
}

// Puts an entry in the place of the top one.
DEVICE void NAME(replace_top)(const NAME(Instance)& own, K key, u64 entry) {
  u64 at = 0;
  for (u64 below = 1; below < own.size; below = 2 * at + 1) {
    const u64 right = below + 1;
    if (right < own.size && NAME(before)(own, own.heap_key[right], own.heap_entry[right], below)) below = right;
    if (NAME(before)(own, key, entry, below)) break;
    NAME(place)(own, at, own.heap_key[below], own.heap_entry[below]);
    at = below;
  }
  NAME(place)(own, at, key, entry);
}

// The lightest arc that leaves the subtree, or ~0.
DEVICE u32 NAME(lightest_leaving)(NAME(Instance)& own) {
  while (own.size) {
    const u64 top = own.heap_entry[0];
    const u32 arc = (u32)(top >> 32), vertex = (u32)top;
    if (NAME(leaves)(own, arc)) return arc;
    const u32 next = NAME(lightest_arc)(own, vertex, (u64)arc + 1);
    if (next != ~0u) {
      NAME(replace_top)(own, own.key[next], (u64)next << 32 | vertex);
    } else {
      --own.size;
      if (own.size) NAME(replace_top)(own, own.heap_key[own.size], own.heap_entry[own.size]);
    }
  }
  return ~0u;
}

// Partial Prim on one part of the vertices: `span` start vertices, and subtrees of at most as many. A subtree that
// meets another one hooks onto it and stops.
KERNEL(grow_subtrees, (const u64* offset, const u32* edge, const u32* other, const K* key, const u32* row, u64 vertices,
                       u64 span, u32 sorted, u32* tree, u32* parent, K* heap_key, u64* heap_entry, u64* flags,
                       u64* conflicts)) {
  const u64 begin = i * span, end = begin + span < vertices ? begin + span : vertices;
  u64 met = 0;
  for (u64 s = begin; s < end; ++s) {
    const u32 start = (u32)s;
    if (load(&tree[s]) != ~0u || compare_swap(&tree[s], ~0u, start) != ~0u) continue;
    NAME(Instance) own = {offset, edge, other, key, tree, heap_key + begin, heap_entry + begin, sorted, start, 0};
    parent[s] = start;
    u32 newest = start;
    for (u64 size = 1; size < span; ++size) {
      NAME(push)(own, newest);
      const u32 arc = NAME(lightest_leaving)(own);
      if (arc == ~0u) break;
      set_flag(flags, row ? row[edge[arc]] : edge[arc]);
      newest = other[arc];
      const u32 found = compare_swap(&tree[newest], ~0u, start);
      if (found != ~0u) {
        parent[s] = found;
        ++met;
        break;
      }
      parent[newest] = start;
    }
  }
  if (met) atomic_add(conflicts, met);
} END

// A subtree takes a colour's vertices: false where another colour holds one of the vertex's neighbours.
DEVICE bool NAME(colour_neighbours)(const NAME(Instance)& own, u32 vertex, u32* colour) {
  for (u64 arc = own.offset[vertex]; arc < own.offset[vertex + 1]; ++arc) {
    u32* const mark = &colour[own.other[arc]];
    u32 found = load(mark);
    if (found == ~0u) found = compare_swap(mark, ~0u, own.start);
    if (found != ~0u && found != own.start) return false;
  }
  return true;
}

// Prim under colours on one part of the vertices: a vertex joins a subtree only if the subtree's colour gets hold of
// all its neighbours, so that subtrees never touch. A start vertex that stays alone counts as unvisited. The lists are
// sorted by weight.
KERNEL(grow_coloured, (const u64* offset, const u32* edge, const u32* other, const K* key, const u32* row, u64 vertices,
                       u64 span, u32* colour, u32* tree, u32* parent, K* heap_key, u64* heap_entry, u64* flags,
                       u64* conflicts)) {
  const u64 begin = i * span, end = begin + span < vertices ? begin + span : vertices;
  u64 met = 0;
  for (u64 s = begin; s < end; ++s) {
    const u32 start = (u32)s;
    if (load(&colour[s]) != ~0u || compare_swap(&colour[s], ~0u, start) != ~0u) continue;
    NAME(Instance) own = {offset, edge, other, key, tree, heap_key + begin, heap_entry + begin, 1, start, 0};
    u32 newest = start, arc = ~0u;
    u64 size = 0;
    for (;;) {
      if (!NAME(colour_neighbours)(own, newest, colour)) {
        ++met;
        break;
      }
      store(&tree[newest], start);
      parent[newest] = start;
      if (arc != ~0u) set_flag(flags, row ? row[edge[arc]] : edge[arc]);
      if (++size >= span) break;
      NAME(push)(own, newest);
      arc = NAME(lightest_leaving)(own);
      if (arc == ~0u) break;
      newest = other[arc];
    }
    if (size == 1) store(&tree[s], ~0u);
  }
  if (met) atomic_add(conflicts, met);
} END
