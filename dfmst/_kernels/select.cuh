// Stable compaction over words of 64 flags, the steps of a radix sort, and other kernels without a type parameter.

// Flags a block of words holds: the counts whose prefix sum places each block's positions.
KERNEL(count_flags, (const u64* flags, u64 words, u64 block, u64* counts)) {
  const u64 end = (i + 1) * block < words ? (i + 1) * block : words;
  u64 total = 0;
  for (u64 word = i * block; word < end; ++word) total += count_ones(flags[word]);
  counts[i] = total;
} END

KERNEL(set_flags, (const u32* positions, u64* flags)) { set_flag(flags, positions[i]); } END

KERNEL(flag_marked, (const u8* marked, u64 length, u64* flags)) {
  u64 word = 0;
  for (u64 j = 0; j < word_length(i, length); ++j) word |= (u64)marked[i * 64 + j] << j;
  flags[i] = word;
} END

KERNEL(flag_equal, (const u32* column, u64 length, u32 value, u64* flags)) {
  u64 word = 0;
  for (u64 j = 0; j < word_length(i, length); ++j) word |= (u64)(column[i * 64 + j] == value) << j;
  flags[i] = word;
} END

// Edges that are the best of anything; an edge's position is the low half of `best` for either key width.
KERNEL(flag_best, (const u64* best, u64* flags)) {
  if (best[i] != ~0ull) set_flag(flags, (u32)best[i]);
} END

// ---- radix sort of records: the digit to sort by lies in bits [shift, shift + digit_bits), payload below ----------

template <typename T> DEVICE void count_block(const T* records, u64 length, u64 block, u64 i, u32 shift, u32 digit_bits,
                                              u64* counts, u64 blocks) {
  u32 local[1024];
  const u32 digits = 1u << digit_bits;
  for (u32 digit = 0; digit < digits; ++digit) local[digit] = 0;
  const u64 end = (i + 1) * block < length ? (i + 1) * block : length;
  for (u64 j = i * block; j < end; ++j) ++local[(u32)(records[j] >> shift) & (digits - 1)];
  for (u32 digit = 0; digit < digits; ++digit) counts[digit * blocks + i] = local[digit];
}

KERNEL(count_digits, (const u64* records, u64 length, u64 block, u32 shift, u32 digit_bits, u64* counts, u64 blocks)) {
  count_block(records, length, block, i, shift, digit_bits, counts, blocks);
} END
KERNEL(count_leading, (const u32* leading, u64 length, u64 block, u32 shift, u32 digit_bits, u64* counts, u64 blocks)) {
  count_block(leading, length, block, i, shift, digit_bits, counts, blocks);
} END

KERNEL(scatter_digits, (const u64* records, u64 length, u64 block, u32 shift, u32 digit_bits, const u64* places,
                        u64 blocks, u64* sorted)) {
  u32 local[1024];
  const u32 digits = 1u << digit_bits;
  for (u32 digit = 0; digit < digits; ++digit) local[digit] = (u32)places[digit * blocks + i];
  const u64 end = (i + 1) * block < length ? (i + 1) * block : length;
  for (u64 j = i * block; j < end; ++j) sorted[local[(records[j] >> shift) & (digits - 1)]++] = records[j];
} END

// Entries brought into an order. Packed first, they come from a compact column that caches hold, not from the table.
KERNEL(gather_packed, (const u64* packed, const u32* order, u64* gathered)) { gathered[i] = packed[order[i]]; } END

// The payload of a sorted record is the place its key came from.
KERNEL(unpack_records, (const u64* records, u32* order)) { order[i] = (u32)records[i]; } END

// ---- disjoint sets ------------------------------------------------------------------------------------------------

// Pointer jumping in two launches. The first shortens every path; where two walks meet, a late store may leave a
// vertex below its root. The second writes only its own vertex and walks the short rest, so that it is exact.
KERNEL(halve_paths, (u32* parent)) {
  if (i + 16 < count) PREFETCH(&parent[load(&parent[i + 16])]);
  root(parent, (u32)i);
} END

KERNEL(flatten, (u32* parent)) {
  u32 top = load(&parent[i]);
  for (u32 above = load(&parent[top]); above != top; above = load(&parent[top])) top = above;
  store(&parent[i], top);
} END

KERNEL(flag_roots, (const u32* parent, u64 vertices, u64* flags)) {
  const u64 length = word_length(i, vertices);
  u64 word = 0;
  for (u64 j = 0; j < length; ++j) word |= (u64)(parent[i * 64 + j] == i * 64 + j) << j;
  flags[i] = word;
} END

// new_label[old root] is its rank among the roots; every vertex takes its root's.
KERNEL(rank_roots, (const u32* roots, u32* rank)) { rank[roots[i]] = (u32)i; } END
KERNEL(gather_ranks, (const u32* parent, const u32* rank, u32* label)) { label[i] = rank[parent[i]]; } END

// Every root hooks onto the other end of its lightest edge.
KERNEL(hook, (const u32* source, const u32* target, const u64* best, const u32* row, u32* parent, u64* flags)) {
  hook_root((u32)i, source, target, best, row, parent, flags);
} END

// Of two vertices that point at each other, the smaller becomes a root. Only the smaller one ever stores.
KERNEL(break_cycles, (u32* parent)) {
  const u32 up = load(&parent[i]);
  if ((u32)i < up && load(&parent[up]) == (u32)i) store(&parent[i], (u32)i);
} END

// Every vertex that no subtree holds hooks onto the other end of its lightest edge; its list is sorted by weight.
KERNEL(hook_unvisited, (const u64* offset, const u32* edge, const u32* other, const u32* row, const u32* tree,
                        u32* parent, u64* flags)) {
  if (tree[i] != ~0u || offset[i] == offset[i + 1]) return;
  const u64 first = offset[i];
  parent[i] = other[first];
  set_flag(flags, row ? row[edge[first]] : edge[first]);
} END

// Entries of one byte at ascending rows.
KERNEL(gather_bytes, (const u8* column, const u64* row, u8* gathered)) {
  if (i + 32 < count) PREFETCH(&column[row[i + 32]]);
  gathered[i] = column[row[i]];
} END

KERNEL(gather_rows, (const u32* position, const u32* row, u32* gathered)) {
  gathered[i] = row ? row[position[i]] : position[i];
} END
// One code for both directions of an edge, dense in [0, vertices * vertices).
KERNEL(pair_codes, (const u32* source, const u32* target, u64 vertices, u64* code)) {
  const u32 a = source[i], b = target[i];
  code[i] = (u64)(a < b ? a : b) * vertices + (a < b ? b : a);
} END
