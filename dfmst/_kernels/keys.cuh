// Kernels over key columns of type K (u32 or u64).

// Sort records: the leading 32 bits of a key's range, then its place. Equal keys keep their order in a stable sort.
KERNEL(pack_records, (const K* key, u64 low, u32 shift, u64* records)) {
  records[i] = (((u64)key[i] - low) >> shift) << 32 | (u64)(u32)i;
} END

KERNEL(leading_bits, (const K* key, u64 low, u32 shift, u32* leading)) {
  leading[i] = (u32)(((u64)key[i] - low) >> shift);
} END

// As above by the low 32 bits, and then again by the high ones, for keys whose leading bits hardly differ.
KERNEL(pack_low_half, (const K* key, u64 low, u64* records)) {
  records[i] = ((u64)key[i] - low) << 32 | (u64)(u32)i;
} END
KERNEL(pack_high_half, (const K* key, u64 low, const u64* sorted, u64* records)) {
  const u32 place = (u32)sorted[i];
  records[i] = (((u64)key[place] - low) >> 32) << 32 | (u64)place;
} END

// Orders each run of records whose leading bits agree by the whole key (then place). `long_runs` tells of runs that
// are too long for an insertion sort; those are left as they are. A run of equal keys is in order at any length.
KERNEL(order_runs, (const K* key, u64 length, u32 longest, u64* records, u32* long_runs)) {
  const u64 leading = load(&records[i]) >> 32;  // relaxed: a neighbour's run may be on the move
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
