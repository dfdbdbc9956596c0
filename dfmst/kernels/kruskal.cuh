// Kruskal's scan over edges in ascending order, `ends` = source << 32 | target, and its helpers.

// The edges of a word of flags, below `end`, that no helper has excluded.
DEVICE u64 kept_edges(const u64* excluded, u64 word, u64 end) {
  const u64 length = word_length(word, end), all = length == 64 ? ~0ull : (1ull << length) - 1;
  return excluded ? all & ~excluded[word] : all;
}

// The scan itself over [begin, end). The edges of a word are looked up together, and their ends a word ahead, so that
// cache misses overlap.
DEVICE void scan_range(const u64* ends, u64 begin, u64 end, u64 most, const u64* excluded, u32* parent, u32* chosen,
                       u64* chosen_count) {
  u8 at[64];
  u64 found = *chosen_count;
  for (u64 base = begin; base < end && found < most; base += 64) {
    for (u64 j = base + 64; j < base + 128 && j < end; ++j) {
      PREFETCH(&parent[(u32)(ends[j] >> 32)]);
      PREFETCH(&parent[(u32)ends[j]]);
    }
    u32 length = 0;
    for (u64 rest = kept_edges(excluded, base / 64, end); rest; rest &= rest - 1) {
      const u32 j = lowest_bit(rest);
      const u32 a = load(&parent[(u32)(ends[base + j] >> 32)]), b = load(&parent[(u32)ends[base + j]]);
      if (a == b) continue;
      PREFETCH(&parent[a]);
      PREFETCH(&parent[b]);
      at[length++] = (u8)j;
    }
    for (u32 j = 0; j < length && found < most; ++j) {
      const u64 both = ends[base + at[j]];
      const u32 a = root(parent, (u32)(both >> 32)), b = root(parent, (u32)both);
      if (a == b) continue;
      store(&parent[a < b ? b : a], a < b ? a : b);
      chosen[found++] = (u32)(base + at[j]);
    }
  }
  *chosen_count = found;
}

// Index 0 is the scan over [begin, end), the sequential part. Every other index is a helper that checks the 64 edges
// of one word of flags behind `end`: an edge whose ends had one label before the scan began will never be chosen.
// `begin` and `end` are multiples of 64 (`end` may also be the last edge), so that nobody reads what another writes.
KERNEL(scan_edges, (const u64* ends, u64 begin, u64 end, u64 length, u64 most, const u32* label, u64* excluded,
                    u32* parent, u32* chosen, u64* chosen_count)) {
  if (i == 0) {
    scan_range(ends, begin, end, most, excluded, parent, chosen, chosen_count);
    return;
  }
  const u64 word = end / 64 + i - 1, checked = word_length(word, length);
  u64 inside = 0;
  for (u64 j = 0; j < checked; ++j) {
    const u64 both = ends[word * 64 + j];
    inside |= (u64)(label[(u32)(both >> 32)] == label[(u32)both]) << j;
  }
  excluded[word] = inside;
} END

// Edge `chosen[i]` of the sorted order is row `row[position[order[...]]]` of the table; any column may be absent.
KERNEL(flag_chosen, (const u32* chosen, const u32* order, const u32* position, const u32* row, u64* flags)) {
  u32 at = chosen[i];
  if (order) at = order[at];
  if (position) at = position[at];
  if (row) at = row[at];
  atomic_or(&flags[at >> 6], 1ull << (at & 63));
} END
