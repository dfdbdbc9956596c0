// Worklists of Filter-Boruvka over weights of type W (i32, u32, f32, i64, u64, f64).
//
// A record of a worklist is two words: first << 32 | second, the representatives of an edge's ends, and
// leading << 32 | row. `leading` is the whole key where W has 32 bits, so that the second word is the total order. Of a
// 64-bit key it is a stretch of 32 bits, and where two agree in it the keys themselves are looked up by row.
#define K KeyOf<W>::type

// Keys from `low` on in steps of 2^shift, kept apart from those below (0) and above (all ones).
DEVICE u32 NAME(leading_bits)(K key, u64 low, u32 shift) {
  if constexpr (sizeof(W) == 4) {
    return key;
  } else {
    if (key < low) return 0;
    const u64 step = (key - low) >> shift;
    return step < 0xfffffffeull ? (u32)step + 1 : ~0u;
  }
}

DEVICE bool NAME(precedes)(u64 a, u64 b, const W* weight, u64 flip, u32 shift) {
  const u32 leading = (u32)(a >> 32);
  if (leading != (u32)(b >> 32) || b == ~0ull) return a < b;
  if (shift == 0 && leading != 0 && leading != ~0u) return a < b;  // steps of one key: the keys are equal
  const K mine = key_of(weight[(u32)a], flip), theirs = key_of(weight[(u32)b], flip);
  return mine < theirs || (mine == theirs && a < b);
}

// An edge for the component at one of its ends.
DEVICE void NAME(offer_record)(u64* best, u64 word, const W* weight, u64 flip, u32 shift) {
  u64 seen = load(best);
  if constexpr (sizeof(W) == 4) {
    if (word < seen) atomic_min(best, word);
  } else {
    while (NAME(precedes)(word, seen, weight, flip, shift)) {
      const u64 found = compare_swap(best, seen, word);
      if (found == seen) return;
      seen = found;
    }
  }
}

// Lists the edges of one side of a threshold in the total order (key, row), as far as `parent` (flat; null: every vertex
// its own) keeps their ends apart, and offers them. Flags of the vertices of one component (`giant`; it may be null)
// answer for most edges without leaving the cache. Ids are words of 32 bits, `stride` of them an id. A list that is
// full takes nothing more, but `length` goes on counting. A thread takes eight edges, a grid apart, so that loads
// coalesce and one atomic a warp serves 256 edges.
KERNEL(take_edges, (const u32* source, const u32* target, u32 stride, const W* weight, u64 flip, u64 edges,
                    u64 threshold_key, u64 threshold_row, u32 above, u64 low, u32 shift, const u32* parent,
                    const u64* giant, u64* best, u64* records, u64 capacity, u32* length)) {
  u32 a[8], b[8], leading[8], kept = 0;
  UNROLL for (u32 j = 0; j < 8; ++j) {
    const u64 row = i + j * count;
    if (row >= edges) continue;
    const K key = key_of(weight[row], flip);
    const bool heavy = key > threshold_key || (key == threshold_key && row > threshold_row);
    leading[j] = NAME(leading_bits)(key, low, shift);
    if (heavy == (above != 0)) kept |= 1u << j;
  }
  UNROLL for (u32 j = 0; j < 8; ++j) {
    if (!(kept >> j & 1)) continue;
    const u64 at = (i + j * count) * stride;
    a[j] = source[at];
    b[j] = target[at];
    if (parent) continue;
    PREFETCH(&best[a[j]]);
    PREFETCH(&best[b[j]]);
  }
  if (giant) {
    UNROLL for (u32 j = 0; j < 8; ++j)
      if ((kept >> j & 1) && (flag_at(giant, a[j]) & flag_at(giant, b[j]))) kept ^= 1u << j;
  }
  if (parent) {
    UNROLL for (u32 j = 0; j < 8; ++j) {
      if (!(kept >> j & 1)) continue;
      a[j] = parent[a[j]];
      b[j] = parent[b[j]];
    }
  }
  UNROLL for (u32 j = 0; j < 8; ++j)
    if ((kept >> j & 1) && a[j] == b[j]) kept ^= 1u << j;
  const u32 wanted = count_ones(kept);
  u64 at = reserve(length, wanted);
  if (at + wanted > capacity) return;
  UNROLL for (u32 j = 0; j < 8; ++j) {
    if (!(kept >> j & 1)) continue;
    const u64 word = (u64)leading[j] << 32 | (u32)(i + j * count);
    ((Pair*)records)[at++] = {(u64)a[j] << 32 | b[j], word};
    NAME(offer_record)(&best[a[j]], word, weight, flip, shift);
    NAME(offer_record)(&best[b[j]], word, weight, flip, shift);
  }
} END

// Edges whose ends still differ, with the representatives that they have now (implicit path compression), and each
// offered to both. A thread takes four, as above.
KERNEL(offer_records, (const u64* records, const u32* length, const W* weight, u64 flip, u32 shift, u32* parent,
                       u64* best, u64* next, u32* next_length)) {
  u32 a[4], b[4], kept = 0;
  Pair record[4];
  UNROLL for (u32 j = 0; j < 4; ++j) {
    if (i + j * count >= *length) continue;
    record[j] = ((const Pair*)records)[i + j * count];
    PREFETCH(&parent[(u32)(record[j].first >> 32)]);
    PREFETCH(&parent[(u32)record[j].first]);
  }
  UNROLL for (u32 j = 0; j < 4; ++j) {
    if (i + j * count >= *length) continue;
    a[j] = root(parent, (u32)(record[j].first >> 32));
    b[j] = root(parent, (u32)record[j].first);
    PREFETCH(&best[a[j]]);
    PREFETCH(&best[b[j]]);
    if (a[j] != b[j]) kept |= 1u << j;
  }
  u64 at = reserve(next_length, count_ones(kept));
  UNROLL for (u32 j = 0; j < 4; ++j) {
    if (!(kept >> j & 1)) continue;
    ((Pair*)next)[at++] = {(u64)a[j] << 32 | b[j], record[j].second};
    NAME(offer_record)(&best[a[j]], record[j].second, weight, flip, shift);
    NAME(offer_record)(&best[b[j]], record[j].second, weight, flip, shift);
  }
} END

#undef K
