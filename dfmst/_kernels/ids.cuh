// Ids and their numbers, in a hash table with open addressing and linear probing. A slot of the table is
//
//   ~0                                    free
//   tag << 33 | number                    a known id; `tag` are the low 31 bits of its hash
//   tag << 33 | 1 << 32 | position        an id of this batch, at the smallest of its positions so far
//
// An id is a word: an integer, or the hash of a text's bytes, which lie in `text` from offset[i] to offset[i + 1]. Of
// integers these two columns are null, and `known` are the known ids; of texts, `known` are the offsets of the known
// ones in `known_text`. The tag only saves most comparisons: ids are equal where their words or their bytes are.

// Appleby's finalizer of MurmurHash3: one to one, and every bit of the word changes every bit of the hash.
DEVICE u64 mixed(u64 word) {
  word = (word ^ word >> 33) * 0xff51afd7ed558ccdull;
  word = (word ^ word >> 33) * 0xc4ceb9fe1a85ec53ull;
  return word ^ word >> 33;
}

// Lemire: Fast random integer generation in an interval, 2019. A table may so have any length.
DEVICE u64 first_slot(u64 hash, u64 slots) { return high_half(hash, slots); }
DEVICE u64 next_slot(u64 slot, u64 slots) { return slot + 1 == slots ? 0 : slot + 1; }

DEVICE u64 load_word(const u8* at) {
#ifndef __CUDACC_RTC__
  u64 word;
  std::memcpy(&word, at, 8);
  return word;
#else
  u64 word = 0;  // a GPU reads words only where they are aligned
  for (u32 j = 0; j < 8; ++j) word |= (u64)at[j] << (8 * j);
  return word;
#endif
}

// Bytes that fill no word, at most seven.
DEVICE u64 load_bytes(const u8* at, u64 length) {
  u64 word = 0;
  for (u64 j = 0; j < length; ++j) word |= (u64)at[j] << (8 * j);
  return word;
}

DEVICE bool same_bytes(const u8* a, const u8* b, u64 length) {
  u64 at = 0;
  for (; at + 8 <= length; at += 8)
    if (load_word(a + at) != load_word(b + at)) return false;
  return load_bytes(a + at, length - at) == load_bytes(b + at, length - at);
}

DEVICE bool same_text(const u64* offset, const u8* text, u64 i, const u64* other_offset, const u8* other, u64 j) {
  const u64 begin = offset[i], length = offset[i + 1] - begin, other_begin = other_offset[j];
  return other_offset[j + 1] - other_begin == length && same_bytes(text + begin, other + other_begin, length);
}

// A word for each text. The product of two words of 64 bits has 128; both halves together depend on all of them.
KERNEL(hash_texts, (const u64* offset, const u8* text, u64* word)) {
  const u64 factor = 0x9e3779b97f4a7c15ull, length = offset[i + 1] - offset[i];
  const u8* at = text + offset[i];
  u64 hash = length * factor + 1, left = length;
  for (; left; left -= left < 8 ? left : 8, at += 8) {
    const u64 mixed_in = (left < 8 ? load_bytes(at, left) : load_word(at)) ^ hash;
    hash = (mixed_in * factor ^ high_half(mixed_in, factor)) + length;
  }
  word[i] = hash;
} END

// Fetches slots, and what they lead to, of ids ahead, so that misses overlap.
#define PREFETCH_KNOWN                                                                    \
  if (i + 32 < count) PREFETCH(&table[first_slot(mixed(word[i + 32]), slots)]);           \
  if (i + 16 < count) {                                                                   \
    const u64 ahead = load(&table[first_slot(mixed(word[i + 16]), slots)]);               \
    if (!(ahead >> 32 & 1)) PREFETCH(&known[(u32)ahead]);                                 \
  }                                                                                       \
  if (text && i + 8 < count) {                                                            \
    const u64 ahead = load(&table[first_slot(mixed(word[i + 8]), slots)]);                \
    if (!(ahead >> 32 & 1)) PREFETCH(&known_text[known[(u32)ahead]]);                     \
  }

// Numbers of ids that are known; `unknown` for the others.
KERNEL(find_ids, (const u64* word, const u64* offset, const u8* text, const u64* known, const u8* known_text,
                  const u64* table, u64 slots, u32 unknown, u32* number)) {
  PREFETCH_KNOWN
  const u64 hash = mixed(word[i]), tag = hash << 33;
  u32 result = unknown;
  for (u64 slot = first_slot(hash, slots);; slot = next_slot(slot, slots)) {
    const u64 seen = table[slot];
    if (seen == ~0ull) break;
    if ((seen ^ tag) >> 33) continue;
    if (text ? same_text(offset, text, i, known, known_text, (u32)seen) : known[(u32)seen] == word[i]) {
      result = (u32)seen;
      break;
    }
  }
  number[i] = result;
} END

// Numbers of ids that are known; each of the others gets ~0, and a slot, the same at all of its positions. Slots are
// taken and never freed, and all threads look for an id in the same order: none can take a second slot for it.
KERNEL(claim_ids, (const u64* word, const u64* offset, const u8* text, const u64* known, const u8* known_text,
                   u64* table, u64 slots, u64* claimed, u32* number)) {
  PREFETCH_KNOWN
  const u64 hash = mixed(word[i]), tag = hash << 33, mine = tag | 1ull << 32 | i;
  u64 slot = first_slot(hash, slots);
  u32 result = ~0u;
  for (;; slot = next_slot(slot, slots)) {
    u64 seen = load(&table[slot]);
    if (seen == ~0ull) seen = compare_swap(&table[slot], ~0ull, mine);
    if (seen == ~0ull) break;
    if ((seen ^ tag) >> 33) continue;
    if (seen >> 32 & 1) {
      if (!(text ? same_text(offset, text, i, offset, text, (u32)seen) : word[(u32)seen] == word[i])) continue;
      if (mine < seen) atomic_min(&table[slot], mine);
      break;
    }
    if (text ? same_text(offset, text, i, known, known_text, (u32)seen) : known[(u32)seen] == word[i]) {
      result = (u32)seen;
      break;
    }
  }
  claimed[i] = slot;
  number[i] = result;
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
KERNEL(place_ids, (const u64* word, u64 begin, u64* table, u64 slots)) {
  if (i + 16 < count) PREFETCH(&table[first_slot(mixed(word[i + 16]), slots)]);
  const u64 hash = mixed(word[i]), mine = hash << 33 | (begin + i);
  u64 slot = first_slot(hash, slots);
  while (load(&table[slot]) != ~0ull || compare_swap(&table[slot], ~0ull, mine) != ~0ull) slot = next_slot(slot, slots);
} END
