// Kernels over weight columns of type W (i32, u32, f32, i64, u64, f64). K is the unsigned key of the same width.
#define K KeyOf<W>::type

// NaN weights of a block of rows.
KERNEL(count_nan, (const W* weight, u64 length, u64 block, u64* counts)) {
  const u64 end = (i + 1) * block < length ? (i + 1) * block : length;
  u64 total = 0;
  for (u64 j = i * block; j < end; ++j) total += weight[j] != weight[j];
  counts[i] = total;
} END

KERNEL(gather_keys, (const W* weight, u64 flip, const u32* position, K* key)) {
  if (position && i + 32 < count) PREFETCH(&weight[position[i + 32]]);
  key[i] = key_of(weight[position ? position[i] : i], flip);
} END

// A word of the edges at or below the threshold in the total order (key, position).
DEVICE u64 NAME(light_word)(const W* weight, u64 flip, u64 begin, u64 length, K most, u64 threshold_position) {
  const W* mine = weight + begin;
  // Words on one side of the position take one comparison an edge.
  if (begin + 63 <= threshold_position)
    return flags_of(length, [=](u64 j) { return key_of(mine[j], flip) <= most; });
  if (begin > threshold_position)
    return flags_of(length, [=](u64 j) { return key_of(mine[j], flip) < most; });
  return flags_of(length, [=](u64 j) {
    const K key = key_of(mine[j], flip);
    return key < most || (key == most && begin + j <= threshold_position);
  });
}

KERNEL(flag_light, (const W* weight, u64 flip, u64 edges, u64 threshold_key, u64 threshold_position, u64* flags)) {
  flags[i] = NAME(light_word)(weight, flip, i * 64, word_length(i, edges), (K)threshold_key, threshold_position);
} END

// As above, of weights that nobody has looked at yet: `missing` is set where there is a NaN.
KERNEL(flag_light_checked, (const W* weight, u64 flip, u64 edges, u64 threshold_key, u64 threshold_position,
                            u64* flags, u32* missing)) {
  const u64 length = word_length(i, edges);
  K total = 0;
  for (u64 j = 0; j < length; ++j) total += weight[i * 64 + j] != weight[i * 64 + j];
  if (total) store(missing, 1u);
  flags[i] = NAME(light_word)(weight, flip, i * 64, length, (K)threshold_key, threshold_position);
} END

// Edges whose ends had not joined one tree before the edge comes: their key is below the limit of their level (see
// latest_levels), or equals it where `ties` is 1; those of level 255 all are.
KERNEL(flag_unjoined, (const W* weight, u64 flip, u64 edges, const u8* latest, const u64* limit, u32 ties,
                       u64* flags)) {
  const u64 length = word_length(i, edges), begin = i * 64;
  u64 word = 0;
  for (u64 j = 0; j < length; ++j) {
    const u64 key = key_of(weight[begin + j], flip), most = limit[latest[begin + j]];
    word |= (u64)(key < most || (key == most && ties) || latest[begin + j] == 255) << j;
  }
  flags[i] = word;
} END

#undef K
