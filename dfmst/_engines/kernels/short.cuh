// All of Kruskal for a short list, by one thread in one launch.

// Orders a short list by its keys, from `low` to `high`; equal keys keep their order. A record is the leading 32 bits of
// a key's distance from `low`, and its place. Returns where the records lie in the end: in `records` or in `spare`.
template <typename KeyAt>
DEVICE u64* sort_short(const KeyAt& key_at, u64 length, u64 low, u64 high, u64* records, u64* spare) {
  u32 spread = 0;
  while (spread < 64 && (high - low) >> spread) ++spread;
  const u32 shift = spread > 32 ? spread - 32 : 0, digit = length < 1024 ? 8 : 11;  // few edges: few counters
  const u32 passes = (spread - shift + digit - 1) / digit, size = 1u << digit;
  u32 counts[3 * 2048];
  for (u32 at = 0; at < passes * size; ++at) counts[at] = 0;
  for (u64 j = 0; j < length; ++j) {
    const u64 leading = (key_at(j) - low) >> shift;
    records[j] = leading << 32 | j;
    for (u32 pass = 0; pass < passes; ++pass) ++counts[pass * size + (leading >> pass * digit & (size - 1))];
  }
  for (u32 pass = 0; pass < passes; ++pass) {
    u32 *const places = counts + pass * size, sum = 0;
    for (u32 value = 0; value < size; ++value) {
      const u32 own = places[value];
      places[value] = sum;
      sum += own;
    }
    for (u64 j = 0; j < length; ++j) spare[places[records[j] >> (32 + pass * digit) & (size - 1)]++] = records[j];
    u64* const sorted = spare;
    spare = records;
    records = sorted;
  }
  if (shift) sort_runs(records, 0, length, [=](u64 record) { return (u64)key_at((u32)record); });
  return records;
}

// The edges of a level: their keys are `wide` or `narrow` ones.
HOST_KERNEL_OF(V, scan_short, (const V* source, const V* target, const u32* position, const u32* row, const u32* narrow,
                               const u64* wide, u64 length, u64 most, u32* parent, u64* records, u64* spare,
                               u32* chosen, u64* chosen_count, u64* flags)) {
  if (i) return;
  const auto key_at = [=](u64 j) { return wide ? wide[j] : (u64)narrow[j]; };
  u64 low = ~0ull, high = 0;
  for (u64 j = 0; j < length; ++j) {
    const u64 key = key_at(j);
    low = key < low ? key : low;
    high = key > high ? key : high;
  }
  const u64* const order = sort_short(key_at, length, low, high, records, spare);
  u64* const ends = order == records ? spare : records;
  for (u64 j = 0; j < length; ++j) {
    const u64 at = position ? position[(u32)order[j]] : (u32)order[j];
    ends[j] = (u64)source[at] << 32 | (u32)target[at];
  }
  scan_range(ends, 0, length, most, 0, parent, chosen, chosen_count);
  for (u64 j = 0; j < *chosen_count; ++j) {
    u32 at = (u32)order[chosen[j]];
    if (position) at = position[at];
    if (row) at = row[at];
    flags[at >> 6] |= 1ull << (at & 63);
  }
} END

// A table that nobody has looked at. An id is `stride` words of 32 bits, the lowest first. room[0] becomes the number of
// rows in the forest, which follow in ascending order; ~0 where a weight is NaN or an id is not below `limit`. The rest
// of the room is for the work: see short_forest for its size.
HOST_KERNEL_OF(W, solve_short, (const u32* source, const u32* target, u32 stride, const W* weight, u64 length, u64 limit,
                                u64 flip, u64* room)) {
  if (i) return;
  u64 *const records = room + 1 + length, *const spare = records + length, *const flags = spare + length;
  u32 *const chosen = (u32*)(flags + length / 64 + 1), *const parent = chosen + length;
  u32 largest = 0, above = 0;
  u64 low = ~0ull, high = 0, missing = 0, found = 0;
  for (u64 j = 0; j < length; ++j) {
    const u64 at = j * stride;
    largest = source[at] > largest ? source[at] : largest;
    largest = target[at] > largest ? target[at] : largest;
    above |= source[at + stride - 1] | target[at + stride - 1];
    const u64 key = key_of(weight[j], flip);
    missing |= weight[j] != weight[j];
    low = key < low ? key : low;
    high = key > high ? key : high;
  }
  room[0] = ~0ull;
  if (missing || largest >= limit || (stride > 1 && above)) return;
  const auto key_at = [=](u64 j) { return (u64)key_of(weight[j], flip); };
  const u64* const order = sort_short(key_at, length, low, high, records, spare);
  u64* const ends = order == records ? spare : records;
  for (u64 j = 0; j < length; ++j) {
    const u64 at = (u64)(u32)order[j] * stride;
    ends[j] = (u64)source[at] << 32 | target[at];
  }
  for (u32 vertex = 0; vertex <= largest; ++vertex) parent[vertex] = vertex;
  scan_range(ends, 0, length, largest, 0, parent, chosen, &found);
  for (u64 word = 0; word <= length / 64; ++word) flags[word] = 0;
  for (u64 j = 0; j < found; ++j) {
    const u32 at = (u32)order[chosen[j]];
    flags[at >> 6] |= 1ull << (at & 63);
  }
  u64* row = room + 1;
  for (u64 word = 0; word <= length / 64; ++word)
    for (u64 rest = flags[word]; rest; rest &= rest - 1) *row++ = word * 64 + lowest_bit(rest);
  room[0] = found;
} END
