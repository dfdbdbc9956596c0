// Prim's algorithm over adjacency lists.
//
// Two forms. Queues: one index grows the trees from priority queues; only the neighbours of a vertex of high degree are
// offered by several threads, each into a queue of its own. Reduction: one candidate a round, by a minimum reduction that
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

// Offers the neighbours [j, end) of a vertex into one queue, where other threads offer others. Where parallel rows stand
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

// Offers the neighbours [j, end) of a vertex while no other thread offers any.
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

// Grows trees until every vertex is in one. The neighbours of a vertex of at least `hub` are shared out among the
// queues, each filled by one thread. `state` is the number of chosen edges, the vertex at which the search for the next
// tree's first vertex goes on, the number of trees, the number of hubs, and the nanoseconds spent on their neighbours.
KERNEL_OF(K, grow_trees, (const u64* offset, const u32* edge, const u32* other, const K* key, u64 vertices, u64 hub,
                          u64* heaps, const u64* starts, u64* sizes, u32 queues, K* nearest, u32* edge_of, u8* in_tree,
                          u32* chosen, u64* state)) {
  Offer* const heap = (Offer*)heaps;
  const Offered<K> to = {edge, other, key, nearest, edge_of, in_tree};
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
      if (vertex == vertices) return;
      ++state[2];
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
    ++state[3];
    state[4] += nanoseconds() - before;
  }
} END

// ---- reduction -----------------------------------------------------------------------------------------------------
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

// The neighbours of the vertex that joined, `lanes` at a time, take the edge to it where it is lighter.
KERNEL_OF(K, relax_neighbours, (const u64* offset, const u32* edge, const u32* other, u64 lanes, u64 front,
                                const K* edge_key, const u32* place, const u64* state, u64* lightest)) {
  const u64 joined = state[1], end = offset[joined + 1];
  for (u64 j = offset[joined] + i; j < end; j += lanes) {
    const u32 at = place[other[j]];
    if (at > front) propose(lightest, at, edge_key, edge[j]);
  }
} END

// All rounds in one call, for threads that a fork reaches sooner than a launch from Python would: the groups are shared
// out `share` candidates at a time, the neighbours likewise. `spent` are the nanoseconds of the three steps.
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
