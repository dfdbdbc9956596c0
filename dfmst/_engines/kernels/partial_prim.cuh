// Partial Prim: many subtrees grow at once, each as in Prim's algorithm.
//
// tree[vertex] is the start vertex of the subtree that a vertex belongs to (~0: none yet), and never changes once it is
// set. An instance only compares it with its own start, which no other instance stores: the answer is exact, whatever
// the others do meanwhile. `parent` joins subtrees to each other.

// One growing subtree, and its vertices by their lightest edges: a binary heap or, as published, a plain list (`scan`).
// An entry is the vertex and its lightest arc (a place in the lists) that left the subtree when the entry was made. The
// subtree only grows: an arc that leads inside by now still bounds the vertex's lightest edge from below, and a heap
// replaces it only when it comes to the top.
template <typename K> struct Instance {
  const u64* offset;
  const u32* edge;
  const u32* other;
  const K* key;
  const u32* tree;
  K* heap_key;
  u64* heap_entry;
  u32 sorted, scan, start;
  u64 size;
};

template <typename K> DEVICE bool leaves(const Instance<K>& own, u32 arc) {
  return load(&own.tree[own.other[arc]]) != own.start;
}

// The vertex's lightest arc that leaves the subtree, or ~0. In a list sorted by weight the walk goes on at `from`. Any
// other list is searched as a whole; it is in the order of positions, so that the first of equal keys is the lightest.
template <typename K> DEVICE u32 lightest_arc(const Instance<K>& own, u32 vertex, u64 from) {
  const u64 end = own.offset[vertex + 1];
  u32 best = ~0u;
  K least = 0;
  for (u64 arc = own.sorted ? from : own.offset[vertex]; arc < end; ++arc) {
    const K key = own.sorted ? 0 : own.key[arc];
    if ((best != ~0u && key >= least) || !leaves(own, (u32)arc)) continue;
    best = (u32)arc;
    least = key;
    if (own.sorted) break;
  }
  return best;
}

template <typename K> DEVICE bool before(const Instance<K>& own, K key, u64 entry, u64 at) {
  if (key != own.heap_key[at]) return key < own.heap_key[at];
  return own.edge[entry >> 32] < own.edge[own.heap_entry[at] >> 32];
}

template <typename K> DEVICE void place(const Instance<K>& own, u64 at, K key, u64 entry) {
  own.heap_key[at] = key;
  own.heap_entry[at] = entry;
}

template <typename K> DEVICE void push(Instance<K>& own, u32 vertex) {
  const u32 arc = lightest_arc(own, vertex, own.offset[vertex]);
  if (arc == ~0u) return;
  const K key = own.key[arc];
  const u64 entry = (u64)arc << 32 | vertex;
  u64 at = own.size++;
  for (; !own.scan && at && before(own, key, entry, (at - 1) / 2); at = (at - 1) / 2)
    place(own, at, own.heap_key[(at - 1) / 2], own.heap_entry[(at - 1) / 2]);
  place(own, at, key, entry);
}

// Puts an entry in the place of the top one.
template <typename K> DEVICE void replace_top(const Instance<K>& own, K key, u64 entry) {
  u64 at = 0;
  for (u64 below = 1; below < own.size; below = 2 * at + 1) {
    const u64 right = below + 1;
    if (right < own.size && before(own, own.heap_key[right], own.heap_entry[right], below)) below = right;
    if (before(own, key, entry, below)) break;
    place(own, at, own.heap_key[below], own.heap_entry[below]);
    at = below;
  }
  place(own, at, key, entry);
}

// As published: every vertex of the subtree is looked at, and its list searched where its arc leads inside by now. A
// vertex without an arc that leaves is looked at no more.
template <typename K> DEVICE u32 lightest_by_scan(Instance<K>& own) {
  u64 least = 0;
  for (u64 at = 0; at < own.size;) {
    const u64 entry = own.heap_entry[at];
    if (!leaves(own, (u32)(entry >> 32))) {
      const u32 next = lightest_arc(own, (u32)entry, (entry >> 32) + 1);
      if (next == ~0u) {
        --own.size;
        place(own, at, own.heap_key[own.size], own.heap_entry[own.size]);
        continue;
      }
      place(own, at, own.key[next], (u64)next << 32 | (u32)entry);
    }
    if (before(own, own.heap_key[at], own.heap_entry[at], least)) least = at;
    ++at;
  }
  return own.size ? (u32)(own.heap_entry[least] >> 32) : ~0u;
}

// The lightest arc that leaves the subtree, or ~0.
template <typename K> DEVICE u32 lightest_leaving(Instance<K>& own) {
  if (own.scan) return lightest_by_scan(own);
  while (own.size) {
    const u64 top = own.heap_entry[0];
    const u32 arc = (u32)(top >> 32), vertex = (u32)top;
    if (leaves(own, arc)) return arc;
    const u32 next = lightest_arc(own, vertex, (u64)arc + 1);
    if (next != ~0u) {
      replace_top(own, own.key[next], (u64)next << 32 | vertex);
    } else {
      --own.size;
      if (own.size) replace_top(own, own.heap_key[own.size], own.heap_entry[own.size]);
    }
  }
  return ~0u;
}

// Partial Prim on one part of the vertices: `span` start vertices, and subtrees of at most as many. A subtree that
// meets another one hooks onto it and stops. taken[vertex] is the arc that a vertex was taken by, or at a start vertex
// the arc that its subtree hooked by. The rows are flagged afterwards (flag_taken): two look-ups and an atomic operation
// took half of the time here, where each vertex waits for the one before.
KERNEL_OF(K, grow_subtrees, (const u64* offset, const u32* edge, const u32* other, const K* key, u64 vertices,
                             u64 span, u32 sorted, u32 scan, u32* tree, u32* parent, K* heap_key, u64* heap_entry,
                             u32* taken, u64* conflicts)) {
  const u64 begin = i * span, end = begin + span < vertices ? begin + span : vertices;
  u64 met = 0;
  for (u64 s = begin; s < end; ++s) {
    if (STOPPED_AT(s)) return;
    const u32 start = (u32)s;
    if (load(&tree[s]) != ~0u || compare_swap(&tree[s], ~0u, start) != ~0u) continue;
    Instance<K> own = {offset, edge, other, key, tree, heap_key + begin, heap_entry + begin, sorted, scan, start, 0};
    parent[s] = start;
    u32 newest = start;
    for (u64 size = 1; size < span; ++size) {
      if (STOPPED_AT(size)) return;
      push(own, newest);
      const u32 arc = lightest_leaving(own);
      if (arc == ~0u) break;
      newest = other[arc];
      const u32 found = compare_swap(&tree[newest], ~0u, start);
      if (found != ~0u) {
        parent[s] = found;
        taken[s] = arc;
        ++met;
        break;
      }
      parent[newest] = start;
      taken[newest] = arc;
    }
  }
  if (met) atomic_add(conflicts, met);
} END

// Gives a vertex's neighbors the subtree's color: false if one has another color.
template <typename K> DEVICE bool colour_neighbors(const Instance<K>& own, u32 vertex, u32* colour) {
  for (u64 arc = own.offset[vertex]; arc < own.offset[vertex + 1]; ++arc) {
    u32* const mark = &colour[own.other[arc]];
    u32 found = load(mark);
    if (found == ~0u) found = compare_swap(mark, ~0u, own.start);
    if (found != ~0u && found != own.start) return false;
  }
  return true;
}

// Whether a vertex joins: all its neighbors take the subtree's colour or, without colours, it was taken by no other.
template <typename K> DEVICE bool joins(const Instance<K>& own, u32 vertex, u32 coloured, u32* colour) {
  if (coloured) return colour_neighbors(own, vertex, colour);
  return vertex == own.start || compare_swap(&colour[vertex], ~0u, own.start) == ~0u;
}

// Prim on one part of the vertices, by subtrees that stop where they meet, and do not hook: at a vertex that has a
// neighbor of another colour or (not `coloured`) is of another subtree itself. A start vertex that stays alone counts
// as unvisited. The lists are sorted by weight.
KERNEL_OF(K, grow_apart, (const u64* offset, const u32* edge, const u32* other, const K* key, u64 vertices, u64 span,
                          u32 coloured, u32* colour, u32* tree, u32* parent, K* heap_key, u64* heap_entry,
                          u32* taken, u64* conflicts)) {
  const u64 begin = i * span, end = begin + span < vertices ? begin + span : vertices;
  u64 met = 0;
  for (u64 s = begin; s < end; ++s) {
    if (STOPPED_AT(s)) return;
    const u32 start = (u32)s;
    if (load(&colour[s]) != ~0u || compare_swap(&colour[s], ~0u, start) != ~0u) continue;
    Instance<K> own = {offset, edge, other, key, tree, heap_key + begin, heap_entry + begin, 1, 0, start, 0};
    u32 newest = start, arc = ~0u;
    u64 size = 0;
    for (;;) {
      if (!joins(own, newest, coloured, colour)) {
        ++met;
        break;
      }
      store(&tree[newest], start);
      parent[newest] = start;
      if (arc != ~0u) taken[newest] = arc;
      if (++size >= span) break;
      push(own, newest);
      if (STOPPED_AT(size)) return;
      arc = lightest_leaving(own);
      if (arc == ~0u) break;
      newest = other[arc];
    }
    if (size == 1) store(&tree[s], ~0u);
  }
  if (met) atomic_add(conflicts, met);
} END

// Every vertex that no subtree holds hooks onto the other end of its lightest edge; its list is sorted by weight.
KERNEL(hook_unvisited, (const u64* offset, const u32* other, const u32* tree, u32* parent, u32* taken)) {
  if (tree[i] != ~0u || offset[i] == offset[i + 1]) return;
  parent[i] = other[offset[i]];
  taken[i] = (u32)offset[i];
} END

// Every vertex hooks onto the other end of its lightest edge. Its list is in the order of positions, so that the first of
// equal keys is the lightest.
KERNEL_OF(K, hook_lightest, (const u64* offset, const u32* other, const K* key, u32* parent, u32* taken)) {
  const u64 begin = offset[i], end = offset[i + 1];
  if (begin == end) return;
  u64 best = begin;
  for (u64 arc = begin + 1; arc < end; ++arc)
    if (key[arc] < key[best]) best = arc;
  parent[i] = other[best];
  taken[i] = (u32)best;
} END

// Flags the rows of the taken arcs. The look-ups of later vertices are begun before: an atomic operation waits for all
// that came before it.
KERNEL(flag_taken, (const u32* taken, const u32* edge, const u32* row, u64* flags)) {
  const u64 far = i + 48, near = i + 24;
  if (far < count && taken[far] != ~0u) PREFETCH(&edge[taken[far]]);
  if (row && near < count && taken[near] != ~0u) PREFETCH(&row[edge[taken[near]]]);
  const u32 arc = taken[i];
  if (arc == ~0u) return;
  set_flag(flags, row ? row[edge[arc]] : edge[arc]);
} END

// Of two vertices that point at each other, the smaller becomes a root. Only the smaller one ever stores.
KERNEL(break_cycles, (u32* parent)) {
  const u32 up = load(&parent[i]);
  if ((u32)i < up && load(&parent[up]) == (u32)i) store(&parent[i], (u32)i);
} END
