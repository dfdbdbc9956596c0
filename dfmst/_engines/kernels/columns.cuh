// Columns of ids, weights and ends: checked, gathered and packed. Signed ids are read as unsigned: a negative one is
// then huge.

// Notes the largest id, whether a weight is NaN, and of the rows of every thread of `apart` the greatest key and the
// complement of the least. An id is `stride` words of 32 bits, the lowest first. Rows of a thread are `count` apart.
KERNEL_OF(W, survey_edges, (const u32* source, const u32* target, u32 stride, const W* weight, u64 edges, u64 apart,
                            u64* notes)) {
  const bool drawn = i % apart == 0;
  u64 largest = 0, missing = 0;
  Key<W> greatest = 0, least = 0;
  for (u64 row = i; row < edges; row += count) {
    const u64 at = row * stride;
    u64 a = source[at], b = target[at];
    if (stride == 2) {
      a |= (u64)source[at + 1] << 32;
      b |= (u64)target[at + 1] << 32;
    }
    if (a > largest) largest = a;
    if (b > largest) largest = b;
    const W mine = weight[row];
    missing |= mine != mine;
    if (!drawn) continue;
    const Key<W> key = key_of(mine, 0), rest = (Key<W>)~key;
    if (key > greatest) greatest = key;
    if (rest > least) least = rest;
  }
  raise(&notes[0], largest);
  raise(&notes[1], missing);
  if (!drawn) return;
  raise(&notes[2], greatest);
  raise(&notes[3], least);
} END

// Keys of the weights at `position` (null: of all), and the least and greatest key of each block of them.
HOST_KERNEL_OF(W, gather_span, (const W* weight, u64 flip, const u32* position, u64 length, u64 block, Key<W>* key,
                                Key<W>* least, Key<W>* greatest)) {
  const u64 end = (i + 1) * block < length ? (i + 1) * block : length;
  Key<W> low = ~(Key<W>)0, high = 0;
  for (u64 j = i * block; j < end; ++j) {
    if (position && j + 32 < end) PREFETCH(&weight[position[j + 32]]);
    const Key<W> mine = key_of(weight[position ? position[j] : j], flip);
    key[j] = mine;
    low = mine < low ? mine : low;
    high = mine > high ? mine : high;
  }
  least[i] = low;
  greatest[i] = high;
} END

// Leading bits of the keys of weights of 64 bits at `position` (null: of all), in blocks; `lost` is set if these are not
// all of a key.
HOST_KERNEL_OF(W, gather_leading, (const W* weight, u64 flip, const u32* position, u64 length, u64 block, u64 low,
                                   u32 shift, u32 bits, u32* leading, u32* lost)) {
  const u64 end = (i + 1) * block < length ? (i + 1) * block : length;
  const Window window = {low, shift, ~0u >> (32 - bits)};
  u64 any = 0;
  for (u64 base = i * block; base < end; base += 64) {
    const u64 stop = base + 64 < end ? base + 64 : end, after = base + 128 < end ? base + 128 : stop;
    if (position) fetch_ahead(weight, position, stop, after);
    for (u64 j = base; j < stop; ++j) {  // a compiler vectorizes it
      const u64 key = key_of(weight[position ? position[j] : j], flip);
      leading[j] = leading_of(window, key);
      any |= lost_bits(window, key, flip);
    }
  }
  if (any) store(lost, 1u);
} END

HOST_KERNEL(number_places, (u32* column)) { column[i] = (u32)i; } END

HOST_KERNEL(fill_ones, (u32* column)) { column[i] = ~0u; } END

HOST_KERNEL(clear_words, (u64* words)) { words[i] = 0; } END

// Entries of a column at ascending rows. Rows ahead are known, so that their cache misses overlap.
KERNEL_OF(V, gather_entries, (const V* column, const u64* row, V* gathered)) {
  if (i + 32 < count) PREFETCH(&column[row[i + 32]]);
  gathered[i] = column[row[i]];
} END

// Entries of one byte at ascending rows.
KERNEL(gather_bytes, (const u8* column, const u64* row, u8* gathered)) {
  if (i + 32 < count) PREFETCH(&column[row[i + 32]]);
  gathered[i] = column[row[i]];
} END

// Rows at positions of a list; the position itself where the list is the table (`row` is null).
KERNEL(gather_rows, (const u32* position, const u32* row, u32* gathered)) {
  gathered[i] = row ? row[position[i]] : position[i];
} END

// The place of sampled row `i`: the end of `i` steps, which are numbers of 32 fractional bits, and an offset below
// `stretch` that follows no period of the rows.
DEVICE u64 spread_position(u64 i, u64 step, u64 stretch) {
  return (i * step >> 32) + ((u64)(u32)(i * 2654435769u) * stretch >> 32);
}

// Keys of the weights at `position` (null: of all).
KERNEL_OF(W, gather_keys, (const W* weight, u64 flip, const u32* position, Key<W>* key)) {
  if (position && i + 32 < count) PREFETCH(&weight[position[i + 32]]);
  key[i] = key_of(weight[position ? position[i] : i], flip);
} END

// Keys of the weights at spread positions (see `spread_positions` in edges.py): one in each stretch.
KERNEL_OF(W, sample_keys, (const W* weight, u64 flip, u64 step, u64 stretch, Key<W>* key)) {
  if (i + 32 < count) PREFETCH(&weight[spread_position(i + 32, step, stretch)]);
  key[i] = key_of(weight[spread_position(i, step, stretch)], flip);
} END

// Labels of the ids at spread positions; an id that has none counts as the last.
KERNEL_OF(V, sample_labels, (const V* id, u64 step, u64 stretch, const u32* label, u64 labels, u32* drawn)) {
  const V mine = id[spread_position(i, step, stretch)];
  drawn[i] = label[mine < labels ? (u64)mine : labels - 1];
} END

// The label that more than half of a list have, or any, and how many have it (Boyer and Moore's vote).
KERNEL(most_frequent, (const u32* label, u64 length, u64* found)) {
  if (i) return;
  u64 lead = 0, count = 0;
  u32 name = 0;
  for (u64 j = 0; j < length; ++j) {
    if (lead == 0) name = label[j];
    if (label[j] == name)
      ++lead;
    else
      --lead;
  }
  for (u64 j = 0; j < length; ++j) count += label[j] == name;
  found[0] = name;
  found[1] = count;
} END

// Both ends of the edges at `position` (null: of all), or their labels.
KERNEL_OF(V, gather_labels, (const V* source, const V* target, const u32* position, const u32* label, u32* first,
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

// Vertices, or labels, at the ends of edges: a byte each, as atomics on words of flags cost several times as much.
KERNEL_OF(V, mark_vertices, (const V* source, const V* target, const u32* position, const u32* label, u8* occurs)) {
  const u64 at = position ? position[i] : i;
  const V ends[2] = {source[at], target[at]};
  for (u32 side = 0; side < 2; ++side) {
    u8* const mark = &occurs[label ? (u64)label[ends[side]] : (u64)ends[side]];
    if (!load(mark)) store(mark, (u8)1);
  }
} END

// Both ends of an edge, packed; `position` places an entry of the list in the columns.
KERNEL_OF(V, pack_ends, (const V* source, const V* target, const u32* position, u64* ends)) {
  const u64 at = position ? position[i] : i;
  ends[i] = (u64)source[at] << 32 | (u64)(u32)target[at];
} END

// One code for both directions of an edge, dense in [0, vertices * vertices).
KERNEL(pair_codes, (const u32* source, const u32* target, u64 vertices, u64* code)) {
  const u32 a = source[i], b = target[i];
  code[i] = (u64)(a < b ? a : b) * vertices + (a < b ? b : a);
} END
