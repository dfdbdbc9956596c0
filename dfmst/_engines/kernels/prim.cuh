// Prim's algorithm over adjacency lists, from priority queues (the other form: prim_reduction.cuh).
//
// One index grows the trees; only the neighbors of a vertex of high degree are offered by several threads, each into a
// queue of its own.

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

// What has been offered to vertices: `nearest` and `edge_of` are the lightest offer to one; (0, 0) refuses every offer:
// the vertex is in a tree.
template <typename K> struct Offered {
  const u32* edge;
  const u32* other;
  const K* key;
  K* nearest;
  u32* edge_of;
  const u8* in_tree;
};

const u64 AHEAD = 24;  // list entries between a prefetch and its use

// Offers the neighbors [j, end) of a vertex into one queue, where other threads offer others. Where parallel rows stand
// in two shares, the edge of the lightest offer is uncertain: ~0 lets later offers of the same key through.
template <typename K> DEVICE void offer_share(const Offered<K>& to, u64 j, u64 end, Offer* heap, u64* size) {
  u64 length = *size;  // the sizes of all queues lie side by side: threads would fight for them
  for (; j < end; ++j) {
    if (j + AHEAD < end) PREFETCH(&to.nearest[to.other[j + AHEAD]]);
    const u32 vertex = to.other[j];
    if (to.key[j] > load(&to.nearest[vertex]) || to.in_tree[vertex]) continue;
    store(&to.edge_of[vertex], ~0u);
    atomic_min(&to.nearest[vertex], to.key[j]);
    push(heap, &length, Offer{to.key[j], (u64)to.edge[j] << 32 | vertex});
  }
  *size = length;
}

// Offers the neighbors [j, end) of a vertex while no other thread offers any.
template <typename K> DEVICE void offer_all(const Offered<K>& to, u64 j, u64 end, Offer* heap, u64* size) {
  for (u64 ahead = j; ahead < end && ahead < j + AHEAD; ++ahead) PREFETCH(&to.nearest[to.other[ahead]]);
  for (; j < end; ++j) {
    if (j + AHEAD < end) PREFETCH(&to.nearest[to.other[j + AHEAD]]);
    const u32 vertex = to.other[j];
    const K key = to.key[j];
    if (key > to.nearest[vertex] || (key == to.nearest[vertex] && to.edge[j] >= to.edge_of[vertex])) continue;
    to.nearest[vertex] = key;
    to.edge_of[vertex] = to.edge[j];
    push(heap, size, Offer{key, (u64)to.edge[j] << 32 | vertex});
  }
}

// Grows trees until every vertex is in one. The neighbors of a vertex of at least `hub` are shared out among the
// queues, each filled by one thread. VERTEX of `state` is the one at which the search for the next tree's first vertex
// goes on.
KERNEL_OF(K, grow_trees, (const u64* offset, const u32* edge, const u32* other, const K* key, u64 vertices, u64 hub,
                          u64* heaps, const u64* starts, u64* sizes, u32 queues, K* nearest, u32* edge_of, u8* in_tree,
                          u32* chosen, u64* state)) {
  Offer* const heap = (Offer*)heaps;
  const Offered<K> to = {edge, other, key, nearest, edge_of, in_tree};
  for (u64 turn = 0;; ++turn) {
    if (STOPPED_AT(turn)) return;
    const u32 queue = lightest_queue(heap, starts, sizes, queues);
    u64 vertex = state[VERTEX];
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
      chosen[state[JOINED]++] = (u32)(place >> 32);
    } else {
      while (vertex < vertices && in_tree[vertex]) ++vertex;
      state[VERTEX] = vertex;
      if (vertex == vertices) return;
      ++state[TREES];
    }
    in_tree[vertex] = 1;
    nearest[vertex] = 0;
    edge_of[vertex] = 0;
    const u64 begin = offset[vertex], end = offset[vertex + 1];
    if (end - begin < hub || queues == 1) {
      offer_all(to, begin, end, heap, sizes);
      continue;
    }
    const u64 before = nanoseconds(), share = (end - begin + queues - 1) / queues;
    const auto offer = [=](u64 at) {
      const u64 first = begin + at * share, last = first + share < end ? first + share : end;
      offer_share(to, first, last, heap + starts[at], &sizes[at]);
    };
    FORK(queues, 1, offer);
    ++state[HUBS];
    state[NANOSECONDS] += nanoseconds() - before;
  }
} END
