// The dendrogram of a forest by contraction (Sao et al.: PANDORA, ICPP 2024), of edges in their order: an edge is its rank.
//
// A level contracts every vertex along its lightest edge. A vertex of a level is a node, and nodes of all levels have one
// numbering. `lightest` of a node is the rank of its lightest edge, ~0 if it has none; `up` is its node of the next level.
// Edges that are the lightest of neither end go on to the next level. An edge that a level has contracted belongs to the
// chain of the first node above whose lightest edge is heavier. The edges of a chain merge one after the other, and then
// the chain's node merges along its lightest edge.

// Edges ascend, so that the lightest one of a vertex is the first.
KERNEL(first_edges, (const u32* source, const u32* target, u32* first)) {
  const u32 edge = (u32)i, a = source[i], b = target[i];
  if (i + 16 < count) {
    PREFETCH(&first[source[i + 16]]);
    PREFETCH(&first[target[i + 16]]);
  }
  if (edge < load(&first[a])) atomic_min(&first[a], edge);
  if (edge < load(&first[b])) atomic_min(&first[b], edge);
} END

KERNEL(hook_along, (const u32* source, const u32* target, const u32* rank, const u32* first, u32* parent,
                    u32* lightest)) {
  const u32 edge = first[i];
  parent[i] = (u32)i;
  lightest[i] = edge == ~0u || !rank ? edge : rank[edge];
  if (edge == ~0u) return;
  const u32 other = source[edge] == i ? target[edge] : source[edge];
  if (first[other] != edge || other < i) parent[i] = other;
} END

// Flags the roots that have an edge, one word an index.
KERNEL(flag_linked_roots, (const u32* parent, const u32* first, u64 vertices, u64* flags)) {
  flags[i] = flags_of(word_length(i, vertices), [&](u64 j) {
    const u64 vertex = i * 64 + j;
    return parent[vertex] == vertex && first[vertex] != ~0u;
  });
} END

KERNEL(lead_up, (const u32* parent, const u32* number, u64 base, u32* up)) {
  up[i] = (u32)base + number[parent[i]];
} END

// Flags the edges that go on to the next level, one word an index; the ends of others, as nodes, become their sides.
KERNEL(flag_heavier, (const u32* source, const u32* target, const u32* rank, u64 edges, const u32* first, u64 base,
                      u32* one, u32* two, u64* flags)) {
  const u64 length = word_length(i, edges);
  u64 word = 0;
  for (u64 j = 0; j < length; ++j) {
    const u64 edge = i * 64 + j;
    const u32 a = source[edge], b = target[edge];
    if (edge + 16 < edges) {
      PREFETCH(&first[source[edge + 16]]);
      PREFETCH(&first[target[edge + 16]]);
    }
    if (first[a] != edge && first[b] != edge) {
      word |= 1ull << j;
      continue;
    }
    const u64 merge = rank ? rank[edge] : edge;
    one[merge] = (u32)base + a;
    two[merge] = (u32)base + b;
  }
  flags[i] = word;
} END

KERNEL(gather_heavier, (const u32* position, const u32* source, const u32* target, const u32* rank, const u32* up,
                        u64 base, u32* next_source, u32* next_target, u32* next_rank)) {
  const u32 edge = position[i];
  next_source[i] = up[source[edge]] - (u32)base;
  next_target[i] = up[target[edge]] - (u32)base;
  next_rank[i] = rank ? rank[edge] : edge;
} END

KERNEL(find_chains, (const u32* one, const u32* up, const u32* lightest, u64* records)) {
  if (i + 16 < count) PREFETCH(&up[one[i + 16]]);
  u32 node = up[one[i]];
  while (lightest[node] < i) node = up[node];
  records[i] = (u64)node << 32 | i;
} END

// The first place and the last merge of every chain.
KERNEL(bound_chains, (const u64* records, u64 edges, u32* begin, u32* top)) {
  const u32 chain = (u32)(records[i] >> 32);
  if (i == 0 || records[i - 1] >> 32 != chain) begin[chain] = (u32)i;
  if (i + 1 == edges || records[i + 1] >> 32 != chain) top[chain] = (u32)records[i];
} END

// The two clusters of each merge: of sides whose lightest edge it is, the chain's last merge or the vertex; and the merge
// before it in its chain.
KERNEL(list_merges, (const u64* records, const u32* begin, const u32* top, const u32* one, const u32* two,
                     const u32* lightest, u64 vertices, u64* left, u64* right)) {
  const u32 merge = (u32)records[i], a = one[merge], b = two[merge];
  const bool opens = begin[(u32)(records[i] >> 32)] == i;  // both sides have it as their lightest edge
  const u64 of_a = a < vertices ? a : vertices + top[a], of_b = b < vertices ? b : vertices + top[b];
  const u64 first = opens || lightest[a] == merge ? of_a : of_b, second = opens ? of_b : vertices + (u32)records[i - 1];
  left[merge] = first < second ? first : second;
  right[merge] = first < second ? second : first;
} END

// The vertices that each merge of a level's chains adds to its chain; `records` are those of the level.
KERNEL(count_added, (const u64* records, const u32* one, const u32* two, const u32* lightest, u64 vertices,
                     const u32* total, u32* added)) {
  const u32 merge = (u32)records[i], a = one[merge], b = two[merge];
  u32 sum = 0;
  if (lightest[a] == merge) sum += a < vertices ? 1 : total[a];
  if (lightest[b] == merge) sum += b < vertices ? 1 : total[b];
  added[i] = sum;
} END

// `added` has become its running sum; `first` is the place of the level's first record.
KERNEL(size_merges, (const u64* records, const u32* added, const u32* begin, const u32* top, u64 first, u32* total,
                     u32* size)) {
  const u32 chain = (u32)(records[i] >> 32), merge = (u32)records[i], start = begin[chain] - (u32)first;
  size[merge] = added[i] - (start ? added[start - 1] : 0);
  if (top[chain] == merge) total[chain] = size[merge];
} END
