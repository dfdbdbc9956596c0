// Kernels over id columns of type V (u32 or u64; signed columns are read as unsigned, a negative id is then huge).

// Largest id of a block of rows.
KERNEL(largest_id, (const V* id, u64 length, u64 block, u64* largest)) {
  const u64 end = (i + 1) * block < length ? (i + 1) * block : length;
  V top = 0;
  for (u64 j = i * block; j < end; ++j) top = id[j] > top ? id[j] : top;
  largest[i] = top;
} END

KERNEL(list_flags, (const u64* flags, u64 words, u64 block, const u64* offsets, V* positions)) {
  const u64 end = (i + 1) * block < words ? (i + 1) * block : words;
  u64 at = offsets[i];
  for (u64 word = i * block; word < end; ++word)
    for (u64 rest = flags[word]; rest; rest &= rest - 1) positions[at++] = (V)(word * 64 + lowest_bit(rest));
} END

// Both ends of an edge, packed; `position` places an entry of the list in the columns.
KERNEL(pack_ends, (const V* source, const V* target, const u32* position, u64* ends)) {
  const u64 at = position ? position[i] : i;
  ends[i] = (u64)source[at] << 32 | (u64)(u32)target[at];
} END

// The first pass of a radix sort of edges, most significant digit first: each edge's leading bits and place go to its
// bucket, and both ends with them. `position` places an entry of the list in the columns.
KERNEL(scatter_edges, (const u32* leading, u64 length, u64 block, u32 shift, u32 digit_bits, const u64* places,
                       u64 blocks, const V* source, const V* target, const u32* position, u64* records, u64* ends)) {
  u32 local[1024];
  const u32 digits = 1u << digit_bits;
  for (u32 digit = 0; digit < digits; ++digit) local[digit] = (u32)places[digit * blocks + i];
  const u64 end = (i + 1) * block < length ? (i + 1) * block : length;
  for (u64 j = i * block; j < end; ++j) {
    if (position && j + 32 < end) {
      PREFETCH(&source[position[j + 32]]);
      PREFETCH(&target[position[j + 32]]);
    }
    const u64 from = position ? position[j] : j;
    const u32 at = local[(leading[j] >> shift) & (digits - 1)]++;
    records[at] = (u64)leading[j] << 32 | j;
    ends[at] = (u64)source[from] << 32 | (u64)(u32)target[from];
  }
} END

// Edges between different components, less those flagged in `excluded`.
KERNEL(flag_crossing, (const V* source, const V* target, u64 edges, const u32* label, const u64* excluded,
                       u64* flags)) {
  const u64 length = word_length(i, edges);
  u64 word = 0;
  for (u64 j = 0; j < length; ++j) word |= (u64)(label[source[i * 64 + j]] != label[target[i * 64 + j]]) << j;
  flags[i] = excluded ? word & ~excluded[i] : word;
} END

// Edges that do not have both ends in the giant component, less those flagged in `excluded`; `aside` are those of them
// with no end in it. No branch depends on an edge, so that the reads of many words overlap.
DEVICE void NAME(leaving_word)(const V* source, const V* target, u64 length, const u64* giant, u64 excluded,
                               u64* flags, u64* aside) {
  u64 both = 0, either = 0;
  for (u64 j = 0; j < length; ++j) {
    const u64 a = flag_at(giant, source[j]), b = flag_at(giant, target[j]);
    both |= (a & b) << j;
    either |= (a | b) << j;
  }
  *flags = ~both & ~excluded & last_flags(length);
  *aside = ~either & ~excluded & last_flags(length);
}

KERNEL(flag_leaving, (const V* source, const V* target, u64 edges, const u64* giant, const u64* excluded, u64* flags,
                      u64* aside)) {
  NAME(leaving_word)(source + i * 64, target + i * 64, word_length(i, edges), giant, excluded ? excluded[i] : 0,
                     &flags[i], &aside[i]);
} END

// Of the edges set `aside`, those inside one component lose their flags.
KERNEL(drop_joined, (const V* source, const V* target, const u32* label, const u64* aside, u64* flags)) {
  u64 joined = 0;
  for (u64 rest = aside[i]; rest; rest &= rest - 1) {
    const u64 j = i * 64 + lowest_bit(rest);
    joined |= (u64)(label[source[j]] == label[target[j]]) << (j & 63);
  }
  if (joined) flags[i] &= ~joined;
} END

// Whether an id of up to 64 edges is outside [0, vertices), of which there are at most half of what V holds: an id
// above makes the difference negative, and one beyond that half is negative itself.
DEVICE bool NAME(any_outside)(const V* source, const V* target, u64 length, u64 vertices) {
  const V last = (V)(vertices - 1);
  V signs = 0;
  for (u64 j = 0; j < length; ++j) signs |= source[j] | target[j] | (V)(last - source[j]) | (V)(last - target[j]);
  return signs >> (sizeof(V) * 8 - 1);
}

KERNEL(find_outside, (const V* source, const V* target, u64 edges, u64 vertices, u32* outside)) {
  if (NAME(any_outside)(source + i * 64, target + i * 64, word_length(i, edges), vertices)) store(outside, 1u);
} END

// As flag_leaving, of ids that nobody has looked at yet: `outside` is set where one is not in [0, vertices).
KERNEL(flag_leaving_checked, (const V* source, const V* target, u64 edges, const u64* giant, const u64* excluded,
                              u64* flags, u64* aside, u64 vertices, u32* outside)) {
  const u64 length = word_length(i, edges);
  if (NAME(any_outside)(source + i * 64, target + i * 64, length, vertices))
    store(outside, 1u);
  else
    NAME(leaving_word)(source + i * 64, target + i * 64, length, giant, excluded ? excluded[i] : 0, &flags[i],
                       &aside[i]);
} END

// Edges that are light or leave the giant component, less those flagged in `excluded`.
KERNEL(flag_doubtful, (const V* source, const V* target, u64 edges, const u64* giant, const u64* light,
                       const u64* excluded, u64* flags)) {
  const u64 length = word_length(i, edges);
  u64 leaving, aside;
  NAME(leaving_word)(source + i * 64, target + i * 64, length, giant, excluded[i], &leaving, &aside);
  flags[i] = leaving | (light[i] & ~excluded[i]);
} END

// The later of the levels (see join_levels) of an edge's ends; 0 for a self-loop, 255 between two trees (`tree` is null
// where other levels than 255 are those of one tree).
KERNEL(latest_levels, (const V* source, const V* target, const u8* level, const u32* tree, u8* latest)) {
  const u8 a = level[source[i]], b = level[target[i]];
  u8 later = a < b ? b : a;
  if (tree && later != 255 && tree[source[i]] != tree[target[i]]) later = 255;
  latest[i] = source[i] == target[i] ? 0 : later;
} END

// Entries of a column at ascending rows. The rows are known ahead, so that the misses overlap.
KERNEL(gather_entries, (const V* column, const u64* row, V* gathered)) {
  if (i + 32 < count) PREFETCH(&column[row[i + 32]]);
  gathered[i] = column[row[i]];
} END

KERNEL(gather_labels, (const V* source, const V* target, const u32* position, const u32* label, u32* first,
                       u32* second)) {
  if (position && i + 32 < count) {
    PREFETCH(&source[position[i + 32]]);
    PREFETCH(&target[position[i + 32]]);
  }
  if (position && label && i + 16 < count) {
    PREFETCH(&label[source[position[i + 16]]]);
    PREFETCH(&label[target[position[i + 16]]]);
  }
  const u64 at = position ? position[i] : i;
  const V u = source[at], v = target[at];
  first[i] = label ? label[u] : (u32)u;
  second[i] = label ? label[v] : (u32)v;
} END

// Joins the components of every edge's ends.
KERNEL(unite, (const V* source, const V* target, const u32* position, u32* parent)) {
  const u64 at = position ? position[i] : i;
  join_sets(parent, (u32)source[at], (u32)target[at]);
} END

// Vertices, or their labels, that an edge ends in: a byte each, as atomics on words of flags cost several times as much.
KERNEL(mark_vertices, (const V* source, const V* target, const u32* position, const u32* label, u8* occurs)) {
  const u64 at = position ? position[i] : i;
  const V ends[2] = {source[at], target[at]};
  for (u32 side = 0; side < 2; ++side) {
    u8* const mark = &occurs[label ? (u64)label[ends[side]] : (u64)ends[side]];
    if (!load(mark)) store(mark, (u8)1);
  }
} END

// ---- a Bloom filter of pairs of vertices, one bit a pair; `shift` leaves as many leading bits of a hash as it holds --

DEVICE u64 NAME(pair_bit)(V u, V v, u32 shift) {
  const u64 low = u < v ? u : v, high = u < v ? v : u;
  return ((low * 0x9e3779b97f4a7c15ull + high) * 0xc2b2ae3d27d4eb4full) >> shift;
}

KERNEL(mark_pairs, (const V* source, const V* target, u32 shift, u64* bits)) {
  const u64 bit = NAME(pair_bit)(source[i], target[i], shift);
  atomic_or(&bits[bit >> 6], 1ull << (bit & 63));
} END

KERNEL(flag_marked_pairs, (const V* source, const V* target, u64 edges, u32 shift, const u64* bits, u64* flags)) {
  const u64 length = word_length(i, edges);
  u64 word = 0;
  for (u64 j = 0; j < length; ++j) {
    const u64 bit = NAME(pair_bit)(source[i * 64 + j], target[i * 64 + j], shift);
    word |= (bits[bit >> 6] >> (bit & 63) & 1) << j;
  }
  flags[i] = word;
} END
