// Prim's algorithm over adjacency lists.
//
// Two forms. Queues: one index grows the trees from priority queues; only the neighbours of a vertex of high degree are
// offered by many indices, each into a queue of its own. Reduction: one candidate a round, by a minimum reduction that
// carries its index.

// ---- queues --------------------------------------------------------------------------------------------------------
// A queue is a heap with four children a node (a cache line) of (key, edge << 32 | vertex), which is the total order.
// Queue q stands in `heaps` from entry starts[q] on.

struct Offer {
  u64 key, place;
};

DEVICE bool precedes(const Offer& a, const Offer& b) {
  return a.key < b.key || (a.key == b.key && a.place < b.place);
}

DEVICE void push(Offer* heap, u64* size, Offer offer) {
  u64 at = (*size)++;
  while (at) {
    const u64 up = (at - 1) / 4;
    if (!precedes(offer, heap[up])) break;
    heap[at] = heap[up];
    at = up;
  }
  heap[at] = offer;
}

DEVICE void pop(Offer* heap, u64* size) {
  const u64 length = --*size;
  const Offer last = heap[length];
  u64 at = 0;
  for (u64 child = 1; child < length; child = 4 * at + 1) {
    const u64 end = child + 4 < length ? child + 4 : length;
    u64 least = child;
    for (u64 other = child + 1; other < end; ++other)
      if (precedes(heap[other], heap[least])) least = other;
    if (!precedes(heap[least], last)) break;
    heap[at] = heap[least];
    at = least;
  }
  heap[at] = last;
}

// The queue with the lightest offer; `queues` where all are empty.
DEVICE u32 lightest_queue(const Offer* heaps, const u64* starts, const u64* sizes, u32 queues) {
  u32 least = queues;
  for (u32 queue = 0; queue < queues; ++queue)
    if (sizes[queue] && (least == queues || precedes(heaps[starts[queue]], heaps[starts[least]])))
      least = queue;
  return least;
}

// Grows trees until every vertex is in one, or until a vertex of at least `hub` neighbours joins: the caller then
// offers these. `nearest` and `edge_of` are the lightest offer to a vertex; (0, 0) refuses every offer: the vertex is
// in a tree. `state` is the number of chosen edges, the vertex at which the search for the next tree's first vertex
// goes on, the number of trees, and the hub that joined (`vertices`: none, all is done).
KERNEL_OF(K, grow_trees, (const u64* offset, const u32* edge, const u32* other, const K* key, u64 vertices, u64 hub,
                          u64* heaps, const u64* starts, u64* sizes, u32 queues, K* nearest, u32* edge_of, u8* in_tree,
                          u32* chosen, u64* state)) {
  const u64 ahead = 24;
  Offer* heap = (Offer*)heaps;
  for (;;) {
    const u32 queue = lightest_queue(heap, starts, sizes, queues);
    u64 vertex = state[1];
    if (queue < queues) {
      Offer* own = heap + starts[queue];
      const u64 place = own->place;
      vertex = (u32)place;  // its list, and the lists that may come next, load while the heap is put in order
      PREFETCH(&other[offset[vertex]]);
      PREFETCH(&key[offset[vertex]]);
      for (u64 child = 1; child < 5 && child < sizes[queue]; ++child) {
        PREFETCH(&offset[(u32)own[child].place]);
        PREFETCH(&in_tree[(u32)own[child].place]);
      }
      pop(own, &sizes[queue]);
      if (in_tree[vertex]) continue;
      chosen[state[0]++] = (u32)(place >> 32);
    } else {
      while (vertex < vertices && in_tree[vertex]) ++vertex;
      state[1] = vertex;
      if (vertex == vertices) break;
      ++state[2];
    }
    in_tree[vertex] = 1;
    nearest[vertex] = 0;
    edge_of[vertex] = 0;
    const u64 begin = offset[vertex], end = offset[vertex + 1];
    if (end - begin >= hub) {
      state[3] = vertex;
      return;
    }
    for (u64 j = begin; j < end && j < begin + ahead; ++j) PREFETCH(&nearest[other[j]]);
    for (u64 j = begin; j < end; ++j) {
      if (j + ahead < end) PREFETCH(&nearest[other[j + ahead]]);
      const u32 to = other[j];
      if (key[j] > nearest[to] || (key[j] == nearest[to] && edge[j] >= edge_of[to])) continue;
      nearest[to] = key[j];
      edge_of[to] = edge[j];
      push(heap, sizes, Offer{key[j], (u64)edge[j] << 32 | to});
    }
  }
  state[3] = vertices;
} END

// Every index offers its share of a vertex's neighbours into its own queue. Where parallel rows stand in two shares,
// the edge of the lightest offer is uncertain: ~0 lets later offers of the same key through.
KERNEL_OF(K, offer_neighbours, (const u32* edge, const u32* other, const K* key, u64 begin, u64 end, u64 share,
                                u64* heaps, const u64* starts, u64* sizes, K* nearest, u32* edge_of,
                                const u8* in_tree)) {
  Offer* heap = (Offer*)heaps + starts[i];
  const u64 first = begin + i * share, last = first + share < end ? first + share : end;
  for (u64 j = first; j < last; ++j) {
    const u32 to = other[j];
    if (in_tree[to] || key[j] > load(&nearest[to])) continue;
    store(&edge_of[to], ~0u);
    atomic_min(&nearest[to], key[j]);
    push(heap, &sizes[i], Offer{key[j], (u64)edge[j] << 32 | to});
  }
} END

// ---- reduction -----------------------------------------------------------------------------------------------------
// Candidates stand in columns from `front` on: their vertex and the lightest edge from a tree to it (see propose; ~0:
// none). place[vertex] is the place of the vertex's candidate. Those before `front` have joined.

// First launch of the reduction: the lightest of every `lanes`-th candidate, its value and its index.
KERNEL_OF(K, lightest_of_lanes, (const u64* lightest, u64 front, u64 length, u64 lanes, const K* edge_key, u64* value,
                                 u32* index)) {
  u64 at = front + i;
  for (u64 j = at + lanes; j < length; j += lanes)
    if (lighter(lightest[j], lightest[at], edge_key)) at = j;
  value[i] = lightest[at];
  index[i] = (u32)at;
} END

// Second launch: the lightest of the lanes joins. Where no edge leads to any candidate, the one at the front begins a
// new tree. `state` is the number of chosen edges, the vertex that joined and the number of trees.
KERNEL_OF(K, join_lightest, (const u64* value, const u32* index, u64 lanes, u64 front, const K* edge_key, u64* lightest,
                             u32* vertex, u32* place, u32* chosen, u64* state)) {
  u64 lane = 0;
  for (u64 j = 1; j < lanes; ++j)
    if (lighter(value[j], value[lane], edge_key)) lane = j;
  const u64 best = value[lane];
  const u64 at = best == ~0ull ? front : index ? index[lane] : front + lane;
  if (best == ~0ull) ++state[2];
  else chosen[state[0]++] = (u32)best;
  const u32 joined = vertex[at], moved = vertex[front];
  vertex[at] = moved;
  place[moved] = (u32)at;
  lightest[at] = lightest[front];
  vertex[front] = joined;
  place[joined] = (u32)front;
  state[1] = joined;
} END

// The neighbours of the vertex that joined, `lanes` at a time, take the edge to it where it is lighter.
KERNEL_OF(K, relax_neighbours, (const u64* offset, const u32* edge, const u32* other, u64 lanes, u64 front,
                                const K* edge_key, const u32* place, const u64* state, u64* lightest)) {
  const u64 joined = state[1], end = offset[joined + 1];
  for (u64 j = offset[joined] + i; j < end; j += lanes) {
    const u32 at = place[other[j]];
    if (at > front) propose(lightest, at, edge_key, edge[j]);
  }
} END
