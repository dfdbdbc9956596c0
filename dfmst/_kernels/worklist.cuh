// The joins of a round of Filter-Boruvka; its worklists are told of in filter_boruvka.cuh.

// An edge that is the lightest of either end joins the two, and its row is flagged. The ends were roots as the edge was
// offered. `other` (it may be null) is the array of minima of the next round: the roots of that round are ends of this
// one's edges, so that clearing it here replaces a pass over the vertices. `next_length` is cleared for the list of the
// next round as well, and `joined` counts on.
KERNEL(join_records, (const u64* records, const u32* length, const u64* best, u64* other, u32* parent, u64* flags,
                      u32* joined, u32* next_length)) {
  if (i == 0) *next_length = 0;
  if (i >= *length) return;
  const Pair* record = (const Pair*)records + i;
  if (i + 16 < *length) {  // some way ahead, so that misses overlap
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
  reserve(joined, 1);
} END
