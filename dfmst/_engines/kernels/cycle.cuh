// The cycle property: an edge that is the heaviest of a cycle is in no minimum spanning forest. The heaviest edge of a
// path comes from the forest's Kruskal tree (kruskal_tree.cuh), or is bounded from above by levels of it.

// First row that a minimum spanning forest cannot leave out: its ends lie in different trees, or it comes before the
// heaviest edge of the forest's path between them. The two last links bound that edge from above, which decides most
// rows.
KERNEL_OF(K, find_lighter, (const u32* source, const u32* target, const K* key, const u32* row, const u64* top,
                            const u64* link, const K* ranked_key, const u32* ranked_row, u32* first)) {
  fetch_links(source, target, top, link, i, count);
  const u32 u = source[i], v = target[i];
  if (u == v) return;
  const u64 a = top[u], b = top[v];
  if (a >> 32 == b >> 32) {
    const u32 bound = (u32)a < (u32)b ? (u32)b : (u32)a;
    if (key[i] > ranked_key[bound]) return;
    const u32 rank = heaviest_link(link, u, v);
    if (key[i] > ranked_key[rank] || (key[i] == ranked_key[rank] && row[i] > ranked_row[rank])) return;
  }
  atomic_min(first, row[i]);
} END

// The later of the levels (join_levels) of an edge's ends; 0 for a self-loop, 255 between two trees. `tree` is null
// where all levels below 255 are those of one tree.
KERNEL_OF(V, latest_levels, (const V* source, const V* target, const u8* level, const u32* tree, u8* latest)) {
  const u8 a = level[source[i]], b = level[target[i]];
  u8 later = a < b ? b : a;
  if (tree && later != 255 && tree[source[i]] != tree[target[i]]) later = 255;
  latest[i] = source[i] == target[i] ? 0 : later;
} END

// Edges that come before the forest has joined their ends: their key is below the limit of their level (latest_levels),
// or equals it where `ties` is 1. Edges of level 255 all are such edges.
KERNEL_OF(W, flag_unjoined, (const W* weight, u64 flip, u64 edges, const u8* latest, const u64* limit, u32 ties,
                             u64* flags)) {
  const u64 length = word_length(i, edges), begin = i * 64;
  u64 word = 0;
  for (u64 j = 0; j < length; ++j) {
    const u64 key = key_of(weight[begin + j], flip), most = limit[latest[begin + j]];
    word |= (u64)(key < most || (key == most && ties) || latest[begin + j] == 255) << j;
  }
  flags[i] = word;
} END
