// Ids and their numbers, in a hash table with open addressing and linear probing. A slot of the table is
//
//   ~0                                    free
//   tag << 33 | number                    a known id; `tag` are the low 31 bits of its hash
//   tag << 33 | 1 << 32 | position        an id of this batch, at the smallest of its positions so far
//
// An id is a word: an integer, or the hash of a text's bytes, which lie in `text` from offset[i] to offset[i + 1]. Of
// integers these two columns are null, and `known` are the known ids; of texts, `known` are the offsets of the known
// ones in `known_text`. The tag only saves most comparisons: ids are equal where their words or their bytes are.
//
// Users of a service choose its ids. So both hashes are keyed by two random odd words, `low` and `high`; and if an id's
// walk through a table has too many steps, `crowded` becomes 1, and the host draws other keys.

const u32 MOST_STEPS = 256;  // 2^28 random ids in the fullest table have a longer walk once in ten thousand tables
const u32 COMPARED = 16;  // steps that an id with the same tag counts for: random ids hardly ever have it

// Two words have equal high halves of their products for 2 of 2^64 keys (Dietzfelbinger et al.: A reliable randomized
// algorithm for the closest-pair problem, 1997). The rest spreads words at equal distances, too.
DEVICE u64 mixed(u64 word, u64 low, u64 high) {
  const u64 product = high_half(word, low) + word * high;
  return (product ^ product >> 32) * 0xd6e8feb86659fd93ull;
}

// Ids that a thread looks up at a time, and slots of a line: a CPU's cache reads so many at once, and compares them at
// once (AVX2), so that an id's walk through the table begins with its line. A GPU has threads enough for misses to
// overlap, and keeps words in registers.
#ifdef __CUDACC_RTC__
const u32 MOST_IDS = 1, LINE = 1;
#else
const u32 MOST_IDS = 64, LINE = 8;
#endif

// Lemire: Fast random integer generation in an interval, 2019. A table may so have any number of lines.
DEVICE u64 first_slot(u64 hash, u64 slots) { return high_half(hash, slots / LINE) * LINE; }
DEVICE bool same_tag(u64 seen, u64 hash) { return (seen ^ hash << 33) >> 33 == 0; }
DEVICE u32 cost_of_step(u64 seen, u64 hash) { return same_tag(seen, hash) ? COMPARED : 1; }
DEVICE u64 next_slot(u64 slot, u64 slots) { return slot + 1 == slots ? 0 : slot + 1; }

// Bytes as a word; a GPU reads words only where they are aligned.
template <typename Word> DEVICE Word load_word(const u8* at) {
  Word word = 0;
#ifndef __CUDACC_RTC__
  std::memcpy(&word, at, sizeof word);
#else
  for (u32 j = 0; j < sizeof word; ++j) word |= (Word)at[j] << (8 * j);
#endif
  return word;
}

// The last bytes of a text, at most eight; those of a longer one may have been read before. For one length, no two are
// the same word.
DEVICE u64 last_word(const u8* text, u64 length) {
  if (length >= 8) return load_word<u64>(text + length - 8);
  if (length >= 4) return (u64)load_word<u32>(text) << 32 | load_word<u32>(text + length - 4);
  return length ? (u64)text[0] << 16 | (u64)text[length / 2] << 8 | text[length - 1] : 0;
}

DEVICE bool same_bytes(const u8* a, const u8* b, u64 length) {
  for (u64 at = 0; at + 8 < length; at += 8)
    if (load_word<u64>(a + at) != load_word<u64>(b + at)) return false;
  return last_word(a, length) == last_word(b, length);
}

DEVICE bool same_text(const u64* offset, const u8* text, u64 i, const u64* other_offset, const u8* other, u64 j) {
  const u64 begin = offset[i], length = offset[i + 1] - begin, other_begin = other_offset[j];
  return other_offset[j + 1] - other_begin == length && same_bytes(text + begin, other + other_begin, length);
}

// Words folded into a hash: the product of two words has 128 bits, and its halves together depend on all of them. A
// random factor in each step: no texts have equal hashes for all keys.
DEVICE u64 fold_in(u64 hash, u64 word, u64 factor) {
  return (hash ^ word) * factor ^ high_half(hash ^ word, factor);
}

// The length changes bits all over the hash: in the lowest ones alone, "v8" would hash as "v89" does.
DEVICE u64 hash_of_text(const u8* text, u64 length, u64 low, u64 high) {
  u64 hash = length * high;
  for (u64 at = 0; at + 8 < length; at += 8) hash = fold_in(hash, load_word<u64>(text + at), low) + length;
  return fold_in(hash, last_word(text, length), low);
}

// A word for each text.
KERNEL(hash_texts, (const u64* offset, const u8* text, u64 low, u64 high, u64* word)) {
  word[i] = hash_of_text(text + offset[i], offset[i + 1] - offset[i], low, high);
} END

// All of few ids by one thread: integers, or the offsets of texts. Each gets a number in the order of first occurrence,
// and each number the position at which it occurs first; the last entry of `first` becomes their count, or ~0 after too
// long a walk.
HOST_KERNEL_OF(V, number_few, (const V* id, const u8* text, u64 length, u64 low, u64 high, u64* table, u64 slots,
                               u32* number, u32* first)) {
  if (i) return;
  for (u64 slot = 0; slot < slots; ++slot) table[slot] = ~0ull;
  u32 known = 0;
  for (u64 j = 0; j < length; ++j) {
    const u64 size = text ? id[j + 1] - id[j] : 0;
    const u64 hash = mixed(text ? hash_of_text(text + id[j], size, low, high) : id[j], low, high);
    u64 slot = high_half(hash, slots);
    for (u32 steps = 0; table[slot] != ~0ull; slot = next_slot(slot, slots)) {
      if (steps >= MOST_STEPS / 2) {  // half of the slots stay free
        first[length] = ~0u;
        return;
      }
      steps += cost_of_step(table[slot], hash);
      if (!same_tag(table[slot], hash)) continue;
      const u64 other = first[(u32)table[slot]];
      if (text ? id[other + 1] - id[other] == size && same_bytes(text + id[other], text + id[j], size) : id[other] == id[j])
        break;
    }
    if (table[slot] == ~0ull) {
      table[slot] = hash << 33 | known;
      first[known++] = (u32)j;
    }
    number[j] = (u32)table[slot];
  }
  first[length] = known;
} END

struct Ids {
  const u64 *word, *offset;
  const u8* text;
  u64 low, high;
  const u64* known;
  const u8* known_text;
};

DEVICE bool is_known(u64 seen) { return !(seen >> 32 & 1); }
DEVICE bool same_known(const Ids& ids, u64 i, u64 seen) {
  return ids.text ? same_text(ids.offset, ids.text, i, ids.known, ids.known_text, (u32)seen)
                  : ids.known[(u32)seen] == ids.word[i];
}
DEVICE bool same_claimed(const Ids& ids, u64 i, u64 seen) {
  return ids.text ? same_text(ids.offset, ids.text, i, ids.offset, ids.text, (u32)seen)
                  : ids.word[(u32)seen] == ids.word[i];
}

// The first slot of a walk with the hash's tag, or the free slot before one, or the slot after too many steps. Walks enter
// a line at its first slot, so that no free slot of a line comes before a taken one. Other threads take slots meanwhile: a
// tag behind a slot that was still free does not count, as an equal id may have taken that slot since.
DEVICE u64 tagged_slot(const u64* table, u64 slots, u64 hash) {
  u64 slot = first_slot(hash, slots);
#if defined(__AVX2__) && !defined(__CUDACC_RTC__)
  const __m256i tag = _mm256_set1_epi64x((i64)(hash << 33)), none = _mm256_setzero_si256();
  for (const u64 stop = slot + MOST_STEPS; slot < stop && slot + LINE <= slots; slot += LINE) {
    u32 same = 0, free = 1u << LINE;
    for (u32 j = 0; j < LINE; j += 4) {
      __m256i four = _mm256_loadu_si256((const __m256i*)&table[slot + j]);
      __asm__("" : "+x"(four));  // read once: a slot that is taken between two reads would be neither free nor the id's
      const __m256i equal = _mm256_cmpeq_epi64(_mm256_srli_epi64(_mm256_xor_si256(four, tag), 33), none);
      same |= (u32)_mm256_movemask_pd(_mm256_castsi256_pd(equal)) << j;
      const __m256i empty = _mm256_cmpeq_epi64(four, _mm256_set1_epi64x(-1));
      free |= (u32)_mm256_movemask_pd(_mm256_castsi256_pd(empty)) << j;
    }
    const u32 first = lowest_bit(same | free);
    if (first < LINE) return slot + first;
  }
  if (slot == slots) slot = 0;
#endif
  u64 seen = load(&table[slot]);
  for (u32 steps = 0; seen != ~0ull && !same_tag(seen, hash) && steps < MOST_STEPS; ++steps)
    seen = load(&table[slot = next_slot(slot, slots)]);
  return slot;
}

// Walks through the ids from `begin`, up to MOST_IDS, a step for all of them at a time, so that their misses overlap.
// `resolve` gets the first slot with an id's tag, or the free slot before one, and what it holds.
template <typename Resolve>
DEVICE void look_up(const Ids& ids, u64 begin, u64 length, const u64* table, u64 slots, Resolve resolve) {
  u64 hash[MOST_IDS], slot[MOST_IDS], seen[MOST_IDS];
  for (u64 j = 0; j < length; ++j) {
    hash[j] = mixed(ids.word[begin + j], ids.low, ids.high);
    PREFETCH(&table[first_slot(hash[j], slots)]);
  }
  for (u64 j = 0; j < length; ++j) {
    slot[j] = tagged_slot(table, slots, hash[j]);
    seen[j] = load(&table[slot[j]]);
    if (is_known(seen[j])) PREFETCH(&ids.known[(u32)seen[j]]);
  }
  for (u64 j = 0; ids.text && j < length; ++j)
    if (is_known(seen[j])) PREFETCH(&ids.known_text[ids.known[(u32)seen[j]]]);
  for (u64 j = 0; j < length; ++j) resolve(begin + j, hash[j], slot[j], seen[j]);
}

DEVICE u64 block_length(u64 i, u64 block, u64 length) { return length - i * block < block ? length - i * block : block; }

// Numbers of a block of ids (at most MOST_IDS). An unknown id gets ~0, and a slot, the same at all of its positions. Slots
// are taken and never freed, and all threads look for an id in the same order: none can take a second slot for it. In a
// crowded table no id gets one.
KERNEL(claim_ids, (const u64* word, const u64* offset, const u8* text, u64 length, u64 block, u64 low, u64 high,
                   const u64* known, const u8* known_text, u64* table, u64 slots, u64* crowded, u64* claimed,
                   u32* number)) {
  const Ids ids{word, offset, text, low, high, known, known_text};
  if (load(crowded)) {
    for (u64 j = 0; j < block_length(i, block, length); ++j) number[i * block + j] = ~0u;
    return;
  }
  look_up(ids, i * block, block_length(i, block, length), table, slots, [=](u64 j, u64 hash, u64 slot, u64 seen) {
    const u64 mine = hash << 33 | 1ull << 32 | j;
    number[j] = ~0u;
    for (u32 steps = 0;; seen = load(&table[slot = next_slot(slot, slots)])) {
      if (steps >= MOST_STEPS) {
        store(crowded, (u64)1);
        return;
      }
      if (seen == ~0ull) seen = compare_swap(&table[slot], ~0ull, mine);
      if (seen == ~0ull) break;
      steps += cost_of_step(seen, hash);
      if (!same_tag(seen, hash)) continue;
      if (is_known(seen)) {
        if (!same_known(ids, j, seen)) continue;
        number[j] = (u32)seen;
        return;
      }
      if (!same_claimed(ids, j, seen)) continue;
      if (mine < seen) atomic_min(&table[slot], mine);
      break;
    }
    claimed[j] = slot;
  });
} END

// Positions at which an unknown id occurs first.
KERNEL(flag_first, (const u32* position, const u64* claimed, const u64* table, u64 length, u64* flags)) {
  u64 word = 0;
  for (u64 j = 0; j < word_length(i, length); ++j)
    word |= (u64)((u32)table[claimed[position[i * 64 + j]]] == position[i * 64 + j]) << j;
  flags[i] = word;
} END

// The ids that occur first at these get numbers from `begin` on; integers also a place in `known`.
KERNEL(number_ids, (const u32* first, const u64* word, const u64* claimed, u64 begin, u64* table, u64* known)) {
  u64* slot = &table[claimed[first[i]]];
  *slot = *slot >> 33 << 33 | (begin + i);
  if (known) known[begin + i] = word[first[i]];
} END

// Texts that begin at these places, to where their copies shall lie.
KERNEL(copy_texts, (const u64* begin, const u8* text, const u64* offset, u8* copy)) {
  const u64 length = offset[i + 1] - offset[i];
  for (u64 j = 0; j < length; ++j) copy[offset[i] + j] = text[begin[i] + j];
} END

KERNEL(read_numbers, (const u32* position, const u64* claimed, const u64* table, u32* number)) {
  number[position[i]] = (u32)table[claimed[position[i]]];
} END

// Known ids, from number `begin` on, into a new table. No two are equal.
KERNEL(place_ids, (const u64* word, u64 begin, u64 low, u64 high, u64* table, u64 slots, u64* crowded)) {
  if (i + 16 < count) PREFETCH(&table[first_slot(mixed(word[i + 16], low, high), slots)]);
  const u64 hash = mixed(word[i], low, high), mine = hash << 33 | (begin + i);
  u64 slot = tagged_slot(table, slots, hash);
  u32 steps = 0;
  for (u64 seen = load(&table[slot]);; seen = load(&table[slot = next_slot(slot, slots)])) {
    if (seen == ~0ull) seen = compare_swap(&table[slot], ~0ull, mine);
    if (seen == ~0ull) return;
    steps += cost_of_step(seen, hash);
    if (steps >= MOST_STEPS) break;
  }
  store(crowded, (u64)1);
} END
