// A forest's edges matched to the rows of a table.

// ---- a Bloom filter of pairs of vertices, one bit a pair; `shift` keeps as many leading bits of a hash as it needs -

template <typename V> DEVICE u64 pair_bit(V u, V v, u32 shift) {
  const u64 low = u < v ? u : v, high = u < v ? v : u;
  return ((low * 0x9e3779b97f4a7c15ull + high) * 0xc2b2ae3d27d4eb4full) >> shift;
}

KERNEL_OF(V, mark_pairs, (const V* source, const V* target, u32 shift, u64* bits)) {
  const u64 bit = pair_bit(source[i], target[i], shift);
  atomic_or(&bits[bit >> 6], 1ull << (bit & 63));
} END

KERNEL_OF(V, flag_marked_pairs, (const V* source, const V* target, u64 edges, u32 shift, const u64* bits, u64* flags)) {
  const u64 length = word_length(i, edges);
  u64 word = 0;
  for (u64 j = 0; j < length; ++j) {
    const u64 bit = pair_bit(source[i * 64 + j], target[i * 64 + j], shift);
    word |= (bits[bit >> 6] >> (bit & 63) & 1) << j;
  }
  flags[i] = word;
} END

// ---- rows with the ends and the key of an edge ---------------------------------------------------------------------

// The first row that each edge of a forest may stand for: same ends, same key. `order` lists edges by the code of their
// ends, those of the forest (positions below `forest`) before the rows. A forest has one edge for a pair of ends; a
// second one is marked with ~1. `matched` stays at its default (~0) if there is no such row.
KERNEL_OF(K, match_edges, (const u64* code, const u32* order, u64 length, u64 forest, const K* key, u32* matched)) {
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

// The rows that the edges of a forest stand for if they have the order of the table: for each edge the next row with its
// ends, in this direction, and the bits of its weight. An id is `stride` words, the lowest first, a weight `words`.
HOST_KERNEL(match_in_order, (const u32* source, const u32* target, u32 stride, const u32* weight, u32 words, u64 edges,
                             const u32* first, const u32* second, const u32* key, u64 length, i64* row, u64* matched)) {
  if (i) return;
  u64 found = 0;
  for (u64 j = 0; j < edges && found < length; ++j) {
    if (STOPPED_AT(j)) return;
    if (source[j * stride] != first[found] || target[j * stride] != second[found]) continue;
    u32 equal = 0;
    while (equal < words && weight[j * words + equal] == key[found * words + equal]) ++equal;
    if (equal == words) row[found++] = (i64)j;
  }
  *matched = found;
} END
