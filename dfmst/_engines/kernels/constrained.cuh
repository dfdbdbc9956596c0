// Kruskal's scan that refuses a merge: of clusters that would be too large, or that hold equal marks.

// Whether two clusters have a mark in common: one walk writes a stamp for each mark of the first, one looks for it.
DEVICE bool share_mark(u32 a, u32 b, const u32* mark, const u32* next, u32* stamp, u32 now) {
  u32 at = a;
  do {
    if (mark[at] != ~0u) stamp[mark[at]] = now;
    at = next[at];
  } while (at != a);
  at = b;
  do {
    if (mark[at] != ~0u && stamp[mark[at]] == now) return true;
    at = next[at];
  } while (at != b);
  return false;
}

// Index 0 does all the work: rows in their order from `state[0]` to `rows`, while there are more than `wanted` of the
// `state[1]` clusters. A cluster has at most `most` vertices, and no two of one mark (~0: none); its smallest vertex is
// its root. `signature` has a bit for each mark modulo 64, and `next` leads around the vertices of a cluster.
HOST_KERNEL(merge_within, (const u32* source, const u32* target, u64 rows, u64 wanted, u64 most, const u32* mark,
                           u64 marks, u32* parent, u32* size, u64* signature, u32* next, u32* stamp, u64* state)) {
  u64 at = state[0], clusters = state[1];
  for (; at < rows && clusters > wanted; ++at) {
    if (STOPPED_AT(at)) return;
    if (at + 16 < rows) {
      PREFETCH(&parent[source[at + 16]]);
      PREFETCH(&parent[target[at + 16]]);
    }
    const u32 a = root(parent, source[at]), b = root(parent, target[at]);
    if (a == b || (u64)size[a] + size[b] > most) continue;
    const u32 low = a < b ? a : b, high = a < b ? b : a;
    if (mark) {
      if ((signature[a] & signature[b]) && (marks <= 64 || share_mark(a, b, mark, next, stamp, (u32)at + 1))) continue;
      if (marks > 64 && STOPPED_AT(0)) return;  // walks take long
      signature[low] |= signature[high];
      const u32 after = next[low];
      next[low] = next[high];
      next[high] = after;
    }
    store(&parent[high], low);
    size[low] += size[high];
    --clusters;
  }
  state[0] = at;
  state[1] = clusters;
} END
