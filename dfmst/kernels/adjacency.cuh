// Kernels that turn an edge table into adjacency lists.

// One record for each end of each edge: the vertex to sort by, then the edge. Records are made in the order of the
// edges (`order`: that of their weights), and a stable sort by vertex keeps it within every list. A self-loop goes to
// a vertex beyond the last, and so behind every list.
KERNEL(incidence_records, (const u32* source, const u32* target, const u32* order, u64 vertices, u64* records)) {
  const u32 edge = order ? order[i >> 1] : (u32)(i >> 1);
  const u32 a = source[edge], b = target[edge];
  records[i] = (a == b ? vertices : (u64)(i & 1 ? b : a)) << 32 | (u64)edge;
} END

// Where vertex i's list begins among the sorted records: a binary search, so that runs of vertices without edges
// cost no more than others.
KERNEL(list_offsets, (const u64* records, u64 length, u64* offset)) {
  u64 low = 0, high = length;
  while (low < high) {
    const u64 middle = low + (high - low) / 2;
    if (records[middle] >> 32 < i)
      low = middle + 1;
    else
      high = middle;
  }
  offset[i] = low;
} END

KERNEL(list_entries, (const u64* records, const u32* source, const u32* target, u32* edge, u32* other)) {
  const u32 at = (u32)records[i];
  edge[i] = at;
  other[i] = source[at] ^ target[at] ^ (u32)(records[i] >> 32);
} END
