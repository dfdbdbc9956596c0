// Kernels that check a forest against its edges, with keys of type K (u32 or u64).

// The forest's edges in ascending order. `order` is not trusted: `wrong` tells of an entry out of range or of two
// neighbours that do not ascend strictly. Where there is none, the order is a permutation.
KERNEL(rank_edges, (const u32* order, u64 length, const K* key, const u32* row, K* ranked_key, u32* ranked_row,
                    u32* wrong)) {
  const u32 at = order[i], before = order[i ? i - 1 : 0];
  if (at >= length || before >= length) {
    store(wrong, 1u);
    return;
  }
  ranked_key[i] = key[at];
  ranked_row[i] = row[at];
  if (i && !(key[before] < key[at] || (key[before] == key[at] && row[before] < row[at]))) store(wrong, 1u);
} END

// First row that a minimum spanning forest cannot leave out: its ends lie in different trees, or it comes before the
// heaviest edge of the forest's path between them. The two last links bound that edge from above, which settles most.
KERNEL(find_lighter, (const u32* source, const u32* target, const K* key, const u32* row, const u64* top,
                      const u64* link, const K* ranked_key, const u32* ranked_row, u32* first)) {
  const u32 u = source[i], v = target[i];
  if (u == v) return;
  const u64 a = top[u], b = top[v];
  if (a >> 32 == b >> 32) {
    const u32 bound = (u32)a < (u32)b ? (u32)b : (u32)a;
    if (key[i] > ranked_key[bound]) return;
    const u32 rank = heaviest_link(link, u, v);
    if (key[i] > ranked_key[rank] || (key[i] == ranked_key[rank] && row[i] > ranked_row[rank])) return;
  }
  atomic_min(first, row[i]);
} END

// The first row that each edge of a forest may stand for: same ends, same key. The sorted order lists edges by the code
// of their ends, those of the forest (below `forest`) before the rows. A pair has one edge in a forest, so that a
// second one is only marked (~1); the default of `matched` (~0) means that there is no such row.
KERNEL(match_edges, (const u64* code, const u32* order, u64 length, u64 forest, const K* key, u32* matched)) {
  const u32 edge = order[i];
  if (edge >= forest) return;
  if (i && code[order[i - 1]] == code[edge]) {
    matched[edge] = ~1u;
    return;
  }
  for (u64 j = i + 1; j < length && code[order[j]] == code[edge]; ++j)
    if (order[j] >= forest && key[order[j]] == key[edge]) {
      matched[edge] = (u32)(order[j] - forest);
      return;
    }
} END
