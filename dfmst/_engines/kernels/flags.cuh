// Words of 64 flags: counted, listed, and set by what columns hold.

// How many flags each block of words holds, behind a 0: the sums of these counts place each block's positions.
KERNEL(count_flags, (const u64* flags, u64 words, u64 block, u64* counts)) {
  const u64 end = (i + 1) * block < words ? (i + 1) * block : words;
  u64 total = 0;
  for (u64 word = i * block; word < end; ++word) total += count_ones(flags[word]);
  if (i == 0) counts[0] = 0;
  counts[i + 1] = total;
} END

// Positions of the flags; `offsets` has the number of flags before each block, and of all.
KERNEL_OF(V, list_flags, (const u64* flags, u64 words, u64 block, const u64* offsets, V* positions)) {
  const u64 end = (i + 1) * block < words ? (i + 1) * block : words;
  u64 at = offsets[i], word = i * block;
#ifndef __CUDACC_RTC__
  for (; word < end && at + 64 <= offsets[i + 1]; ++word) {
    list_eights(flags[word], word * 64, positions + at);
    at += count_ones(flags[word]);
  }
#endif
  for (; word < end; ++word)
    for (u64 rest = flags[word]; rest; rest &= rest - 1) positions[at++] = (V)(word * 64 + lowest_bit(rest));
} END

enum : u64 {
  LISTED = 16,  // words that a thread of compact_flags counts and lists
  SUMMED = 64   // counts that one thread sums
};

// Positions of all set flags, ascending, in one launch. `sums` has room for the counts of groups of words, of
// SUMMED groups each, and of SUMMED of these each. Sums of few counts by many threads take no longer than the barriers between the steps.
STEPS_OF(V, compact_flags, (u32* met, const u64* flags, u64 words, u64* sums, V* positions)) {
  Team team = TEAM;
  const u64 groups = (words + LISTED - 1) / LISTED, parts = (groups + SUMMED - 1) / SUMMED, wholes = (parts + SUMMED - 1) / SUMMED;
  u64 *const of_part = sums + groups, *const of_whole = of_part + parts;
  const auto sum_up = [](u64 i, u64* counts, u64 length) {
    const u64 end = (i + 1) * SUMMED < length ? (i + 1) * SUMMED : length;
    u64 total = 0;
    for (u64 j = i * SUMMED; j < end; ++j) {
      const u64 count = counts[j];
      counts[j] = total;
      total += count;
    }
    return total;
  };
  team.each(groups, [=](u64 i) {
    const u64 end = (i + 1) * LISTED < words ? (i + 1) * LISTED : words;
    u64 total = 0;
    for (u64 word = i * LISTED; word < end; ++word) total += count_ones(flags[word]);
    sums[i] = total;
  });
  team.each(parts, [=](u64 i) { of_part[i] = sum_up(i, sums, groups); });
  team.each(wholes, [=](u64 i) { of_whole[i] = sum_up(i, of_part, parts); });
  // A thread lists one of 64 flags of each word: those of a warp write side by side.
  team.each(groups * 64, [=](u64 i) {
    const u64 group = i / 64, flag = i % 64, end = (group + 1) * LISTED < words ? (group + 1) * LISTED : words;
    u64 at = sums[group] + of_part[group / SUMMED];
    for (u64 whole = 0; whole < group / (SUMMED * SUMMED); ++whole) at += of_whole[whole];
    for (u64 word = group * LISTED; word < end; ++word) {
      const u64 here = flags[word];
      if (here >> flag & 1) positions[at + count_ones(here & ((1ull << flag) - 1))] = (V)(word * 64 + flag);
      at += count_ones(here);
    }
  });
}

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

// The same of few vertices, by one thread: their flags, a byte for each, and two tables of 256 flags that list up to
// `most` other vertices below the last one. Bits 0 to 2 of a vertex are its word in the first table and bits 3 to 7 its
// flag, in the second one bits 6 to 8 and 9 to 13. `others`: how many there are, and the end of the vertices that are
// equal. (No row may have the vertices above it: see unchecked_vertices.)
HOST_KERNEL(find_inside, (const u32* label, u64 length, u32 value, u64 most, u64* flags, u8* inside, u32* tables,
                          u64* others)) {
  if (i) return;
  u64 listed = 0, known = length;
  for (u32 word = 0; word < 16; ++word) tables[word] = 0;
  for (u64 j = 0; j < length; ++j) inside[j] = label[j] == value;
  while (known && !inside[known - 1]) --known;
  for (u64 word = 0; word < (length + 63) / 64; ++word) {
    const u64 here = word_length(word, length);
    flags[word] = flags_of(here, [=](u64 j) { return inside[word * 64 + j]; });
    for (u64 rest = ~flags[word] & last_flags(here); rest; rest &= rest - 1) {
      const u32 vertex = (u32)(word * 64 + lowest_bit(rest));
      if (vertex >= known || ++listed > most) continue;
      tables[vertex & 7] |= 1u << (vertex >> 3 & 31);
      tables[8 + (vertex >> 6 & 7)] |= 1u << (vertex >> 9 & 31);
    }
  }
  others[0] = listed;
  others[1] = known;
} END

// The vertices that have the same parent as the first end of a row. An id is `stride` words of 32 bits.
KERNEL(flag_beside, (const u32* parent, u64 length, const u32* source, u32 stride, u64 row, u64* flags)) {
  const u32 value = parent[source[row * stride]];
  u64 word = 0;
  for (u64 j = 0; j < word_length(i, length); ++j) word |= (u64)(parent[i * 64 + j] == value) << j;
  flags[i] = word;
} END

// The edges in `best` (see propose): their positions are the low halves.
KERNEL(flag_best, (const u64* best, u64* flags)) {
  if (best[i] != ~0ull) set_flag(flags, (u32)best[i]);
} END

// Edge `chosen[i]` of the sorted order is row `row[position[order[...]]]` of the table; any of these columns may be
// null.
KERNEL(flag_chosen, (const u32* chosen, const u32* order, const u32* position, const u32* row, u64* flags)) {
  u32 at = chosen[i];
  if (order) at = order[at];
  if (position) at = position[at];
  set_flag(flags, row ? row[at] : at);
} END

// ---- light edges ---------------------------------------------------------------------------------------------------

DEVICE i32 signed_bits(i32 weight) { return weight; }
DEVICE i64 signed_bits(i64 weight) { return weight; }
DEVICE i32 signed_bits(u32 weight) { return (i32)weight; }
DEVICE i64 signed_bits(u64 weight) { return (i64)weight; }
DEVICE i32 signed_bits(f32 weight) { return (i32)bits_of(weight); }
DEVICE i64 signed_bits(f64 weight) { return (i64)bits_of(weight); }
template <typename W> using Signed = decltype(signed_bits(W()));

// The weights whose keys are above another one: those whose bits, less `turned`, are above `bound` as signed integers,
// or (`others`) those whose bits are not. So a weight takes one comparison, and no key is made of it.
template <typename W> struct Above {
  Signed<W> turned, bound;
  bool others;
};
template <typename W> DEVICE Above<W> above_key(Key<W> key) {
  const Key<W> top = (Key<W>)1 << (8 * sizeof(W) - 1);
  if constexpr ((W)0.5 != 0) {  // a float
    if (key == top - 1) --key;  // the bits of -0.0 would be there, whose key is that of +0.0
    if (key < top) return {(Signed<W>)top, (Signed<W>)((~key ^ top) - 1), true};  // more bits are a lesser weight
    return {0, (Signed<W>)(key ^ top), false};
  }
  return {(W)-1 < 0 ? (Signed<W>)0 : (Signed<W>)top, (Signed<W>)(key ^ top), false};
}

#if defined(__AVX2__) && !defined(__CUDACC_RTC__)
DEVICE __m256i bits_at(const void* weight) { return _mm256_loadu_si256((const __m256i*)weight); }
#endif

// A word of the weights whose bits, less `turned`, are above `bound`.
template <typename W> DEVICE u64 word_above(const W* weight, u64 length, Signed<W> turned, Signed<W> bound) {
#if defined(__AVX2__) && !defined(__CUDACC_RTC__)
  u64 word = 0;
  if constexpr (sizeof(W) == 4) {
    const __m256i less = _mm256_set1_epi32(turned), most = _mm256_set1_epi32(bound);
    for (u32 j = 0; length == 64 && j < 64; j += 8) {
      const __m256i above = _mm256_cmpgt_epi32(_mm256_xor_si256(bits_at(weight + j), less), most);
      word |= (u64)(u32)_mm256_movemask_ps(_mm256_castsi256_ps(above)) << j;
    }
  } else {
    const __m256i less = _mm256_set1_epi64x(turned), most = _mm256_set1_epi64x(bound);
    for (u32 j = 0; length == 64 && j < 64; j += 4) {
      const __m256i above = _mm256_cmpgt_epi64(_mm256_xor_si256(bits_at(weight + j), less), most);
      word |= (u64)(u32)_mm256_movemask_pd(_mm256_castsi256_pd(above)) << j;
    }
  }
  if (length == 64) return word;
#endif
  return flags_of(length, [=](u64 j) { return (signed_bits(weight[j]) ^ turned) > bound; });
}

// A word of the edges at or below the threshold in the total order (key, position).
template <typename W>
DEVICE u64 light_word(const W* weight, u64 flip, u64 begin, u64 length, Key<W> most, u64 threshold_position) {
  const W* mine = weight + begin;
  const bool before = begin + 63 <= threshold_position;
  if (!before && begin <= threshold_position)
    return flags_of(length, [=](u64 j) {
      const Key<W> key = key_of(mine[j], flip);
      return key < most || (key == most && begin + j <= threshold_position);
    });
  // Words on one side of the position take one comparison an edge: of keys up to `last`.
  const Key<W> last = before ? most : (Key<W>)(most - 1);
  if (!before && most == 0) return 0;
  if (flip && last == (Key<W>)~(Key<W>)0) return last_flags(length);
  const Above<W> above = above_key<W>(flip ? (Key<W>)(~last - 1) : last);
  const u64 word = word_above(mine, length, above.turned, above.bound);
  return (above.others != (flip == 0) ? ~word : word) & last_flags(length);
}

KERNEL_OF(W, flag_light, (const W* weight, u64 flip, u64 edges, u64 threshold_key, u64 threshold_position,
                          u64* flags)) {
  flags[i] = light_word(weight, flip, i * 64, word_length(i, edges), (Key<W>)threshold_key, threshold_position);
} END

// As above, for unchecked weights: `missing` is set where one is NaN.
KERNEL_OF(W, flag_light_checked, (const W* weight, u64 flip, u64 edges, u64 threshold_key, u64 threshold_position,
                                  u64* flags, u32* missing)) {
  const u64 length = word_length(i, edges);
  for (u64 at = i * 64 + 1024; at < i * 64 + 1088 && at < edges; at += 64 / sizeof(W)) PREFETCH(&weight[at]);
  Key<W> total = 0;
  for (u64 j = 0; j < length; ++j) total += weight[i * 64 + j] != weight[i * 64 + j];
  if (total) store(missing, 1u);
  flags[i] = light_word(weight, flip, i * 64, length, (Key<W>)threshold_key, threshold_position);
} END
