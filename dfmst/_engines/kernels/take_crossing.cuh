// Edges between components, taken with the labels of their ends as the table is read once (see leaving.cuh).

enum : u64 {
  CROSSING_WORDS = 256  // of a block, at most
};

// A block's edges and the labels of their ends: 192 KiB, more than the whole stack of a thread is on some systems.
struct CrossingBlock {
  u32 place[CROSSING_WORDS * 64 + 8], first[CROSSING_WORDS * 64], second[CROSSING_WORDS * 64];
};
#ifdef __CUDACC_RTC__
DEVICE CrossingBlock& crossing_block();  // of a CPU alone
#else
// Not inline, so that a loop does not ask for the thread's block in every round.
__attribute__((noinline)) inline CrossingBlock& crossing_block() {
  static thread_local CrossingBlock block;
  return block;
}
#endif

// Edges between components, less those flagged in `excluded`: their positions, and the labels of their ends. A block of
// `block` words is read once. It goes after the blocks before: `places` has the number of their edges, or ~0 until it is
// known. Threads take blocks in ascending order, so that the block before is done or in work. Beyond `room`, edges are
// only counted. `giant` may be null. `outside` is set if an id is not in [0, vertices); ids are not checked if it is null.
HOST_KERNEL_OF(V, take_crossing, (const V* source, const V* target, u64 edges, u64 block, const u64* giant,
                                  const u8* inside, u32 gathers, const u32* few, u64 known, const u64* excluded,
                                  u64 vertices, u32* outside, const u32* label, u64* places, u64 room, u32* position,
                                  u32* first, u32* second)) {
  CrossingBlock& own = crossing_block();
  const u64 words = (edges + 63) / 64, end = (i + 1) * block < words ? (i + 1) * block : words;
  const u64 bound = outside ? vertices : ~0ull;
  u64 listed = 0, length = 0;
  for (u64 word = i * block; word < end; ++word) {
    u64 flags = 0, aside;
    bool within = true;
    if (giant)
      within = leaving_flags(source, target, edges, word, giant, inside, gathers, few, known, excluded, bound, &flags,
                             &aside);
    else if (outside && any_outside(source + word * 64, target + word * 64, word_length(word, edges), vertices))
      within = false;
    else
      flags = last_flags(word_length(word, edges)) & ~(excluded ? excluded[word] : 0);
    if (!within) store(outside, 1u);
    list_eights(flags, word * 64, own.place + listed);
    listed += count_ones(flags);
  }
  for (u64 k = 0; k < listed; ++k) {
    if (k + 16 < listed) {
      PREFETCH(&label[source[own.place[k + 16]]]);
      PREFETCH(&label[target[own.place[k + 16]]]);
    }
    const u32 edge = own.place[k], a = label[source[edge]], b = label[target[edge]];
    own.place[length] = edge;
    own.first[length] = a;
    own.second[length] = b;
    length += a != b;
  }
  u64 before = load(&places[i]);
  for (Wait wait; before == ~0ull; before = load(&places[i])) wait.turn();
  store(&places[i + 1], before + length);
  if (before + length > room) return;
  std::memcpy(position + before, own.place, length * sizeof(u32));
  std::memcpy(first + before, own.first, length * sizeof(u32));
  std::memcpy(second + before, own.second, length * sizeof(u32));
} END

// The edges between components among those at spread positions (see `spread_positions`), less those in `excluded`. An id
// that has no label counts as the last.
HOST_KERNEL_OF(V, count_crossing, (const V* source, const V* target, u64 step, u64 stretch, u64 size, const u64* excluded,
                                   const u32* label, u64 labels, u64* crossing)) {
  const auto label_of = [=](V id) { return label[id < labels ? (u64)id : labels - 1]; };
  u64 total = 0;
  for (u64 j = 0; j < size; ++j) {
    const u64 edge = spread_position(j, step, stretch);
    total += label_of(source[edge]) != label_of(target[edge]) && !(excluded && flag_at(excluded, edge));
  }
  crossing[i] = total;
} END
