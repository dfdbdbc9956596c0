// Kruskal's scan over edges in ascending order, `ends` = source << 32 | target, and its helpers.

// Lists the edges of a word of flags, below `end`, that no helper has excluded; how many.
DEVICE u32 list_kept(const u64* excluded, u64 word, u64 end, u8* kept) {
  const u32 length = (u32)word_length(word, end);
  const u64 without = excluded ? excluded[word] : 0;
  if (without == 0) {
    for (u32 j = 0; j < length; ++j) kept[j] = (u8)j;
    return length;
  }
  u32 count = 0;
  for (u64 rest = ~without; rest; rest &= rest - 1) kept[count++] = (u8)lowest_bit(rest);
  while (count && kept[count - 1] >= length) --count;
  return count;
}

// The scan itself over [begin, end). The edges of a word are looked up level by level, so that cache misses overlap and
// no branch waits for one; only the edges whose ends then differ take the branchy find and join.
DEVICE void scan_range(const u64* ends, u64 begin, u64 end, u64 most, const u64* excluded, u32* parent, u32* chosen,
                       u64* chosen_count) {
  u8 kept[64];
  u32 first[64], second[64];
  u64 found = *chosen_count;
  for (u64 base = begin; base < end && found < most; base += 64) {
    const u64* now = ends + base;
    for (u64 j = base + 64; j < base + 128 && j < end; ++j) {
      PREFETCH(&parent[(u32)(ends[j] >> 32)]);
      PREFETCH(&parent[(u32)ends[j]]);
    }
    const u32 length = list_kept(excluded, base / 64, end, kept);
    for (u32 k = 0; k < length; ++k) {
      first[k] = load(&parent[(u32)(now[kept[k]] >> 32)]);
      second[k] = load(&parent[(u32)now[kept[k]]]);
    }
    u32 apart = 0;
    for (u32 k = 0; k < length; ++k) {
      const u64 both = now[kept[k]];
      const u32 a = load(&parent[first[k]]), b = load(&parent[second[k]]);
      store(&parent[(u32)(both >> 32)], a);
      store(&parent[(u32)both], b);
      first[apart] = a;
      second[apart] = b;
      kept[apart] = kept[k];
      apart += a != b;
    }
    for (u32 k = 0; k < apart && found < most; ++k) {
      const u32 a = root(parent, first[k]), b = root(parent, second[k]);
      if (a == b) continue;
      store(&parent[a < b ? b : a], a < b ? a : b);
      chosen[found++] = (u32)(base + kept[k]);
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
  set_flag(flags, row ? row[at] : at);
} END
