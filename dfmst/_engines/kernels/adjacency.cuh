// Kernels that turn an edge table into adjacency lists.

// One record for each end of each edge: the vertex, then the edge. Records follow the order of the edges (`order`: that
// of their weights), and a stable sort by vertex keeps that order within every list. A self-loop goes to a vertex
// beyond the last, and so behind every list.
KERNEL(incidence_records, (const u32* source, const u32* target, const u32* order, u64 vertices, u64* records)) {
  const u32 edge = order ? order[i >> 1] : (u32)(i >> 1);
  const u32 a = source[edge], b = target[edge];
  records[i] = (a == b ? vertices : (u64)(i & 1 ? b : a)) << 32 | (u64)edge;
} END

// The first record of a vertex sets where its list begins, and where the empty lists right before it do. Index `length`
// stands for a record behind all.
KERNEL(list_offsets, (const u64* records, u64 length, u64 vertices, u64* offset)) {
  const u64 own = i < length ? records[i] >> 32 : vertices;
  for (u64 vertex = i ? (records[i - 1] >> 32) + 1 : 0; vertex <= own; ++vertex) offset[vertex] = i;
} END

// `ends` holds the exclusive or of an edge's ends: one look-up gives the other end. The key is next to it, so that a walk
// through a list reads columns in sequence.
KERNEL_OF(K, list_entries, (const u64* records, const u32* ends, const K* edge_key, u32* edge, u32* other, K* key)) {
  const u32 at = (u32)records[i];
  edge[i] = at;
  other[i] = ends[at] ^ (u32)(records[i] >> 32);
  key[i] = edge_key[at];
} END
