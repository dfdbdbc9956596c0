// Ranges of 2^width vertices (see range_rounds.cuh): their edges brought into buckets, one a range, then the cut edges;
// and what is left of the edges when all ranges are contracted.

// Of `size` spread edges (see columns.cuh), how many lie inside a range.
HOST_KERNEL_OF(V, count_inside, (const V* source, const V* target, u64 step, u64 stretch, u64 size, u32 width,
                                 u64* inside)) {
  if (i) return;
  for (u64 k = 0; k < size; ++k) {
    PREFETCH(&source[spread_position(k, step, stretch)]);
    PREFETCH(&target[spread_position(k, step, stretch)]);
  }
  u64 total = 0;
  for (u64 k = 0; k < size; ++k) {
    const u64 at = spread_position(k, step, stretch);
    total += (source[at] ^ target[at]) >> width == 0;
  }
  *inside = total;
} END

// ---- edges brought into buckets, one a range, then the cut edges ---------------------------------------------------

// Counts the edges of each bucket among those from `begin` to `end`. (With columns of its own: a store of a byte may
// change anything that a compiler cannot see to be elsewhere.)
enum : u32 { CUT = 255 };  // the bucket of the cut edges, whatever the number of ranges

template <typename V>
DEVICE V count_buckets(const V* source, const V* target, u64 begin, u64 end, u32 width, u8* bucket, u32* local) {
  V largest = 0;
  for (u64 base = begin; base < end; base += 64) {
    const u64 stop = base + 64 < end ? base + 64 : end;
    for (u64 j = base; j < stop; ++j) {  // a compiler vectorizes it
      const V u = source[j], v = target[j], higher = u > v ? u : v;
      largest = higher > largest ? higher : largest;
    }
    for (u64 j = base; j < stop; ++j) {
      const V u = source[j], apart = (u ^ target[j]) >> width;
      const u8 range = apart ? (u8)CUT : (u8)(u >> width);
      bucket[j] = range;
      ++local[range];
    }
  }
  return largest;
}

// `bucket` is an edge's range, below 255, or 255 for a cut edge; their counts follow those of the ranges. `largest` is the
// largest id of each block: if one has no range, the counts mean nothing.
HOST_KERNEL_OF(V, count_ranges, (const V* source, const V* target, u64 length, u64 block, u32 width, u64 ranges,
                                 u8* bucket, u64* counts, u64 blocks, u64* largest)) {
  u32 local[CUT + 1];
  for (u32 range = 0; range <= CUT; ++range) local[range] = 0;
  const u64 end = (i + 1) * block < length ? (i + 1) * block : length;
  largest[i] = count_buckets(source, target, i * block, end, width, bucket, local);
  for (u64 range = 0; range < ranges; ++range) counts[range * blocks + i] = local[range];
  counts[ranges * blocks + i] = local[CUT];
} END

// The places of a block's edges, by bucket.
DEVICE void places_of_block(const u64* places, u64 ranges, u64 blocks, u64 block, u32* local) {
  for (u64 range = 0; range < ranges; ++range) local[range] = (u32)places[range * blocks + block];
  local[CUT] = (u32)places[ranges * blocks + block];
}

// The edges of a block, as they are scattered.
template <typename W> struct Rows {
  const u32 *source, *target;
  const W* weight;
  const u8* bucket;
  u64 begin, end, flip;
  u32 stride, width;
};

// Writes an edge's leading bits, its ends (of a cut edge: its position), and its position, if that is asked for. The
// line of the cache that is next to be written is fetched before a store waits for it. `plain`: keys are leading bits.
// Returns 1 if a weight is NaN, plus 2 if, without positions, leading bits are not all of a key.
template <bool plain, bool positions, typename Vertex, typename W>
DEVICE u32 scatter_block(const Rows<W> rows, const Window window, u32* local, u32* leading, Both<Vertex>* ends,
                         u32* position) {
  const u32 mask = (1u << rows.width) - 1, ahead = 96 / sizeof(Both<Vertex>);
  bool missing = false;
  u64 lost = 0;
  for (u64 j = rows.begin; j < rows.end; ++j) {
    const u32 u = rows.source[j * rows.stride] & mask, v = rows.target[j * rows.stride] & mask, range = rows.bucket[j];
    const u32 at = local[range]++;
    const W weight = rows.weight[j];
    const Key<W> key = key_of(weight, rows.flip);
    missing |= weight != weight;
    PREFETCH_WRITE(&leading[at + 24]);
    PREFETCH_WRITE(&ends[at + ahead]);
    if (!plain && !positions) lost |= lost_bits(window, key, rows.flip);
    leading[at] = plain ? (u32)key : positions ? leading_of(window, key) : (u32)((key - window.low) >> window.shift);
    ends[at] = range == CUT ? (Both<Vertex>)j : both_of<Vertex>(u, v);
    if (positions) {
      PREFETCH_WRITE(&position[at + 24]);
      position[at] = (u32)j;
    }
  }
  return missing | (u32)(lost != 0) << 1;
}

// `narrow` or `wide` takes the ends, and the positions of the cut edges. An id is `stride` words, the lowest first.
// `missing` is set if a weight is NaN; `cut_off` if, without positions, leading bits are not all of a key.
HOST_KERNEL_OF(W, scatter_ranges, (const u32* source, const u32* target, u32 stride, const W* weight, u64 flip,
                                   u64 low, u32 shift, const u8* bucket, u64 length, u64 block, u32 width, u64 ranges,
                                   const u64* places, u64 blocks, u32* leading, u32* narrow, u64* wide,
                                   u32* position, u32* missing, u32* cut_off)) {
  u32 local[CUT + 1];
  places_of_block(places, ranges, blocks, i, local);
  const u64 begin = i * block, end = begin + block < length ? begin + block : length;
  const Rows<W> rows = {source, target, weight, bucket, begin, end, flip, stride, width};
  const Window window = {low, shift, ~0u};
  u32 found;
  if (narrow && position)
    found = scatter_block<false, true, u16>(rows, window, local, leading, narrow, position);
  else if (narrow)
    found = scatter_block<sizeof(W) == 4, false, u16>(rows, window, local, leading, narrow, position);
  else if (position)
    found = scatter_block<false, true, u32>(rows, window, local, leading, wide, position);
  else
    found = scatter_block<sizeof(W) == 4, false, u32>(rows, window, local, leading, wide, position);
  if (found & 1) store(missing, 1u);
  if (found & 2) store(cut_off, 1u);
} END

// The limits that the cut edges set; they are put off. ~0 is no limit. (Not while edges are scattered: an atomic waits
// for all stores before it, and those miss the caches.)
HOST_KERNEL_OF(V, limit_ends, (const V* source, const V* target, const u32* leading, const u32* narrow, const u64* wide,
                               u32* limit, u8* marks)) {
  const u64 at = narrow ? narrow[i] : wide[i];
  if (i + 16 < count) {
    PREFETCH(&source[narrow ? narrow[i + 16] : wide[i + 16]]);
    PREFETCH(&target[narrow ? narrow[i + 16] : wide[i + 16]]);
  }
  const u32 mine = leading[i] < ~0u ? leading[i] : ~0u - 1;
  if (mine < load(&limit[source[at]])) atomic_min(&limit[source[at]], mine);
  if (mine < load(&limit[target[at]])) atomic_min(&limit[target[at]], mine);
  marks[i] = 2;
} END

// ---- what is left --------------------------------------------------------------------------------------------------

// How many edges of each bucket and block of rows are put off.
HOST_KERNEL(count_put_off, (const u8* marks, u64 length, u64 ranges, const u64* places, u64 blocks, u64* counts)) {
  for (u64 range = 0; range <= ranges; ++range) {
    const u64 place = range * blocks + i, end = place + 1 < (ranges + 1) * blocks ? places[place + 1] : length;
    u32 here = 0;
    for (u64 at = places[place]; at < end; ++at) here += marks[at] >> 1;
    counts[place] = here;
  }
} END

// Where each block's edges of a range that are put off begin among those of the range, in place of how many there are,
// and among all; the total; and where the components of each range begin.
HOST_KERNEL(place_put_off, (u64* counts, const u64* starts, u64 ranges, u64 blocks, u64* offsets, u64* components)) {
  for (u64 block = 0; block <= blocks; ++block) offsets[block] = 0;
  u64 first = 0;
  for (u64 range = 0; range <= ranges; ++range) {
    u64 place = starts[range];
    for (u64 block = 0; block < blocks; ++block) {
      const u64 own = counts[range * blocks + block];
      counts[range * blocks + block] = place;
      place += own;
      offsets[block + 1] += own;
    }
    const u64 own = range < ranges ? components[range] : 0;
    components[range] = first;
    first += own;
  }
  for (u64 block = 0; block < blocks; ++block) offsets[block + 1] += offsets[block];
} END

// Goes through each block of rows as it was scattered: flags the rows that are chosen, and lists the edges that are put
// off, components as their ends, with their leading bits if there is a `key`. Those of a range are numbered from `first`
// on; `after` has the place of the block's ends of each range.
HOST_KERNEL_OF(V, take_put_off, (const V* source, const V* target, const u8* bucket, u64 length, u64 block, u32 width,
                                 u64 ranges, const u64* places, u64 blocks, const u8* marks, const u32* narrow,
                                 const u64* wide, const u64* after, const u32* limit, const u64* first, const u32* row,
                                 u64* chosen, const u64* offsets, const u32* leading, u32* position, u32* new_source,
                                 u32* new_target, u32* key)) {
  u32 local[CUT + 1], from[CUT + 1];
  places_of_block(places, ranges, blocks, i, local);
  places_of_block(after, ranges, blocks, i, from);
  const u64 end = (i + 1) * block < length ? (i + 1) * block : length;
  u64 to = offsets[i];
  for (u64 base = i * block; base < end; base += 64) {
    u64 word = 0, later = 0;
    const u64 here = end - base < 64 ? end - base : 64;
    for (u64 k = 0; k < here; ++k) {
      const u32 mark = marks[local[bucket[base + k]]++];
      word |= (u64)(mark & 1) << k;
      later |= (u64)(mark >> 1) << k;
    }
    if (!row) chosen[base / 64] |= word;
    for (u64 rest = row ? word : 0; rest; rest &= rest - 1) set_flag(chosen, row[base + lowest_bit(rest)]);
    for (; later; later &= later - 1, ++to) {
      const u64 at = base + lowest_bit(later), range = bucket[at];
      const u64 place = from[range]++;
      position[to] = (u32)at;
      if (key) key[to] = leading[place];
      if (range == CUT) {  // its ends are the rows of the cut edges
        if (place + 16 < length) {
          PREFETCH(&source[narrow ? narrow[place + 16] : wide[place + 16]]);
          PREFETCH(&target[narrow ? narrow[place + 16] : wide[place + 16]]);
        }
        const u64 u = source[at], v = target[at];
        new_source[to] = (u32)first[u >> width] + limit[u];
        new_target[to] = (u32)first[v >> width] + limit[v];
      } else {
        const u32 before = (u32)first[range];
        new_source[to] = before + (narrow ? first_of<u16>(narrow[place]) : first_of<u32>(wide[place]));
        new_target[to] = before + (narrow ? second_of<u16>(narrow[place]) : second_of<u32>(wide[place]));
      }
    }
  }
} END
