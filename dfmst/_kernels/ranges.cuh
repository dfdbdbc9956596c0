// A round of Boruvka's and Kruskal's scan inside ranges of 2^width vertices, each by one thread in its own cache.
//
// An edge lies inside a range, or is cut. `limit[v]` is the leading bits of the lightest cut edge at `v`; of a
// component, at its root. An edge that is lighter than the limit of one of its ends' components is the lightest edge out
// of that component: it belongs to the forest, whatever lies outside the range. Any other edge between two components
// is put off, as the cut ones are: these edges are what is left when all ranges are contracted.
//
// The round joins every vertex along its lightest edge, without a branch that depends on an edge: of a road network's
// edges, less than half go on to be sorted and scanned.

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

// Whether edge `a` is lighter than what vertex `v` has: `b`, an edge or its limit. Both are leading bits, then an edge's
// place in the range. Wide keys are looked up where the leading bits agree; those of a limit count as lighter.
template <bool wide>
DEVICE bool lighter_within(u64 a, u64 b, const u64* records, const u64* key, const u32* limit) {
  if (!wide || a >> 32 != b >> 32) return a < b;
  if ((u32)(b >> 32) == *limit) return false;
  const u64 mine = key[(u32)records[(u32)a]], theirs = key[(u32)records[(u32)b]];
  return mine < theirs || (mine == theirs && a < b);
}

// The lightest edge of each vertex of a range from `begin` to `end`, or its limit.
template <bool wide>
DEVICE void find_lightest(const u64* records, const u64* ends, u64 length, u64 begin, u64 end, const u64* key,
                          const u32* limit, u64* lightest) {
  for (u64 v = begin; v < end; ++v) lightest[v - begin] = (u64)limit[v] << 32;
  for (u64 j = 0; j < length; ++j) {
    const u32 both[2] = {(u32)(ends[j] >> 32), (u32)ends[j]};
    const u64 mine = both[0] == both[1] ? ~0ull : records[j] >> 32 << 32 | j;
    for (u32 side = 0; side < 2; ++side) {
      u64* const best = &lightest[both[side] - begin];
      const u64 seen = *best;
      *best = lighter_within<wide>(mine, seen, records, key, limit + both[side]) ? mine : seen;
    }
  }
}

// Joins every vertex along its lightest edge, where that is lighter than its limit; then all point at their roots, and
// a root has the least limit of its vertices.
DEVICE void join_vertices(const u64* ends, u64 begin, u64 end, const u64* lightest, u32* parent, u32* limit, u8* marks) {
  for (u64 v = begin; v < end; ++v) {
    const u64 mine = lightest[v - begin];
    const u32 leading = (u32)(mine >> 32), joins = leading < limit[v], mask = 0u - joins;  // all ones, or 0
    const u32 edge = (u32)mine & mask, apart = ((u32)(ends[edge] >> 32) ^ (u32)ends[edge]) & mask;
    const u32 other = (u32)v ^ apart;
    // Of two that join along one edge, the first stays.
    const u32 stays = (lightest[other - begin] == mine) & (leading < limit[other]) & (v <= other);
    parent[v] = (u32)v ^ (apart & (stays - 1));
    marks[edge] |= (u8)joins;
  }
  for (u32 moved = 1; moved;) {
    moved = 0;
    for (u64 v = begin; v < end; ++v) {
      const u32 above = parent[v], top = parent[above];
      moved |= above ^ top;
      parent[v] = top;
    }
  }
  for (u64 v = begin; v < end; ++v) {
    const u32 top = parent[v];
    limit[top] = limit[v] < limit[top] ? limit[v] : limit[top];
  }
}

// Lists the edges between two components, with these as their ends; how many there are.
DEVICE u64 list_between(const u64* records, const u64* ends, u64 length, const u32* parent, u64* listed, u64* between) {
  u64 count = 0;
  for (u64 j = 0; j < length; ++j) {
    const u32 a = parent[(u32)(ends[j] >> 32)], b = parent[(u32)ends[j]];
    listed[count] = records[j] >> 32 << 32 | j;
    between[count] = (u64)a << 32 | b;
    count += a != b;
  }
  return count;
}

// Sorts a list's records by the low `bits` of their leading 32 bits, in `first` and `second`: the result lies in one of
// them, with each edge's place in the list as its low half. At most three passes.
DEVICE u64* sort_within(const u64* records, u64 length, u32 bits, u64* first, u64* second) {
  u32 at[3][2048];
  const u32 passes = bits <= 11 ? 1 : bits <= 22 ? 2 : 3, width = (bits + passes - 1) / passes, mask = (1u << width) - 1;
  for (u32 pass = 0; pass < passes; ++pass)
    for (u32 digit = 0; digit <= mask; ++digit) at[pass][digit] = 0;
  for (u64 j = 0; j < length; ++j) {
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

// A list's edges in ascending order. One is marked 1 where it belongs to the forest, 2 where it is put off. Of two
// neighbours with the same ends, as files that hold an edge in both directions have them, the second closes a cycle.
DEVICE void scan_within(const u64* order, const u64* listed, const u64* ends, u64 length, u32* parent, u32* limit,
                        u8* marks) {
  u64 last = ~0ull;
  for (u64 base = 0; base < length; base += 32) {
    u64 both[32];
    u32 first[32], second[32], place[32], mark[32], leading[32], count = 0;
    for (u64 j = base; j < base + 32 && j < length; ++j) {
      const u64 edge = order[j], pair = ends[(u32)edge];
      both[count] = pair;
      mark[count] = (u32)listed[(u32)edge];
      leading[count] = (u32)(edge >> 32);
      count += (pair >> 32 | pair << 32) != last;
      last = pair;
    }
    const u32 apart = find_apart(both, [](u32 k) { return k; }, count, parent, first, second, place);
    for (u32 k = 0; k < apart; ++k) {
      const u32 a = root(parent, first[k]), b = root(parent, second[k]);
      if (a == b) continue;
      const u32 one = limit[a], other = limit[b], least = one < other ? one : other, most = one < other ? other : one;
      const bool joins = leading[place[k]] < most;
      marks[mark[place[k]]] = joins ? 1 : 2;
      if (!joins) continue;
      store(&parent[a < b ? b : a], a < b ? a : b);
      limit[a < b ? a : b] = least;
    }
  }
}

// Each index is a worker that takes one range after the other, with room of its own: five words for each edge of the
// longest range, and one for each vertex. Edges compare by `key` where their leading bits agree, if it is given.
HOST_KERNEL(solve_ranges, (const u64* starts, u64 ranges, u64 vertices, u32 width, u32 bits, const u64* key,
                           const u64* records, const u64* ends, u64 longest, u64* room, u32* parent, u32* limit,
                           u8* marks, u32* next)) {
  u64 *const listed = room + i * (5 * longest + (1ull << width)), *const between = listed + longest;
  u64 *const spare = between + longest, *const other = spare + longest, *const lightest = other + longest;
  u8* const mark = (u8*)(lightest + (1ull << width));  // by place, in the cache
  for (u64 range = atomic_add(next, 1u); range < ranges; range = atomic_add(next, 1u)) {
    const u64 from = starts[range], length = starts[range + 1] - from;
    const u64 begin = range << width, end = begin + (1ull << width) < vertices ? begin + (1ull << width) : vertices;
    const u64 *const own = records + from, *const both = ends + from;
    if (length == 0) {
      for (u64 v = begin; v < end; ++v) parent[v] = (u32)v;
      continue;
    }
    for (u64 j = 0; j < length; ++j) mark[j] = 0;
    if (key)
      find_lightest<true>(own, both, length, begin, end, key, limit, lightest);
    else
      find_lightest<false>(own, both, length, begin, end, key, limit, lightest);
    join_vertices(both, begin, end, lightest, parent, limit, mark);
    const u64 left = list_between(own, both, length, parent, listed, between);
    u64* const order = sort_within(listed, left, bits, spare, other);
    if (key) sort_runs(order, 0, left, [=](u64 record) { return key[(u32)own[(u32)listed[(u32)record]]]; });
    scan_within(order, listed, between, left, parent, limit, mark);
    for (u64 j = 0; j < length; ++j) marks[(u32)own[j]] = mark[j];
    for (u32 pass = 0; pass < 2; ++pass)  // the first makes the round's roots exact: the scan hooks them onto lower ones
      for (u64 v = begin; v < end; ++v) store(&parent[v], parent[parent[v]]);
  }
} END
