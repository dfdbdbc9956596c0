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
