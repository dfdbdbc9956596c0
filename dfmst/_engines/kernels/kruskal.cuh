// Kruskal's scan over edges in ascending order (`ends` = source << 32 | target), and what other threads do meanwhile.

// Lists which of a word's `length` edges no helper has excluded; returns how many there are.
DEVICE u32 list_kept(u64 excluded, u32 length, u8* kept) {
  if (excluded == 0) {
    for (u32 j = 0; j < length; ++j) kept[j] = (u8)j;
    return length;
  }
  u32 count = 0;
  for (u64 rest = ~excluded; rest; rest &= rest - 1) kept[count++] = (u8)lowest_bit(rest);
  while (count && kept[count - 1] >= length) --count;
  return count;
}

// Joins the components of up to 32 edges: only those whose ends may differ take the find with branches.
DEVICE u64 scan_batch(const u64* ends, const u8* kept, u32 length, u64 base, u64 found, u64 most, u32* parent,
                      u32* chosen) {
  u32 first[32], second[32], place[32];
  const u32 apart = find_apart(ends, [=](u32 k) { return kept[k]; }, length, parent, first, second, place);
  for (u32 k = 0; k < apart && found < most; ++k) {
    const u32 a = root(parent, first[k]), b = root(parent, second[k]);
    if (a == b) continue;
    store(&parent[a < b ? b : a], a < b ? a : b);
    chosen[found++] = (u32)base + place[k];
  }
  return found;
}

// The scan itself over [begin, end).
DEVICE void scan_range(const u64* ends, u64 begin, u64 end, u64 most, const u64* excluded, u32* parent, u32* chosen,
                       u64* chosen_count) {
  u8 kept[64];
  u64 found = *chosen_count;
  for (u64 base = begin; base < end && found < most && !STOPPED_AT(base / 64 + 1); base += 64) {
    for (u64 j = base + 64; j < base + 128 && j < end; ++j) {
      PREFETCH(&parent[(u32)(ends[j] >> 32)]);
      PREFETCH(&parent[(u32)ends[j]]);
    }
    const u32 length = list_kept(excluded ? excluded[base / 64] : 0, (u32)(end - base < 64 ? end - base : 64), kept);
    for (u32 k = 0; k < length; k += 32)
      found = scan_batch(ends + base, kept + k, length - k < 32 ? length - k : 32, base, found, most, parent, chosen);
  }
  *chosen_count = found;
}

// Index 0 scans [begin, end), the sequential part. Every other index is a helper that checks the 64 edges of one word
// of flags behind `end`: an edge whose ends had one label before the scan will never be chosen. `begin` and `end` are
// multiples of 64 (`end` may also be the last edge), so that no index reads what another writes.
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

// ---- edges that are sorted while others are scanned ----------------------------------------------------------------
// Buckets of edges follow each other in the order of their keys' leading digit. A record is the leading 32 bits of an
// edge's key and the edge's position in the columns; `ends` has the same order.

DEVICE void insert_sorted(u64* records, u64* ends, u64 length) {
  for (u64 j = 1; j < length; ++j) {
    const u64 record = records[j], both = ends[j];
    u64 at = j;
    for (; at && records[at - 1] > record; --at) {
      records[at] = records[at - 1];
      ends[at] = ends[at - 1];
    }
    records[at] = record;
    ends[at] = both;
  }
}

// Least-significant-digit radix sort by bits [32, 32 + bits), in the cache. `ends` moves along. The number of passes is
// even, so that all end where they began.
DEVICE void sort_digits(u64* records, u64* ends, u64 length, u32 bits, u64* spare, u64* other) {
  u32 at[2048];
  const u32 passes = bits <= 14 || (bits <= 22 && length >= 1024) ? 2 : 4;  // few edges do not pay for many counters
  for (u32 pass = 0; pass < passes; ++pass) {
    const u32 begin = bits * pass / passes, mask = (1u << (bits * (pass + 1) / passes - begin)) - 1;
    for (u32 digit = 0; digit <= mask; ++digit) at[digit] = 0;
    for (u64 j = 0; j < length; ++j) ++at[(u32)(records[j] >> (32 + begin)) & mask];
    u32 sum = 0;
    for (u32 digit = 0; digit <= mask; ++digit) {
      const u32 own = at[digit];
      at[digit] = sum;
      sum += own;
    }
    for (u64 j = 0; j < length; ++j) {
      const u32 to = at[(u32)(records[j] >> (32 + begin)) & mask]++;
      spare[to] = records[j];
      other[to] = ends[j];
    }
    u64* const moved[2] = {spare, other};
    spare = records;
    other = ends;
    records = moved[0];
    ends = moved[1];
  }
}

// Sorts a bucket. Its keys differ in the low `bits` of their leading 32 bits, and below these too if there are weights.
DEVICE void sort_bucket(u64* records, u64* ends, u64 length, u32 bits, const Weights& weights, u64* spare,
                        u64* other) {
  if (length <= 24)
    insert_sorted(records, ends, length);
  else
    sort_digits(records, ends, length, bits, spare, other);
  if (!weights.bits) return;
  sort_runs(records, ends, length, [=](u64 record) { return key_at(weights, (u32)record); });
}

// Flags of the vertices that lead to `root` in four steps.
HOST_KERNEL(flag_below, (const u32* parent, u64 vertices, u32 root, u64* flags)) {
  const u32* mine = parent + i * 64;
  flags[i] = flags_of(word_length(i, vertices), [=](u64 j) { return parent[parent[parent[mine[j]]]] == root; });
} END

// Drops the edges with both ends in `giant`, the flags of a component's vertices, and returns how many others there are.
DEVICE u64 drop_inside(u64* records, u64* ends, u64 length, const u64* giant) {
  u64 kept = 0;
  for (u64 base = 0; base < length; base += 64) {
    const u64 here = word_length(0, length - base);
    u64 outside = last_flags(here) & ~flags_of(here, [=](u64 j) {
      return flag_at(giant, ends[base + j] >> 32) & flag_at(giant, (u32)ends[base + j]);
    });
    for (; outside; outside &= outside - 1, ++kept) {
      const u64 from = base + lowest_bit(outside);
      records[kept] = records[from];
      ends[kept] = ends[from];
    }
  }
  return kept;
}

// Index 0 scans the sorted buckets [scanned, until). Index 1 flags the rows of the edges chosen[first, last) of earlier
// scans. Every other index sorts one of the buckets from `bucket` on, without edges inside `giant` (or null). Buckets
// begin at `starts`, and their sorted edges end at `stops`. (Replacing their ends by the representatives of the
// moment as well was tried: it takes a third off a scan that runs alone, and costs more than that in cache lines for
// which two cores then compete.)
HOST_KERNEL(scan_portion, (u64* ends, const u64* starts, u64* stops, u64 scanned, u64 until, u64 most, u32* parent,
                           u32* chosen, u64* chosen_count, u64 first, u64 last, const u32* row, u64* flags, u64 bucket,
                           const u64* giant, u32 bits, const u64* weight, u64 flip, u32 type, u64* records, u64* spare,
                           u64* other)) {
  if (i == 0) {
    for (u64 from = scanned, to = scanned; from < until; from = to) {
      for (++to; to < until && stops[to - 1] == starts[to];) ++to;  // buckets without a gap between them
      scan_range(ends, starts[from], stops[to - 1], most, 0, parent, chosen, chosen_count);
    }
    return;
  }
  if (i == 1) {
    for (u64 j = first; j < last; ++j) {
      const u32 at = (u32)records[chosen[j]], mine = row ? row[at] : at;
      flags[mine >> 6] |= 1ull << (mine & 63);  // no other index writes flags
    }
    return;
  }
  const u64 mine = bucket + i - 2, from = starts[mine], at = from - starts[bucket];
  u64 length = starts[mine + 1] - from;
  if (giant) length = drop_inside(records + from, ends + from, length, giant);
  if (bits || weight)
    sort_bucket(records + from, ends + from, length, bits, Weights{weight, flip, type}, spare + at, other + at);
  stops[mine] = from + length;
} END

// All of Kruskal between few components, by one thread: `best` holds the lightest edge of each pair of labels, or ~0, and
// is then used for sorting. `parent` has room for the labels. `found`: how many pairs have an edge, and how many joined.
HOST_KERNEL_OF(W, scan_pairs, (const W* weight, u64 flip, const u32* row, u64 labels, u64* best, u32* parent, u64* flags,
                               u64* found)) {
  if (i) return;
  u64 pairs = 0, joined = 0;
  for (u64 at = 0; at < labels * labels; ++at)
    if (best[at] != ~0ull) best[pairs++] = best[at] << 32 | at;  // the low half is the edge
  sort_heap(best, (u64*)0, pairs, [=](u64 record) { return key_of(weight[record >> 32], flip); });
  for (u64 label = 0; label < labels; ++label) parent[label] = (u32)label;
  for (u64 j = 0; j < pairs && joined + 1 < labels; ++j) {
    const u32 at = (u32)best[j], edge = (u32)(best[j] >> 32);
    const u32 a = root(parent, at / (u32)labels), b = root(parent, at % (u32)labels);
    if (a == b) continue;
    parent[b] = a;
    ++joined;
    const u32 mine = row ? row[edge] : edge;
    flags[mine >> 6] |= 1ull << (mine & 63);
  }
  found[0] = pairs;
  found[1] = joined;
} END
