// BSP/CGM: the strut.

// Every edge proposes itself to both of its ends: u_i and its two edges of the bipartite graph, without that graph.
// Edges ahead are prefetched, so that misses in `best` overlap.
KERNEL_OF(K, propose_to_ends, (const u32* source, const u32* target, const K* key, u64* best)) {
  if (i + 32 < count) {
    PREFETCH(&best[source[i + 32]]);
    PREFETCH(&best[target[i + 32]]);
  }
  const u32 a = source[i], b = target[i];
  if (a == b) return;
  propose(best, a, key, i);
  propose(best, b, key, i);
} END
