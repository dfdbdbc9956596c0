// Worklists of Filter-Boruvka.
//
// A record of a worklist is two words: first << 32 | second, the representatives of an edge's ends, and
// leading << 32 | row. `leading` is the whole key where W has 32 bits, so that the second word is the total order. Of a
// 64-bit key it is 32 bits: where those of two records are equal, the keys are looked up by row.

// The words of `counters`; the host reads their names from this text.
enum WorklistCounter : u64 {
  FIRST,    // edges in the first list
  CHOSEN,   // chosen edges
  ROUNDS,   // rounds that had any edge
  TAKEN,    // edges of the first round
  OFFERED,  // edges of all rounds
  SECOND,   // edges in the second list
  MET,      // threads of the team that have come to the end of a step
  COUNTERS = 8
};

enum : u64 {
  WARP = 32,         // threads are launched by multiples of it
  TAKEN_EACH = 8,    // edges of a table that a thread takes
  OFFERED_EACH = 4,  // records of a long list that a thread takes
  SUMS = 8192,       // threads that count the flags of the chosen edges
  SUM_BITS = 20,     // of the flags that one of them counts
  CLEAR_SHARE = 8    // with fewer edges than vertices / 8, minima are cleared at their ends
};

// The number of the step of 2^shift keys, counted from `low` on, that holds the key; 0 below `low`, all ones beyond the
// last step.
template <typename K> DEVICE u32 leading_bits(K key, u64 low, u32 shift) {
  if constexpr (sizeof(K) == 4) {
    return key;
  } else {
    if (key < low) return 0;
    const u64 step = (key - low) >> shift;
    return step < 0xfffffffeull ? (u32)step + 1 : ~0u;
  }
}

template <typename W> DEVICE bool precedes(u64 a, u64 b, const W* weight, u64 flip, u32 shift) {
  const u32 leading = (u32)(a >> 32);
  if (leading != (u32)(b >> 32) || b == ~0ull) return a < b;
  if (shift == 0 && leading != 0 && leading != ~0u) return a < b;  // a step is one key: both are equal
  const Key<W> mine = key_of(weight[(u32)a], flip), theirs = key_of(weight[(u32)b], flip);
  return mine < theirs || (mine == theirs && a < b);
}

// Offers an edge to the component at one of its ends. Leading bits of a 64-bit key decide by one minimum, as whole keys
// of 32 bits do. If those of two records are equal, the minimum may have kept the wrong one: the other one is offered
// again by its whole key. So a thread that displaces the lightest record brings it back.
template <typename W> FETCHER void offer_record(u64* best, u64 word, const W* weight, u64 flip, u32 shift) {
  u64 seen = load(best);
  if constexpr (sizeof(W) == 4) {
    if (word < seen) atomic_min(best, word);
  } else {
    const u32 leading = (u32)(word >> 32);
    if (ONE_STEP_MINIMUM && (seen == ~0ull || leading < (u32)(seen >> 32))) {
      seen = fetch_min(best, word);
      if (seen == ~0ull || leading != (u32)(seen >> 32)) return;
      if (word < seen) word = seen;
    }
    if (ONE_STEP_MINIMUM) {
      if (leading != (u32)(seen >> 32)) return;
      seen = load(best);
    }
    while (precedes(word, seen, weight, flip, shift)) {
      const u64 found = compare_swap(best, seen, word);
      if (found == seen) return;
      seen = found;
    }
  }
}

// The first of a thread's places, which are TILE apart. Those of a warp are all places of `each` tiles, so that loads
// coalesce, and neighbors in the table stay neighbors in the lists, whose ends share sectors.
DEVICE u64 first_of_tile(u64 i, u32 each) { return i / TILE * TILE * each + i % TILE; }

// Lists the edges on one side of a threshold in the total order (key, row) whose ends have different parents, and
// offers them. `parent` is flat (null: every vertex is its own). `giant` (or null) flags the vertices of one component:
// it decides most edges without leaving the cache. An id is `stride` words of 32 bits. A full list takes no more
// records, but `length` goes on counting. `count` is a multiple of WARP: a warp takes TAKEN_EACH tiles with one atomic.
KERNEL_OF(W, take_edges, (const u32* source, const u32* target, u32 stride, const W* weight, u64 flip, u64 edges,
                          u64 threshold_key, u64 threshold_row, u32 above, u64 low, u32 shift, const u32* parent,
                          const u64* giant, u64* best, u64* records, u64 capacity, u32* length)) {
  const u64 first = first_of_tile(i, TAKEN_EACH);
  u32 a[TAKEN_EACH], b[TAKEN_EACH], leading[TAKEN_EACH], kept = 0;
  UNROLL for (u32 j = 0; j < TAKEN_EACH; ++j) {
    const u64 row = first + j * TILE;
    if (row >= edges) continue;
    const Key<W> key = key_of(weight[row], flip);
    const bool heavy = key > threshold_key || (key == threshold_key && row > threshold_row);
    leading[j] = leading_bits(key, low, shift);
    if (heavy == (above != 0)) kept |= 1u << j;
  }
  UNROLL for (u32 j = 0; j < TAKEN_EACH; ++j) {
    if (!(kept >> j & 1)) continue;
    const u64 at = (first + j * TILE) * stride;
    a[j] = source[at];
    b[j] = target[at];
    if (parent) continue;
    PREFETCH(&best[a[j]]);
    PREFETCH(&best[b[j]]);
  }
  if (giant) {
    UNROLL for (u32 j = 0; j < TAKEN_EACH; ++j)
      if ((kept >> j & 1) && (flag_at(giant, a[j]) & flag_at(giant, b[j]))) kept ^= 1u << j;
  }
  if (parent) {
    UNROLL for (u32 j = 0; j < TAKEN_EACH; ++j) {
      if (!(kept >> j & 1)) continue;
      a[j] = parent[a[j]];
      b[j] = parent[b[j]];
    }
  }
  UNROLL for (u32 j = 0; j < TAKEN_EACH; ++j)
    if ((kept >> j & 1) && a[j] == b[j]) kept ^= 1u << j;
  Places places = reserve(length, count_ones(kept));
  if (places.end > capacity) return;
  UNROLL for (u32 j = 0; j < TAKEN_EACH; ++j) {
    const u32 at = places.next(kept >> j & 1);
    if (!(kept >> j & 1)) continue;
    ((Pair*)records)[at] = {(u64)a[j] << 32 | b[j], (u64)leading[j] << 32 | (u32)(first + j * TILE)};
  }
  UNROLL for (u32 j = 0; j < TAKEN_EACH; ++j) {
    if (!(kept >> j & 1)) continue;
    const u64 word = (u64)leading[j] << 32 | (u32)(first + j * TILE);
    offer_record(&best[a[j]], word, weight, flip, shift);
    offer_record(&best[b[j]], word, weight, flip, shift);
  }
} END

// Counts the edges above a threshold whose ends have different parents, among one of every `apart` rows.
KERNEL_OF(W, count_survivors, (const u32* source, const u32* target, u32 stride, const W* weight, u64 flip, u64 edges,
                               u64 threshold_key, u64 threshold_row, const u32* parent, u64 apart, u32* counted)) {
  const u64 row = i * apart + (u32)i * 2654435769u % apart;  // no period of the rows' own
  if (row >= edges) return;
  const Key<W> key = key_of(weight[row], flip);
  if (key < threshold_key || (key == threshold_key && row <= threshold_row)) return;
  if (parent[source[row * stride]] != parent[target[row * stride]]) reserve(counted, 1);
} END

// Begins a worklist: the minima and the counters of its first round, and where they are given, parents and flags.
KERNEL(begin_worklist, (u64 vertices, u64 words, u32* parent, u64* best, u64* flags, u32* counters)) {
  if (i < vertices) {
    best[i] = ~0ull;
    if (parent) parent[i] = (u32)i;
  }
  if (i < words) flags[i] = 0;
  if (i < COUNTERS) counters[i] = 0;
} END

// `rounds` are the counters from ROUNDS on.
DEVICE void count_round(u32 edges, u32* rounds, u32* next_length) {
  *next_length = 0;
  if (edges && rounds[0]++ == 0) rounds[TAKEN - ROUNDS] = edges;
  rounds[OFFERED - ROUNDS] += edges;
}

// An edge that is the lightest of either end joins the two, and its row is flagged. The ends were roots when the edge
// was offered. `other` (or null) is the array of minima of the next round: the roots of that round are ends of this
// round's edges, so that clearing it here replaces a pass over the vertices.
DEVICE void join_record(u64 i, u32 edges, const u64* records, const u64* best, u64* other, u32* parent, u64* flags) {
  const Pair* record = (const Pair*)records + i;
  if (i + 16 < edges) {  // records ahead, so that misses overlap
    PREFETCH(&best[record[16].first >> 32]);
    PREFETCH(&best[(u32)record[16].first]);
  }
  const u64 ends = record->first, word = record->second;
  const u32 a = (u32)(ends >> 32), b = (u32)ends;
  if (other) {
    store(&other[a], ~0ull);
    store(&other[b], ~0ull);
  }
  if (best[a] != word && best[b] != word) return;
  join_sets(parent, a, b);
  set_flag(flags, (u32)word);
}

// The first `cleared` minima of `other` are cleared in sequence; where that is 0, those of the edges' ends.
KERNEL(join_records, (const u64* records, const u32* length, const u64* best, u64* other, u64 cleared, u32* parent,
                      u64* flags, u32* rounds, u32* next_length)) {
  const u32 edges = *length;
  if (i == 0) count_round(edges, rounds, next_length);
  if (i < cleared) other[i] = ~0ull;
  if (i < edges) join_record(i, edges, records, best, cleared ? nullptr : other, parent, flags);
} END

// Lists the edges whose ends still differ, with the representatives of the moment (implicit path compression), and
// offers each to both ends.
template <u32 EACH, typename W>
DEVICE void offer_some(u64 i, u32 edges, const u64* records, const W* weight, u64 flip, u32 shift, u32* parent,
                       u64* best, u64* next, u32* next_length) {
  const u64 first = first_of_tile(i, EACH);
  u32 a[EACH], b[EACH], kept = 0;
  Pair record[EACH];
  UNROLL for (u32 j = 0; j < EACH; ++j) {
    if (first + j * TILE >= edges) continue;
    record[j] = ((const Pair*)records)[first + j * TILE];
    PREFETCH(&parent[(u32)(record[j].first >> 32)]);
    PREFETCH(&parent[(u32)record[j].first]);
  }
  UNROLL for (u32 j = 0; j < EACH; ++j) {
    if (first + j * TILE >= edges) continue;
    a[j] = root<true>(parent, (u32)(record[j].first >> 32));
    b[j] = root<true>(parent, (u32)record[j].first);
    PREFETCH(&best[a[j]]);
    PREFETCH(&best[b[j]]);
    if (a[j] != b[j]) kept |= 1u << j;
  }
  Places places = reserve(next_length, count_ones(kept));
  UNROLL for (u32 j = 0; j < EACH; ++j) {
    const u32 at = places.next(kept >> j & 1);
    if (kept >> j & 1) ((Pair*)next)[at] = {(u64)a[j] << 32 | b[j], record[j].second};
  }
  UNROLL for (u32 j = 0; j < EACH; ++j) {
    if (!(kept >> j & 1)) continue;
    offer_record(&best[a[j]], record[j].second, weight, flip, shift);
    offer_record(&best[b[j]], record[j].second, weight, flip, shift);
  }
}

KERNEL_OF(W, offer_records, (const u64* records, const u32* length, const W* weight, u64 flip, u32 shift, u32* parent,
                             u64* best, u64* next, u32* next_length)) {
  offer_some<OFFERED_EACH>(i, *length, records, weight, flip, shift, parent, best, next, next_length);
} END

// All rounds that are left, in one launch, and the number of all chosen edges: a counter that each of them raises would
// take longer than a round. Where the first list is longer than its buffer nothing is done.
STEPS_OF(W, finish_records, (u32* met, u64* first, u64* second, u64 capacity, const W* weight, u64 flip, u32 shift,
                             u32* parent, u64* best, u64 vertices, u64* flags, u64 words, u32* counters)) {
  Team team = TEAM;
  if (counters[FIRST] > capacity) return;
  for (u32 now = 0;; now ^= 1) {
    const u32 edges = load(&counters[now ? SECOND : FIRST]);
    if (edges == 0 || STOPPED) break;
    u64 *const records = now ? second : first, *const next = now ? first : second;
    u64 *const mine = best + now * vertices, *const other = best + (now ^ 1) * vertices;
    u32* const next_length = &counters[now ? FIRST : SECOND];
    const u64 cleared = CLEAR_SHARE * edges < vertices ? 0 : vertices;
    team.each(edges > cleared ? edges : cleared, [=](u64 i) {
      if (i == 0) count_round(edges, counters + ROUNDS, next_length);
      if (i < cleared) other[i] = ~0ull;
      if (i < edges) join_record(i, edges, records, mine, cleared ? nullptr : other, parent, flags);
    });
    // Of a short list a thread takes one record: it waits for none of the others. In a longer one the first records of
    // each thread spare hubs most of the later ones' atomics.
    if (OFFERED_EACH * edges <= team.size())
      team.each(edges, [=](u64 i) {
        offer_some<1>(i, edges, records, weight, flip, shift, parent, other, next, next_length);
      });
    else
      team.each((edges + TILE * OFFERED_EACH - 1) / (TILE * OFFERED_EACH) * TILE, [=](u64 i) {
        offer_some<OFFERED_EACH>(i, edges, records, weight, flip, shift, parent, other, next, next_length);
      });
  }
  static_assert((1ull << 32) / SUMS < 1ull << SUM_BITS, "rows are below 2^32");
  const u64 sums = words < SUMS ? words : SUMS;
  team.each(sums, [=](u64 i) {
    u32 total = 0;
    for (u64 word = i; word < words; word += sums) total += count_ones(flags[word]);
    reserve<SUM_BITS>(counters + CHOSEN, total);
  });
}
