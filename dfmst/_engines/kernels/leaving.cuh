// Edges that leave a component: flags of those between two components, most of which end in the giant one.

// Edges between different components, less those flagged in `excluded`.
KERNEL_OF(V, flag_crossing, (const V* source, const V* target, u64 edges, const u32* label, const u64* excluded,
                             u64* flags)) {
  const u64 length = word_length(i, edges);
  u64 word = 0;
  for (u64 j = 0; j < length; ++j) word |= (u64)(label[source[i * 64 + j]] != label[target[i * 64 + j]]) << j;
  flags[i] = excluded ? word & ~excluded[i] : word;
} END

#if defined(__AVX2__) && !defined(__CUDACC_RTC__)
// Eight ends, and the flag of each as the sign of a 32-bit lane.
DEVICE __m256i eight_ends(const u32* ends) { return _mm256_loadu_si256((const __m256i*)ends); }
DEVICE __m256i eight_ends(const u64* ends) {
  const __m256 low = _mm256_castsi256_ps(_mm256_loadu_si256((const __m256i*)ends));
  const __m256 high = _mm256_castsi256_ps(_mm256_loadu_si256((const __m256i*)(ends + 4)));
  return _mm256_permute4x64_epi64(_mm256_castps_si256(_mm256_shuffle_ps(low, high, 0x88)), 0xD8);
}
DEVICE __m256i eight_flags(const u64* flags, __m256i at) {
  const __m256i words = _mm256_i32gather_epi32((const int*)flags, _mm256_srli_epi32(at, 5), 4);
  return _mm256_sllv_epi32(words, _mm256_andnot_si256(at, _mm256_set1_epi32(31)));
}
DEVICE u64 eight_signs(__m256i lanes) { return (u64)(u32)_mm256_movemask_ps(_mm256_castsi256_ps(lanes)); }
// Likewise from eight words in a register: three bits of `at`, from `shift` on, are the word, the five next ones the flag.
DEVICE __m256i eight_of_256(__m256i words, __m256i at, int shift) {
  const __m256i flag = _mm256_andnot_si256(_mm256_srli_epi32(at, shift + 3), _mm256_set1_epi32(31));
  return _mm256_sllv_epi32(_mm256_permutevar8x32_epi32(words, _mm256_srli_epi32(at, shift)), flag);
}
// Ends that may be in a list of few: bits 0 to 7 and 6 to 13 of an id each lead to a flag (Bloom 1970).
DEVICE __m256i eight_in_list(__m256i low, __m256i high, __m256i at) {
  return _mm256_and_si256(eight_of_256(low, at, 0), eight_of_256(high, at, 6));
}
#endif

#ifndef __CUDACC_RTC__
template <typename V> DEVICE bool all_equal(const V* word) {
  if (word[0] != word[63]) return false;
  V differ = 0;
  for (u32 j = 1; j < 64; ++j) differ |= word[j] ^ word[0];
  return !differ;
}
#endif

// Edges with at most one end in the giant component, less those flagged in `excluded`; `aside` are those of them with
// no end in it. No branch depends on an edge, so that the reads of many words overlap. `inside`, where it is given, has a
// byte a vertex, 1 in the giant component: as long as a first-level cache holds it, a CPU reads a byte sooner than a bit.
// `gathers` has eight bits read by one instruction, which some processors take long over. `few`, where it is given, are
// 16 words of flags that tell of all but some ends, in registers, that they are no vertex outside the giant component.
template <typename V>
DEVICE void leaving_word(const V* source, const V* target, u64 length, const u64* giant, const u8* inside, u32 gathers,
                         const u32* few, u64 excluded, u64* flags, u64* aside) {
  u64 both = 0, either = 0, j = 0;
#ifndef __CUDACC_RTC__
  if (inside && length == 64 && all_equal(source)) {  // a table sorted by its source
    for (; j < 64; j += 8) {
      u64 ends = 0;
      for (u32 k = 0; k < 8; ++k) ends |= (u64)inside[target[j + k]] << 8 * k;
      both |= flags_of_bytes(ends) << j;
    }
    either = inside[source[0]] ? ~0ull : both;
    both = inside[source[0]] ? both : 0;
  }
#endif
#if defined(__AVX2__) && !defined(__CUDACC_RTC__)
  if (few && j == 0 && length == 64) {
    const __m256i low = eight_ends(few), high = eight_ends(few + 8);
    u64 unsure = 0;
    for (; j < 64; j += 8) {
      const __m256i a = eight_in_list(low, high, eight_ends(source + j));
      const __m256i b = eight_in_list(low, high, eight_ends(target + j));
      unsure |= eight_signs(_mm256_or_si256(a, b)) << j;
    }
    both = either = ~unsure;
    for (; unsure; unsure &= unsure - 1) {
      const u32 k = lowest_bit(unsure);
      const u64 a = flag_at(giant, source[k]), b = flag_at(giant, target[k]);
      both |= (a & b) << k;
      either |= (a | b) << k;
    }
  }
#endif
#ifndef __CUDACC_RTC__
  for (; inside && j + 8 <= length; j += 8) {
    u64 ends = 0;  // a byte an edge: how many of its ends are inside
    for (u32 k = 0; k < 8; ++k) ends |= (u64)(inside[source[j + k]] + inside[target[j + k]]) << 8 * k;
    both |= flags_of_bytes(ends >> 1 & EIGHT_ONES) << j;
    either |= flags_of_bytes((ends | ends >> 1) & EIGHT_ONES) << j;
  }
#endif
#if defined(__AVX2__) && !defined(__CUDACC_RTC__)
  for (; gathers && j + 8 <= length; j += 8) {
    const __m256i a = eight_flags(giant, eight_ends(source + j)), b = eight_flags(giant, eight_ends(target + j));
    both |= eight_signs(_mm256_and_si256(a, b)) << j;
    either |= eight_signs(_mm256_or_si256(a, b)) << j;
  }
#endif
  for (; j < length; ++j) {
    const u64 a = flag_at(giant, source[j]), b = flag_at(giant, target[j]);
    both |= (a & b) << j;
    either |= (a | b) << j;
  }
  *flags = ~both & ~excluded & last_flags(length);
  *aside = ~either & ~excluded & last_flags(length);
}

#ifndef __CUDACC_RTC__
// Vertices of 64 bits are read once, and then looked up as 32 bits.
DEVICE void leaving_word(const u64* source, const u64* target, u64 length, const u64* giant, const u8* inside,
                         u32 gathers, const u32* few, u64 excluded, u64* flags, u64* aside) {
  u32 first[64], second[64];
  u64 j = 0;
#if defined(__AVX2__)
  for (; j + 8 <= length; j += 8) {
    _mm256_storeu_si256((__m256i*)(first + j), eight_ends(source + j));
    _mm256_storeu_si256((__m256i*)(second + j), eight_ends(target + j));
  }
#endif
  for (; j < length; ++j) {
    first[j] = (u32)source[j];
    second[j] = (u32)target[j];
  }
  leaving_word<u32>(first, second, length, giant, inside, gathers, few, excluded, flags, aside);
}
#endif

// Whether an id of up to 64 edges is outside [0, vertices). `vertices` is at most half of V's range: a 64-bit id above it
// makes the difference negative, and one beyond that half is negative itself. (Of 32-bit ids, processors find eight
// greatest ones in one instruction.)
template <typename V> DEVICE bool any_outside(const V* source, const V* target, u64 length, u64 vertices) {
  const V last = (V)(vertices - 1);
  V signs = 0, top = 0;
  const auto look = [&](u64 j) {
    const V u = source[j], v = target[j], higher = u > v ? u : v;
    if constexpr (sizeof(V) == 4)
      top = higher > top ? higher : top;
    else
      signs |= u | v | (V)(last - u) | (V)(last - v);
  };
  u64 j = 0;
#ifndef __CUDACC_RTC__
  for (; length == 64 && j < 64; ++j) look(j);  // a compiler vectorizes and unrolls it
#endif
  for (; j < length; ++j) look(j);
  return top >= vertices || signs >> (sizeof(V) * 8 - 1);
}

// The ends of a word eight words later. (Not as data of one use: Intel then reads it at half the speed, since the
// prefetcher of its second-level cache does not see such reads.)
template <typename V> FETCHER void fetch_later_word(const V* source, const V* target, u64 word, u64 edges) {
  const u64 begin = (word + 8) * 64;
  if (begin + 64 > edges) return;
  for (u64 at = begin; at < begin + 64; at += 64 / sizeof(V)) {
    PREFETCH(&source[at]);
    PREFETCH(&target[at]);
  }
}

// As above where every vertex below `known` is in the giant component or in `few`: where no id of a word is above, and
// `few` is null, that one look at the ids is enough.
template <typename V> DEVICE bool below_known(const V* source, const V* target, u64 length, u64 known) {
  return known && !any_outside(source, target, length, known);
}

// Flags of a word, as above; false, and no flags, if an id of it is not in [0, vertices). If `vertices` is ~0, ids are not
// checked.
template <typename V>
DEVICE bool leaving_flags(const V* source, const V* target, u64 edges, u64 word, const u64* giant, const u8* inside,
                          u32 gathers, const u32* few, u64 known, const u64* excluded, u64 vertices, u64* flags,
                          u64* aside) {
  const u64 length = word_length(word, edges);
  fetch_later_word(source, target, word, edges);
  source += word * 64;
  target += word * 64;
  const bool below = below_known(source, target, length, known);
  *flags = *aside = 0;
  if (below && !few) return true;
  if (!below && vertices != ~0ull && any_outside(source, target, length, vertices)) return false;
  leaving_word(source, target, length, giant, inside, gathers, below ? few : (const u32*)0,
               excluded ? excluded[word] : 0, flags, aside);
  return true;
}

KERNEL_OF(V, flag_leaving, (const V* source, const V* target, u64 edges, const u64* giant, const u8* inside,
                            u32 gathers, const u32* few, u64 known, const u64* excluded, u64* flags, u64* aside)) {
  leaving_flags(source, target, edges, i, giant, inside, gathers, few, known, excluded, ~0ull, &flags[i], &aside[i]);
} END

// Of the edges set `aside`, those inside one component lose their flags.
KERNEL_OF(V, drop_joined, (const V* source, const V* target, const u32* label, const u64* aside, u64* flags)) {
  u64 joined = 0;
  for (u64 rest = aside[i]; rest; rest &= rest - 1) {
    const u64 j = i * 64 + lowest_bit(rest);
    joined |= (u64)(label[source[j]] == label[target[j]]) << (j & 63);
  }
  if (joined) flags[i] &= ~joined;
} END

KERNEL_OF(V, find_outside, (const V* source, const V* target, u64 edges, u64 vertices, u32* outside)) {
  if (any_outside(source + i * 64, target + i * 64, word_length(i, edges), vertices)) store(outside, 1u);
} END

// As flag_leaving, for unchecked ids: `outside` is set where one is not in [0, vertices).
KERNEL_OF(V, flag_leaving_checked, (const V* source, const V* target, u64 edges, const u64* giant, const u8* inside,
                                    u32 gathers, const u32* few, u64 known, const u64* excluded, u64* flags, u64* aside,
                                    u64 vertices, u32* outside)) {
  if (!leaving_flags(source, target, edges, i, giant, inside, gathers, few, known, excluded, vertices, &flags[i],
                     &aside[i]))
    store(outside, 1u);
} END

// Edges that are light or leave the giant component, less those flagged in `excluded`.
KERNEL_OF(V, flag_doubtful, (const V* source, const V* target, u64 edges, const u64* giant, const u64* light,
                             const u64* excluded, u64* flags)) {
  const u64 length = word_length(i, edges);
  u64 leaving, aside;
  leaving_word(source + i * 64, target + i * 64, length, giant, (const u8*)0, 0, (const u32*)0, excluded[i],
               &leaving, &aside);
  flags[i] = leaving | (light[i] & ~excluded[i]);
} END
