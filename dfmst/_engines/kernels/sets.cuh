// Disjoint sets: every vertex leads to its parent, a root to itself.

// Joins the components of every edge's ends. A CPU prefetches three levels of parents of edges ahead, so that misses
// overlap: an edge then takes half the time. A GPU has threads enough for that.
KERNEL_OF(V, unite, (const V* source, const V* target, const u32* position, u32* parent)) {
#ifndef __CUDACC_RTC__
  if (i + 36 < count) {
    const u64 far = position ? position[i + 36] : i + 36, next = position ? position[i + 24] : i + 24;
    const u64 near = position ? position[i + 12] : i + 12;
    PREFETCH(&parent[source[far]]);
    PREFETCH(&parent[target[far]]);
    PREFETCH(&parent[load(&parent[source[next]])]);
    PREFETCH(&parent[load(&parent[target[next]])]);
    PREFETCH(&parent[load(&parent[load(&parent[source[near]])])]);
    PREFETCH(&parent[load(&parent[load(&parent[target[near]])])]);
  }
#endif
  const u64 at = position ? position[i] : i;
  join_sets(parent, (u32)source[at], (u32)target[at]);
} END

// The vertices that an edge has joined to another vertex, 64 of a word: those below a root, and their roots.
KERNEL(flag_joined, (const u32* parent, u64 vertices, u64* flags)) {
  u64 word = 0;
  for (u64 j = 0; j < word_length(i, vertices); ++j) {
    const u32 top = parent[i * 64 + j];
    if (top == i * 64 + j) continue;
    word |= 1ull << j;
    if (!(load(&flags[top >> 6]) >> (top & 63) & 1)) set_flag(flags, top);
  }
  if (word) atomic_or(&flags[i], word);
} END

// How many vertices have each root from `first` on; a root beyond `length` of them is left out.
KERNEL(count_members, (const u32* vertex, const u32* leader, u32 first, u64 length, u32* members)) {
  const u64 place = (u64)leader[vertex[i]] - first;
  if (place < length) atomic_add(&members[place], 1u);
} END

KERNEL(halve_paths, (u32* parent)) { shorten_path(parent, i, count); } END

KERNEL(flatten, (u32* parent)) { flatten_path(parent, i); } END

KERNEL(flag_roots, (const u32* parent, u64 vertices, u64* flags)) {
  const u64 length = word_length(i, vertices);
  u64 word = 0;
  for (u64 j = 0; j < length; ++j) word |= (u64)(parent[i * 64 + j] == i * 64 + j) << j;
  flags[i] = word;
} END

// A root's label is its rank among the roots; every vertex takes its root's.
KERNEL(rank_roots, (const u32* roots, u32* rank)) { rank[roots[i]] = (u32)i; } END

KERNEL(gather_ranks, (const u32* parent, const u32* rank, u32* label)) { label[i] = rank[parent[i]]; } END

// All of that for few vertices, by one thread in one launch; how many roots there are.
HOST_KERNEL(number_sets, (u32* parent, u64 vertices, u32* label, u64* sets)) {
  if (i) return;
  u32 roots = 0;
  for (u64 v = 0; v < vertices; ++v) {
    const u32 top = root(parent, (u32)v);
    parent[v] = top;
    if (top == v) label[v] = roots++;
  }
  for (u64 v = 0; v < vertices; ++v) label[v] = label[parent[v]];
  *sets = roots;
} END
