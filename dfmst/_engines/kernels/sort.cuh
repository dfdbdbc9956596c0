// Radix sort of records: 32 bits of a key above, the key's place below.

// The leading 32 bits of a key above `low`, then its place. Equal keys keep their order in a stable sort.
KERNEL_OF(K, pack_records, (const K* key, u64 low, u32 shift, u64* records)) {
  records[i] = (((u64)key[i] - low) >> shift) << 32 | (u64)(u32)i;
} END

// For keys whose leading bits hardly differ: a sort by the low 32 bits, and one by the high bits after it.
KERNEL_OF(K, pack_low_half, (const K* key, u64 low, u64* records)) {
  records[i] = ((u64)key[i] - low) << 32 | (u64)(u32)i;
} END

KERNEL_OF(K, pack_high_half, (const K* key, u64 low, const u64* sorted, u64* records)) {
  const u32 place = (u32)sorted[i];
  records[i] = (((u64)key[place] - low) >> 32) << 32 | (u64)place;
} END

// Orders each run of records whose leading bits agree by the whole key, then by place. A run too long for an insertion
// sort stays as it is, and `long_runs` is set. A run of equal keys is in order at any length.
KERNEL_OF(K, order_runs, (const K* key, u64 length, u32 longest, u64* records, u32* long_runs)) {
  const u64 leading = load(&records[i]) >> 32;  // relaxed: another thread may be moving the neighbor's run
  if (i && load(&records[i - 1]) >> 32 == leading) return;
  const K least = key[(u32)load(&records[i])];
  bool equal = true;
  u64 end = i + 1;
  while (end < length && (equal || end - i <= longest) && load(&records[end]) >> 32 == leading)
    equal &= key[(u32)load(&records[end++])] == least;
  if (equal) return;
  if (end - i > longest) {
    store(long_runs, 1u);
    return;
  }
  for (u64 j = i + 1; j < end; ++j) {
    const u64 record = records[j];
    const K mine = key[(u32)record];
    u64 at = j;
    for (; at > i && key[(u32)records[at - 1]] > mine; --at) store(&records[at], records[at - 1]);
    store(&records[at], record);
  }
} END

// ---- one pass, by the digit in bits [shift, shift + digit_bits) ----------------------------------------------------

template <typename T> DEVICE void count_block(const T* records, u64 length, u64 block, u64 i, u32 shift, u32 digit_bits,
                                              u64* counts, u64 blocks) {
  u32 local[1024];
  const u32 digits = 1u << digit_bits;
  for (u32 digit = 0; digit < digits; ++digit) local[digit] = 0;
  const u64 end = (i + 1) * block < length ? (i + 1) * block : length;
  for (u64 j = i * block; j < end; ++j) ++local[(u32)(records[j] >> shift) & (digits - 1)];
  for (u32 digit = 0; digit < digits; ++digit) counts[digit * blocks + i] = local[digit];
}

HOST_KERNEL(count_digits, (const u64* records, u64 length, u64 block, u32 shift, u32 digit_bits, u64* counts,
                           u64 blocks)) {
  count_block(records, length, block, i, shift, digit_bits, counts, blocks);
} END

HOST_KERNEL(scatter_digits, (const u64* records, u64 length, u64 block, u32 shift, u32 digit_bits, const u64* places,
                             u64 blocks, u64* sorted)) {
  u32 local[1024];
  const u32 digits = 1u << digit_bits;
  for (u32 digit = 0; digit < digits; ++digit) local[digit] = (u32)places[digit * blocks + i];
  const u64 end = (i + 1) * block < length ? (i + 1) * block : length;
  for (u64 j = i * block; j < end; ++j) sorted[local[(records[j] >> shift) & (digits - 1)]++] = records[j];
} END

// Entries in a new order. They were packed first, so that they come from a compact column, which caches hold.
KERNEL(gather_packed, (const u64* packed, const u32* order, u64* gathered)) { gathered[i] = packed[order[i]]; } END

// The payload of a sorted record is the place its key came from.
KERNEL(unpack_records, (const u64* records, u32* order)) { order[i] = (u32)records[i]; } END

// ---- edges by the leading digit of their keys ----------------------------------------------------------------------

KERNEL_OF(K, leading_bits, (const K* key, u64 low, u32 shift, u32* leading)) {
  leading[i] = (u32)(((u64)key[i] - low) >> shift);
} END

HOST_KERNEL(count_leading, (const u32* leading, u64 length, u64 block, u32 shift, u32 digit_bits, u64* counts,
                            u64 blocks)) {
  count_block(leading, length, block, i, shift, digit_bits, counts, blocks);
} END

// Turns the counts of each bucket in each block into the places where these begin, and lists where the buckets do.
HOST_KERNEL(place_buckets, (u64* counts, u64 buckets, u64 blocks, u64* starts)) {
  if (i) return;
  u64 sum = 0;
  for (u64 bucket = 0; bucket < buckets; ++bucket) {
    starts[bucket] = sum;
    for (u64 at = bucket * blocks; at < (bucket + 1) * blocks; ++at) {
      const u64 own = counts[at];
      counts[at] = sum;
      sum += own;
    }
  }
  starts[buckets] = sum;
} END

// The first pass of a radix sort of edges, most significant digit first: each edge's leading bits, position in the
// columns and ends go to its bucket. `position` is null if the list has all edges of the columns.
HOST_KERNEL_OF(V, scatter_edges, (const u32* leading, u64 length, u64 block, u32 shift, u32 digit_bits,
                                  const u64* places, u64 blocks, const V* source, const V* target, const u32* position,
                                  u64* records, u64* ends)) {
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
    PREFETCH_WRITE(&records[at + 12]);
    PREFETCH_WRITE(&ends[at + 12]);
    records[at] = (u64)leading[j] << 32 | from;
    ends[at] = (u64)source[from] << 32 | (u64)(u32)target[from];
  }
} END

// ---- one entry -----------------------------------------------------------------------------------------------------

// Where the key lies that `rank` others come before in the order (key, place), then the least and the greatest key.
// `first` has room for rank + 1 places: a heap of the least ones so far, the greatest of them on top.
HOST_KERNEL_OF(K, place_of_rank, (const K* key, u64 length, u64 rank, u64* first, u64* found)) {
  if (i) return;
  const auto key_at = [=](u64 place) { return key[place]; };
  for (u64 j = 0; j <= rank; ++j) first[j] = j;
  for (u64 at = (rank + 1) / 2; at-- > 0;) sift_down(first, (u64*)0, at, rank + 1, key_at);
  K low = key[0], high = key[0], top = key[first[0]];
  for (u64 j = 0; j < length; ++j) {
    low = key[j] < low ? key[j] : low;
    high = key[j] > high ? key[j] : high;
  }
  for (u64 base = rank + 1; base < length; base += 64) {
    const K before = top;
    u64 less = flags_of(word_length(0, length - base), [=](u64 j) { return key[base + j] < before; });
    for (; less; less &= less - 1) {
      const u64 j = base + lowest_bit(less);
      if (key[j] >= top) continue;
      first[0] = j;
      sift_down(first, (u64*)0, 0, rank + 1, key_at);
      top = key[first[0]];
    }
  }
  found[0] = first[0];
  found[1] = low;
  found[2] = high;
} END
