// The lightest edges of Mastiff's components, over edges with keys of type K (u32 or u64).

// An edge for the component at one of its ends; an exempt one takes none. No branch tells the two apart: where half of
// the ends are exempt, a mispredicted one costs more than the comparison.
DEVICE void NAME(offer)(u64* best, u32 component, u32 exempt, const K* key, u64 edge) {
  const u64 candidate = (sizeof(K) == 4 ? (u64)key[edge] << 32 | edge : edge) | (0 - (u64)exempt);
  for (u64 seen = load(&best[component]); lighter(candidate, seen, key);) {
    const u64 found = compare_swap(&best[component], seen, candidate);
    if (found == seen) return;
    seen = found;
  }
}

// One word of 64 edges: each offers itself to the components of its ends, which it carries on in `first` and `second`.
// `parent` leads from the ends to these (none: they are the ends). All are known before the first is offered an edge,
// so that the misses in `best` overlap. `touched` counts the ends that look at an edge: those of exempt components do
// not.
KERNEL(lightest_of_roots, (const u32* source, const u32* target, const K* key, u64 edges, const u32* parent,
                           const u8* exempt, u32* first, u32* second, u64* best, u8* touched)) {
  const u64 begin = i * 64, end = begin + word_length(i, edges);
  u64 crossing = 0;
  u32 looks = 0;
  for (u64 j = begin; j < end; ++j) {
    const u32 u = source[j], v = target[j], a = parent ? parent[u] : u, b = parent ? parent[v] : v;
    first[j] = a;
    second[j] = b;
    PREFETCH(&best[a]);
    PREFETCH(&best[b]);
    looks += 2 - exempt[a] - exempt[b];
    crossing |= (u64)(a != b) << (j - begin);
  }
  for (; crossing; crossing &= crossing - 1) {
    const u64 edge = begin + lowest_bit(crossing);
    NAME(offer)(best, first[edge], exempt[first[edge]], key, edge);
    NAME(offer)(best, second[edge], exempt[second[edge]], key, edge);
  }
  touched[i] = (u8)looks;
} END
