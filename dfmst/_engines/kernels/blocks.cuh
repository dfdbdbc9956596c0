// Kruskal's scan by many threads: edges in ascending order, a block at a time, by deterministic reservations (Blelloch,
// Fineman, Gibbons, Shun: Internally deterministic parallel algorithms can be fast, PPoPP 2012).
//
// Every edge of a block between two components reserves both, and the lightest one gets a component. An edge that got
// one of its two is the lightest edge out of that component, as all edges before the block are settled: it joins. The
// others look up their components again and reserve anew, until none is left.

// Where a block's pending edges lie: 512 edges a chunk, whose list is filled from its beginning.
struct Pending {
  u64* ends;
  u32* edge;
  u32* counts;
};

// A reservation is a round, later rounds below earlier ones, and an edge of the block.
DEVICE void reserve_both(u32* reserved, u32 a, u32 b, u32 mine) {
  if (mine < load(&reserved[a])) atomic_min(&reserved[a], mine);
  if (mine < load(&reserved[b])) atomic_min(&reserved[b], mine);
}

// A chunk's edges between two components, at most 512 of them.
DEVICE void find_pending(const u64* ends, u64 begin, u64 end, u64 chunk, u32 round, u32* parent, u32* reserved,
                         const Pending& pending) {
  u32 count = 0;
  for (u64 base = begin; base < end; base += 32) {
    u32 first[32], second[32], place[32];
    for (u64 j = base + 64; j < base + 96 && j < end; ++j) {
      PREFETCH(&parent[(u32)(ends[j] >> 32)]);
      PREFETCH(&parent[(u32)ends[j]]);
    }
    const u32 here = (u32)(end - base < 32 ? end - base : 32);
    const u32 apart = find_apart(ends + base, [](u32 k) { return k; }, here, parent, first, second, place);
    for (u32 k = 0; k < apart; ++k) {
      PREFETCH_WRITE(&reserved[first[k]]);
      PREFETCH_WRITE(&reserved[second[k]]);
    }
    for (u32 k = 0; k < apart; ++k) {
      const u32 a = root(parent, first[k]), b = root(parent, second[k]), edge = (u32)(base - begin) + place[k];
      if (a == b) continue;
      reserve_both(reserved, a, b, round << 16 | (u32)(chunk * 512 + edge));
      pending.ends[chunk * 512 + count] = (u64)a << 32 | b;
      pending.edge[chunk * 512 + count++] = edge;
    }
  }
  pending.counts[chunk] = count;
}

// The chunk's edges that got a component join; the others stay pending. Only its holder moves a root.
DEVICE u32 join_pending(u64 chunk, u32 round, u32* parent, const u32* reserved, const Pending& pending, u64* picked) {
  const u64 from = chunk * 512;
  u32 left = 0, joined = 0;
  for (u32 k = 0; k < pending.counts[chunk]; ++k) {
    const u64 both = pending.ends[from + k];
    const u32 edge = pending.edge[from + k], mine = round << 16 | (u32)(from + edge);
    const u32 a = (u32)(both >> 32), b = (u32)both;
    const bool first = load(&reserved[a]) == mine, second = load(&reserved[b]) == mine;
    if (first || second) {
      store(&parent[first ? a : b], first ? b : a);
      picked[edge / 64] |= 1ull << (edge % 64);
      ++joined;
    } else {
      pending.ends[from + left] = both;
      pending.edge[from + left++] = edge;
    }
  }
  pending.counts[chunk] = left;
  return joined;
}

DEVICE void reserve_again(u64 chunk, u32 round, u32* parent, u32* reserved, const Pending& pending) {
  const u64 from = chunk * 512;
  u32 left = 0;
  for (u32 k = 0; k < pending.counts[chunk]; ++k) {
    const u64 both = pending.ends[from + k];
    const u32 edge = pending.edge[from + k];
    const u32 a = root(parent, (u32)(both >> 32)), b = root(parent, (u32)both);
    if (a == b) continue;
    reserve_both(reserved, a, b, round << 16 | (u32)(from + edge));
    pending.ends[from + left] = (u64)a << 32 | b;
    pending.edge[from + left++] = edge;
  }
  pending.counts[chunk] = left;
}

// Scans [0, length) until `most` edges have joined. `picked` flags the edges that did; `reserved` holds ones. A block
// takes room for 2^16 pending edges, their ends and places, and for 128 counts of edges and of joins. `totals`: joins,
// and rounds. The first round is `first_round`, the next ones are below it.
HOST_KERNEL(scan_blocks, (const u64* ends, u64 length, u64 vertices, u64 most, u32 first_round, u32* parent,
                          u32* reserved, u64* pending_ends, u32* pending_edge, u32* pending_counts, u32* joins,
                          u64* picked, u64* totals)) {
  if (i) return;
  u32 round = first_round;
  const Pending pending = {pending_ends, pending_edge, pending_counts};
  for (u64 base = 0; base < length && totals[0] < most; base += 1u << 16) {
    const u64 end = base + (1u << 16) < length ? base + (1u << 16) : length, chunks = (end - base + 511) / 512;
    if (round < 32) {  // more rounds than a block takes: in each, at least every second component joins another
      FORK(vertices, 1 << 16, [=](u64 v) { reserved[v] = ~0u; });
      round = 0xFFFF;
    }
    FORK(chunks, 1, [=](u64 chunk) {
      const u64 begin = base + chunk * 512;
      joins[chunk] = 0;
      find_pending(ends, begin, begin + 512 < end ? begin + 512 : end, chunk, round, parent, reserved, pending);
    });
    for (u64 waiting = 1; waiting; ++totals[1]) {
      if (STOPPED_AT(0)) return;
      FORK(chunks, 1, [=](u64 chunk) {
        joins[chunk] += join_pending(chunk, round, parent, reserved, pending, picked + base / 64 + chunk * 8);
      });
      waiting = 0;
      for (u64 chunk = 0; chunk < chunks; ++chunk) waiting += pending_counts[chunk];
      --round;
      if (waiting) FORK(chunks, 1, [=](u64 chunk) { reserve_again(chunk, round, parent, reserved, pending); });
    }
    for (u64 chunk = 0; chunk < chunks; ++chunk) totals[0] += joins[chunk];
  }
} END

// Flags the rows of the picked edges of a word.
KERNEL(flag_picked, (const u64* picked, const u64* records, const u32* row, u64* flags)) {
  for (u64 rest = picked[i]; rest; rest &= rest - 1) {
    const u32 at = (u32)records[i * 64 + lowest_bit(rest)];
    set_flag(flags, row ? row[at] : at);
  }
} END
