// Disjoint sets: every vertex leads to its parent, a root to itself.

// Joins the components of every edge's ends.
KERNEL_OF(V, unite, (const V* source, const V* target, const u32* position, u32* parent)) {
  const u64 at = position ? position[i] : i;
  join_sets(parent, (u32)source[at], (u32)target[at]);
} END

// Pointer jumping in two launches. The first shortens every path; where two walks meet, a late store may leave a
// vertex below its root. The second writes only its own vertex and walks the short rest, so that it is exact.
KERNEL(halve_paths, (u32* parent)) {
  if (i + 16 < count) PREFETCH(&parent[load(&parent[i + 16])]);
  root(parent, (u32)i);
} END

KERNEL(flatten, (u32* parent)) {
  u32 top = load(&parent[i]);
  for (u32 above = load(&parent[top]); above != top; above = load(&parent[top])) top = above;
  store(&parent[i], top);
} END

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
