// What the kernels of several files do: words of flags, the total order, disjoint sets, the Kruskal tree.
#pragma once

// ---- words of 64 flags ---------------------------------------------------------------------------------------------

DEVICE u64 word_length(u64 word, u64 length) {
  const u64 rest = length - word * 64;
  return rest < 64 ? rest : 64;
}
DEVICE u64 flag_at(const u64* flags, u64 at) { return flags[at >> 6] >> (at & 63) & 1; }
DEVICE u64 last_flags(u64 length) { return ~0ull >> (64 - length); }
DEVICE void set_flag(u64* flags, u64 at) { atomic_or(&flags[at >> 6], 1ull << (at & 63)); }

// Entries of a column at positions `begin` to `end` of a list, sooner than they are read.
template <typename T, typename P> FETCHER void fetch_ahead(const T* column, const P* position, u64 begin, u64 end) {
  for (u64 j = begin; j < end; ++j) PREFETCH(&column[position[j]]);
}

// Lists the positions of a word's flags from `base` on; what follows them, up to a multiple of eight entries, is any.
// Eight at a time, since a loop of as many steps as flags would be mispredicted at its end (simdjson does so).
template <typename P> DEVICE void list_eights(u64 flags, u64 base, P* positions) {
  for (u32 left = count_ones(flags); left; left = left > 8 ? left - 8 : 0, positions += 8)
    for (u32 k = 0; k < 8; ++k, flags &= flags - 1) positions[k] = (P)(base + lowest_bit(flags | 1ull << 63));
}

// Eight flags of eight bytes that are 0 or 1: a product gathers them (Warren: Hacker's Delight, 7-4).
#define EIGHT_ONES 0x0101010101010101ull
DEVICE u64 flags_of_bytes(u64 bytes) { return bytes * 0x0102040810204080ull >> 56; }

// A word that flags the places, up to 64, where `holds`. A compiler vectorizes the first loop where `holds` loads from
// columns in sequence, one byte a place.
template <typename Holds> DEVICE u64 flags_of(u64 length, Holds holds) {
  u64 word = 0;
#ifndef __CUDACC_RTC__
  if (length == 64) {
    u8 held[64];
    for (u32 j = 0; j < 64; ++j) held[j] = (u8)holds(j);
    for (u32 j = 0; j < 64; j += 8) {
      u64 eight;
      std::memcpy(&eight, held + j, 8);
      word |= flags_of_bytes(eight) << j;
    }
    return word;
  }
#endif
  for (u64 j = 0; j < length; ++j) word |= (u64)holds(j) << j;
  return word;
}

// Two words that one access moves. A column of them comes from an allocator, which aligns it to 16 bytes at least.
struct alignas(16) Pair { u64 first, second; };

// ---- the total order -----------------------------------------------------------------------------------------------
// A weight becomes an unsigned key whose order is the weights' order; -0.0 and +0.0 share one key. `flip` (all ones)
// complements the key for a maximum forest.

template <typename T> struct KeyOf;
template <> struct KeyOf<u32> { typedef u32 type; };
template <> struct KeyOf<i32> { typedef u32 type; };
template <> struct KeyOf<f32> { typedef u32 type; };
template <> struct KeyOf<u64> { typedef u64 type; };
template <> struct KeyOf<i64> { typedef u64 type; };
template <> struct KeyOf<f64> { typedef u64 type; };
template <typename W> using Key = typename KeyOf<W>::type;

DEVICE u32 ordered(u32 weight) { return weight; }
DEVICE u64 ordered(u64 weight) { return weight; }
DEVICE u32 ordered(i32 weight) { return (u32)weight ^ 0x80000000u; }
DEVICE u64 ordered(i64 weight) { return (u64)weight ^ 0x8000000000000000ull; }
// By bits, not by comparison: a thread that flushes denormals to zero (as any library built with -ffast-math may have
// made it) would take every denormal for a zero.
DEVICE u32 ordered(f32 weight) {
  u32 bits = bits_of(weight);
  if (bits == 0x80000000u) bits = 0;
  return bits & 0x80000000u ? ~bits : bits | 0x80000000u;
}
DEVICE u64 ordered(f64 weight) {
  u64 bits = bits_of(weight);
  if (bits == 0x8000000000000000ull) bits = 0;
  return bits & 0x8000000000000000ull ? ~bits : bits | 0x8000000000000000ull;
}
template <typename W> DEVICE Key<W> key_of(W weight, u64 flip) { return ordered(weight) ^ (Key<W>)flip; }

// Weights of 64 bits, in rows of the table, as keys.
struct Weights {
  const u64* bits;
  u64 flip;
  u32 type;  // 0 of u64, 1 of i64, 2 of f64
};
DEVICE u64 key_at(const Weights& weights, u64 row) {
  const u64 mine = weights.bits[row];
  return (weights.type == 2 ? ordered(real_of(mine)) : weights.type == 1 ? ordered((i64)mine) : mine) ^ weights.flip;
}

// A window of keys of 64 bits: `most` + 1 steps of 2^shift keys from `low`, which is a multiple of a step.
struct Window {
  u64 low;
  u32 shift, most;
};
// The step of a key, its leading bits. Keys below and above the window get the least and the greatest: the order of any
// two keys with different leading bits is that of the keys.
DEVICE u32 leading_of(const Window& window, u64 key) {
  const u64 step = key > window.low ? (key - window.low) >> window.shift : 0;
  return step < window.most ? (u32)step : window.most;
}
// 0 if leading bits are all of a key: it is in the window, and the low bits of its weight are 0, as those of small integers
// in a float are. The key of a negative float has the complement of these bits.
DEVICE u64 lost_bits(const Window& window, u64 key, u64 flip) {
  const u64 plain = key ^ flip, low_bits = ~(plain ^ (u64)((i64)plain >> 63)) & ((1ull << window.shift) - 1);
  return low_bits | (u64)((key - window.low) >> window.shift > window.most);
}

// ---- the lightest edge ---------------------------------------------------------------------------------------------
// best[place] is the lightest edge at a place in the total order (key, position), or ~0. A 32-bit key and the position
// share one word, so that one atomic minimum decides; a 64-bit key is looked up through the position. Either way the
// low half is the position.

DEVICE bool lighter(u64 a, u64 b, const u32*) { return a < b; }
DEVICE bool lighter(u64 a, u64 b, const u64* key) {
  if (a == ~0ull || b == ~0ull) return a < b;
  return key[a] < key[b] || (key[a] == key[b] && a < b);
}

DEVICE void propose(u64* best, u64 place, const u32* key, u64 edge) {
  const u64 candidate = (u64)key[edge] << 32 | edge;
  if (candidate < load(&best[place])) atomic_min(&best[place], candidate);
}
// Stores an edge if it is lighter than the stored one: `lighter_than` compares it with the value last seen.
template <typename LighterThan> DEVICE void swap_while(u64* place, u64 edge, const LighterThan& lighter_than) {
  u64 seen = load(place);
  while (lighter_than(seen)) {
    const u64 found = compare_swap(place, seen, edge);
    if (found == seen) return;
    seen = found;
  }
}
DEVICE void propose(u64* best, u64 place, const u64* key, u64 edge) {
  swap_while(&best[place], edge, [=](u64 seen) { return lighter(edge, seen, key); });
}
// The same for weights, whose keys no column holds.
template <typename W> DEVICE void propose_weight(u64* best, u64 place, const W* weight, u64 flip, u64 edge) {
  const Key<W> mine = key_of(weight[edge], flip);
  if constexpr (sizeof(W) == 4) {
    const u64 candidate = (u64)mine << 32 | edge;
    if (candidate < load(&best[place])) atomic_min(&best[place], candidate);
  } else {
    swap_while(&best[place], edge, [=](u64 seen) {
      if (seen == ~0ull) return true;
      const Key<W> other = key_of(weight[seen], flip);
      return mine < other || (mine == other && edge < seen);
    });
  }
}

// ---- disjoint sets -------------------------------------------------------------------------------------------------

// The representative of `vertex`, halving the path on the way. Safe beside other finds and hooks: a store only ever
// replaces a parent by one of its ancestors. In a `settled` step no root is hooked: an older parent is an ancestor, too,
// and most are in a GPU's first-level cache.
template <bool settled = false> FETCHER u32 root(u32* parent, u32 vertex) {
  u32 up = settled ? load_cached(&parent[vertex]) : load(&parent[vertex]);
  while (up != vertex) {
    const u32 above = settled ? load_cached(&parent[up]) : load(&parent[up]);
    if (above == up) return up;
    store(&parent[vertex], above);
    vertex = above;
    up = settled ? load_cached(&parent[vertex]) : load(&parent[vertex]);
  }
  return vertex;
}

// Joins the sets of two vertices. The smaller root always stays, so that the outcome, the smallest vertex of each set,
// does not depend on the order. Returns the other root, or ~0 if the sets were one.
DEVICE u32 join_sets(u32* parent, u32 u, u32 v) {
  u32 a = root(parent, u), b = root(parent, v);
  while (a != b) {
    const u32 high = a < b ? b : a, low = a < b ? a : b;
    if (compare_swap(&parent[high], high, low) == high) return high;
    a = root(parent, high);
    b = root(parent, low);
  }
  return ~0u;
}

// Pointer jumping in two steps. The first shortens every path; where two walks meet, a late store may leave a vertex
// below its root. The second writes only its own vertex and walks the short rest, so that it is exact; it returns the root.
DEVICE void shorten_path(u32* parent, u64 i, u64 length) {
#ifdef __CUDACC_RTC__  // CUDA would keep the load of an address that it does not prefetch
  (void)length;
#else
  if (i + 16 < length) PREFETCH(&parent[load(&parent[i + 16])]);
#endif
  // Three levels without a branch: few vertices are deeper, and branches on depths are hard to predict.
  const u32 above = load(&parent[load(&parent[i])]);
  store(&parent[i], load(&parent[above]) == above ? above : root(parent, above));
}
DEVICE u32 flatten_path(u32* parent, u64 i) {
  u32 top = load(&parent[i]);
  for (u32 above = load(&parent[top]); above != top; above = load(&parent[top])) top = above;
  store(&parent[i], top);
  return top;
}

// Finds those of up to 32 edges whose ends are in two components, and an ancestor of each of their ends; `kept` returns
// the place of each edge. All ends climb four levels, level by level, so that cache misses overlap and no branch waits for
// one.
template <typename Kept>
DEVICE u32 find_apart(const u64* ends, const Kept& kept, u32 length, u32* parent, u32* first, u32* second, u32* place) {
  u32 apart = 0;
  for (u32 k = 0; k < length; ++k) {
    first[k] = load(&parent[(u32)(ends[kept(k)] >> 32)]);
    second[k] = load(&parent[(u32)ends[kept(k)]]);
  }
  for (u32 level = 2; level < 4; ++level)
    for (u32 k = 0; k < length; ++k) {
      first[k] = load(&parent[first[k]]);
      second[k] = load(&parent[second[k]]);
    }
  for (u32 k = 0; k < length; ++k) {
    const u64 both = ends[kept(k)];
    const u32 a = load(&parent[first[k]]), b = load(&parent[second[k]]);
    store(&parent[(u32)(both >> 32)], a);
    store(&parent[(u32)both], b);
    first[apart] = a;
    second[apart] = b;
    place[apart] = kept(k);
    apart += a != b;
  }
  return apart;
}

// A root hooks onto the other end of its lightest edge, and the edge's row is flagged. Two roots that chose the same
// edge would make a cycle: the smaller stays a root. The order is total, so there is no other cycle. The edge's
// position is the low half of best[root] for either key width.
DEVICE void hook_root(u32 root, const u32* source, const u32* target, const u64* best, const u32* row, u32* parent,
                      u64* flags) {
  const u64 mine = best[root];
  if (mine == ~0ull) return;
  const u32 edge = (u32)mine, a = source[edge], other = a == root ? target[edge] : a;
  if (best[other] == mine && root < other) return;
  store(&parent[root], other);
  set_flag(flags, row ? row[edge] : edge);
}

// ---- runs of equal leading bits ------------------------------------------------------------------------------------
// Orders records whose leading 32 bits agree by whole keys, which `key_of_record` looks up, then by their low halves.
// `ends` moves along, if there is one. Heap sort: a run may be long.

template <typename KeyOfRecord> DEVICE bool heavier(const KeyOfRecord& key_of_record, u64 a, u64 b) {
  const u64 first = key_of_record(a), second = key_of_record(b);
  return first > second || (first == second && a > b);
}
DEVICE void swap_edges(u64* records, u64* ends, u64 a, u64 b) {
  const u64 record = records[a];
  records[a] = records[b];
  records[b] = record;
  if (!ends) return;
  const u64 both = ends[a];
  ends[a] = ends[b];
  ends[b] = both;
}
template <typename KeyOfRecord>
DEVICE void sift_down(u64* records, u64* ends, u64 at, u64 length, const KeyOfRecord& key_of_record) {
  for (u64 child = 2 * at + 1; child < length; child = 2 * at + 1) {
    if (child + 1 < length && heavier(key_of_record, records[child + 1], records[child])) ++child;
    if (!heavier(key_of_record, records[child], records[at])) return;
    swap_edges(records, ends, at, child);
    at = child;
  }
}
template <typename KeyOfRecord>
DEVICE void sort_heap(u64* records, u64* ends, u64 length, const KeyOfRecord& key_of_record) {
  for (u64 at = length / 2; at-- > 0;) sift_down(records, ends, at, length, key_of_record);
  for (u64 last = length; last > 1;) {
    swap_edges(records, ends, 0, --last);
    sift_down(records, ends, 0, last, key_of_record);
  }
}
template <typename KeyOfRecord>
DEVICE void sort_runs(u64* records, u64* ends, u64 length, const KeyOfRecord& key_of_record) {
  const auto same = [=](u64 j) { return (records[j] ^ records[j + 1]) >> 32 == 0; };
  u64 end = 0;
  for (u64 base = 0; base + 1 < length; base += 64) {
    u64 any = 0, pairs = word_length(0, length - 1 - base);
    for (u64 j = 0; j < pairs; ++j) any |= (u64)same(base + j);  // a compiler vectorizes it
    for (u64 begin = base > end ? base : end; any && begin < base + pairs; ++begin) {
      if (!same(begin)) continue;
      bool ascending = true;
      for (end = begin + 1; end < length && same(end - 1); ++end)
        ascending &= heavier(key_of_record, records[end], records[end - 1]);
      if (!ascending) sort_heap(records + begin, ends ? ends + begin : 0, end - begin, key_of_record);
      begin = end - 1;
    }
  }
}

// ---- the Kruskal tree (kruskal_tree.cuh) ---------------------------------------------------------------------------

// Rank of the heaviest forest edge between two vertices of one tree. Ranks grow on the way up and no two are equal, so
// that the end with the smaller link is always the one to move; the last link taken is the heaviest.
DEVICE u32 heaviest_link(const u64* link, u32 u, u32 v) {
  u64 taken = 0;
  while (u != v) {
    const u64 a = link[u], b = link[v];
    taken = a < b ? a : b;
    (a < b ? u : v) = (u32)taken;
  }
  return (u32)(taken >> 32);
}

// Fetches what `heaviest_link` reads first of pairs ahead.
FETCHER void fetch_links(const u32* source, const u32* target, const u64* top, const u64* link, u64 i, u64 count) {
#ifndef __CUDACC_RTC__
  if (i + 24 < count) {
    PREFETCH(&top[source[i + 24]]);
    PREFETCH(&top[target[i + 24]]);
    PREFETCH(&link[source[i + 24]]);
    PREFETCH(&link[target[i + 24]]);
  }
  if (i + 12 < count) {
    const u64 a = link[source[i + 12]], b = link[target[i + 12]];
    if (a != ~0ull) PREFETCH(&link[(u32)a]);
    if (b != ~0ull) PREFETCH(&link[(u32)b]);
  }
#endif
}

// ---- Prim's algorithm ------------------------------------------------------------------------------------------------

// The words of `state` in both forms; the host reads their names from this text.
enum TreeCounter : u64 {
  JOINED,  // chosen edges
  VERTEX,
  TREES,
  HUBS,         // vertices whose neighbors the queues shared
  NANOSECONDS,  // spent on these neighbors
  TREE_COUNTERS
};
