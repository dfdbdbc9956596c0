// Kruskal inside ranges of 2^width vertices, each by one thread in its own cache.
//
// An edge lies inside a range, or is cut. `limit[v]` is the leading bits of the lightest cut edge at `v`; of a
// component, at its root. An edge that is lighter than the limit of one of its ends' components is the lightest edge out
// of that component: it belongs to the forest, whatever lies outside the range. Any other edge between two components
// is put off, as the cut ones are: these edges are what is left when all ranges are contracted.

DEVICE u64 range_of(u64 u, u64 v, u32 width, u64 ranges) { return u >> width == v >> width ? u >> width : ranges; }

HOST_KERNEL_OF(V, count_ranges, (const V* source, const V* target, u64 length, u64 block, u32 width, u64 ranges,
                                 u64* counts, u64 blocks)) {
  u32 local[1025];
  for (u64 range = 0; range <= ranges; ++range) local[range] = 0;
  const u64 end = (i + 1) * block < length ? (i + 1) * block : length;
  for (u64 j = i * block; j < end; ++j) ++local[range_of(source[j], target[j], width, ranges)];
  for (u64 range = 0; range <= ranges; ++range) counts[range * blocks + i] = local[range];
} END

// Each edge's leading bits, place and ends go to the bucket of its range; the last bucket holds the cut edges.
HOST_KERNEL_OF(V, scatter_ranges, (const V* source, const V* target, const u32* leading, u64 length, u64 block,
                                   u32 width, u64 ranges, const u64* places, u64 blocks, u64* records, u64* ends)) {
  u32 local[1025];
  for (u64 range = 0; range <= ranges; ++range) local[range] = (u32)places[range * blocks + i];
  const u64 end = (i + 1) * block < length ? (i + 1) * block : length;
  for (u64 j = i * block; j < end; ++j) {
    const u64 u = source[j], v = target[j];
    const u32 at = local[range_of(u, v, width, ranges)]++;
    records[at] = (u64)leading[j] << 32 | j;
    ends[at] = u << 32 | v;
  }
} END

// The limits that the cut edges set; they are put off. (Not while edges are scattered: an atomic waits for all stores
// before it, and those miss the caches.)
KERNEL(limit_ends, (const u64* records, const u64* ends, u32* limit, u8* marks)) {
  const u32 leading = (u32)(records[i] >> 32), both[2] = {(u32)(ends[i] >> 32), (u32)ends[i]};
  for (u32 side = 0; side < 2; ++side)
    if (leading < load(&limit[both[side]])) atomic_min(&limit[both[side]], leading);
  marks[(u32)records[i]] = 2;
} END

// Sorts a range's records by the low `bits` of their leading 32 bits, in `first` and `second`: the result lies in one of
// them, with each edge's place in the range as its low half. At most three passes.
DEVICE u64* sort_within(const u64* records, const u64* ends, u64 length, u32 bits, u64* first, u64* second) {
  u32 at[3][2048];
  const u32 passes = bits <= 11 ? 1 : bits <= 22 ? 2 : 3, width = (bits + passes - 1) / passes, mask = (1u << width) - 1;
  for (u32 pass = 0; pass < passes; ++pass)
    for (u32 digit = 0; digit <= mask; ++digit) at[pass][digit] = 0;
  for (u64 j = 0; j < length; ++j) {
    if (j % 8 == 0) PREFETCH(&ends[j]);  // the scan takes them in another order
    for (u32 pass = 0; pass < passes; ++pass) ++at[pass][(u32)(records[j] >> 32) >> (width * pass) & mask];
  }
  for (u32 pass = 0; pass < passes; ++pass) {
    u32 sum = 0;
    for (u32 digit = 0; digit <= mask; ++digit) {
      const u32 own = at[pass][digit];
      at[pass][digit] = sum;
      sum += own;
    }
  }
  for (u64 j = 0; j < length; ++j) first[at[0][(u32)(records[j] >> 32) & mask]++] = records[j] >> 32 << 32 | j;
  for (u32 pass = 1; pass < passes; ++pass) {
    for (u64 j = 0; j < length; ++j) second[at[pass][(u32)(first[j] >> 32) >> (width * pass) & mask]++] = first[j];
    u64* const sorted = second;
    second = first;
    first = sorted;
  }
  return first;
}

// A range's edges in ascending order. A row is marked 1 where it belongs to the forest, 2 where it is put off. Of two
// neighbours with the same ends, as files that hold an edge in both directions have them, the second closes a cycle.
DEVICE void scan_within(const u64* order, const u64* records, const u64* ends, u64 length, u32* parent, u32* limit,
                        u8* marks) {
  u64 last = ~0ull;
  for (u64 base = 0; base < length; base += 32) {
    u64 both[32];
    u32 first[32], second[32], place[32], row[32], leading[32], count = 0;
    for (u64 j = base; j < base + 32 && j < length; ++j) {
      const u64 edge = order[j], pair = ends[(u32)edge];
      both[count] = pair;
      row[count] = (u32)records[(u32)edge];
      leading[count] = (u32)(edge >> 32);
      PREFETCH_WRITE(&marks[row[count]]);
      count += (pair >> 32 | pair << 32) != last;
      last = pair;
    }
    const u32 apart = find_apart(both, [](u32 k) { return k; }, count, parent, first, second, place);
    for (u32 k = 0; k < apart; ++k) {
      const u32 a = root(parent, first[k]), b = root(parent, second[k]);
      if (a == b) continue;
      const u32 one = limit[a], other = limit[b], least = one < other ? one : other, most = one < other ? other : one;
      const bool joins = leading[place[k]] < most;
      marks[row[place[k]]] = joins ? 1 : 2;
      if (!joins) continue;
      store(&parent[a < b ? b : a], a < b ? a : b);
      limit[a < b ? a : b] = least;
    }
  }
}

// Each index is a worker that takes one range after the other, with room of its own to sort. Edges compare by `key`
// where their leading bits agree, if it is given.
HOST_KERNEL(solve_ranges, (const u64* starts, u64 ranges, u64 vertices, u32 width, u32 bits, const u64* key,
                           const u64* records, const u64* ends, u64 longest, u64* spare, u64* other, u32* parent,
                           u32* limit, u8* marks, u32* next)) {
  for (u64 range = atomic_add(next, 1u); range < ranges; range = atomic_add(next, 1u)) {
    const u64 from = starts[range], length = starts[range + 1] - from;
    const u64* const own = records + from;
    u64* const order = sort_within(own, ends + from, length, bits, spare + i * longest, other + i * longest);
    if (key) sort_runs(order, 0, length, [=](u64 record) { return key[(u32)own[(u32)record]]; });
    scan_within(order, own, ends + from, length, parent, limit, marks);
    const u64 begin = range << width, end = begin + (1ull << width);
    for (u64 v = begin; v < (end < vertices ? end : vertices); ++v) store(&parent[v], parent[parent[v]]);
  }
} END
