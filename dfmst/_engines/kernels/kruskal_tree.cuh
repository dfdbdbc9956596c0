// The Kruskal tree of a forest: union by size without path compression, so that the order of the unions stays readable.
//
// Forest edges are linked in ascending order. link[vertex] = rank << 32 | up, where `rank` is the place in that order
// of the edge whose union hung the vertex below `up`; a root holds ~0. Ranks grow on the way up, and union by size
// keeps the depth at most log2(vertices).

// The forest's edges in ascending order. `order` is checked: `wrong` is set where an entry is out of range, or where
// two neighbors do not ascend strictly. An order without such entries is a permutation.
KERNEL_OF(K, rank_edges, (const u32* order, u64 length, const K* key, const u32* row, K* ranked_key, u32* ranked_row,
                          u32* wrong)) {
  const u32 at = order[i], before = order[i ? i - 1 : 0];
  if (at >= length || before >= length) {
    store(wrong, 1u);
    return;
  }
  ranked_key[i] = key[at];
  ranked_row[i] = row[at];
  if (i && !(key[before] < key[at] || (key[before] == key[at] && row[before] < row[at]))) store(wrong, 1u);
} END

// Index 0 does all the work. `parent` is a second forest over the same sets, with path halving, which only serves the
// finds. The first edge that joins nothing closes a cycle: its rank goes to `cycle`. As in scan_edges, a block's finds
// climb level by level, so that their cache misses overlap.
//
// With `last` (zeros), the merges of the dendrogram instead of links: edge r makes cluster vertices + r of `left` and
// `right`, the smaller number first, which has `merged` vertices. last[root] is one more than the last edge that its
// cluster took.
HOST_KERNEL(link_trees, (const u64* ends, u64 edges, u32* parent, u32* size, u64* link, u64* cycle, u64 vertices,
                         u32* last, u64* left, u64* right, u32* merged)) {
  const u32 block = 64;
  u32 first[block], second[block];
  for (u64 begin = 0; begin < edges; begin += block) {
    if (STOPPED_AT(begin / block)) return;
    const u32 length = (u32)(edges - begin < block ? edges - begin : block);
    const u64* now = ends + begin;
    for (u64 j = begin + block; j < begin + 2 * block && j < edges; ++j) {
      PREFETCH(&parent[(u32)(ends[j] >> 32)]);
      PREFETCH(&parent[(u32)ends[j]]);
    }
    for (u32 j = 0; j < length; ++j) {
      first[j] = load(&parent[(u32)(now[j] >> 32)]);
      second[j] = load(&parent[(u32)now[j]]);
    }
    for (u32 j = 0; j < length; ++j) {
      first[j] = load(&parent[first[j]]);
      second[j] = load(&parent[second[j]]);
      store(&parent[(u32)(now[j] >> 32)], first[j]);
      store(&parent[(u32)now[j]], second[j]);
      PREFETCH(&size[first[j]]);
      PREFETCH(&size[second[j]]);
      if (last) PREFETCH(&last[first[j]]);
      if (last) PREFETCH(&last[second[j]]);
    }
    for (u32 j = 0; j < length; ++j) {
      const u32 a = root(parent, first[j]), b = root(parent, second[j]);
      if (a == b) {
        *cycle = begin + j;
        return;
      }
      const u32 large = size[a] < size[b] ? b : a, small = large == a ? b : a;
      size[large] += size[small];
      store(&parent[small], large);
      if (!last) {
        link[small] = (begin + j) << 32 | large;
        continue;
      }
      const u64 one = last[large] ? vertices + last[large] - 1 : large, two = last[small] ? vertices + last[small] - 1 : small;
      left[begin + j] = one < two ? one : two;
      right[begin + j] = one < two ? two : one;
      merged[begin + j] = size[large];
      last[large] = (u32)(begin + j) + 1;
    }
  }
} END

// top[vertex] = root << 32 | rank of the last link below the root (0 at the root itself).
KERNEL(climb, (const u64* link, u64* top)) {
  if (i + 24 < count) PREFETCH(&link[(u32)link[i + 24]]);
  if (i + 12 < count && link[i + 12] != ~0ull) PREFETCH(&link[(u32)link[(u32)link[i + 12]]]);
  u64 up = link[i];
  if (up == ~0ull) {
    top[i] = i << 32;
    return;
  }
  for (u64 above = link[(u32)up]; above != ~0ull; above = link[(u32)up]) up = above;
  top[i] = up << 32 | up >> 32;
} END

// Rank of the heaviest forest edge between the ends of each edge; ~0 where they lie in different trees or are one.
KERNEL(path_maxima, (const u32* source, const u32* target, const u64* top, const u64* link, u32* heaviest)) {
  fetch_links(source, target, top, link, i, count);
  const u32 u = source[i], v = target[i];
  heaviest[i] = u == v || top[u] >> 32 != top[v] >> 32 ? ~0u : heaviest_link(link, u, v);
} END

// The level at which each vertex has joined its tree: the place, counted from 1, of the first of the ascending ranks in
// `last` that is at least the rank of the vertex's last link. 255 in a tree other than `tree` (~0: levels in all
// trees). No link has a rank above the last.
KERNEL(join_levels, (const u64* top, u32 tree, const u32* last, u32 levels, u8* level)) {
  if (tree != ~0u && (u32)(top[i] >> 32) != tree) {
    level[i] = 255;
    return;
  }
  const u32 rank = (u32)top[i];
  u32 below = 0;
  for (u32 width = levels; width;) {
    const u32 half = width / 2;
    const bool later = last[below + half] < rank;
    below = later ? below + half + 1 : below;
    width = later ? width - half - 1 : half;
  }
  level[i] = (u8)(below + 1);
} END
