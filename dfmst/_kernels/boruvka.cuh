// Boruvka's rounds over edges with keys of type K.

// Each edge replaces its ends by their representatives (implicit path compression) and offers itself to both.
KERNEL_OF(K, lightest_edges, (u32* source, u32* target, const K* key, u32* parent, u64* best)) {
  const u32 a = root(parent, source[i]), b = root(parent, target[i]);
  source[i] = a;
  target[i] = b;
  if (a == b) return;
  propose(best, a, key, i);
  propose(best, b, key, i);
} END

// Every root hooks onto the other end of its lightest edge.
KERNEL(hook, (const u32* source, const u32* target, const u64* best, const u32* row, u32* parent, u64* flags)) {
  hook_root((u32)i, source, target, best, row, parent, flags);
} END

// Edges to vertices that are not owned are cut: a component whose lightest edge is one must wait. `hook` takes the row of
// that edge (~0 for all other vertices), and `best` loses it. A vertex that is not owned chooses no edge.
KERNEL(hold_cut_edges, (const u32* source, const u32* target, const u32* row, const u8* owned, u64* best, u32* hook)) {
  if (i + 16 < count) {
    const u64 next = load(&best[i + 16]);  // another thread may be taking it out
    if (next != ~0ull) {
      PREFETCH(&source[(u32)next]);
      PREFETCH(&target[(u32)next]);
    }
  }
  hook[i] = ~0u;
  const u64 mine = best[i];
  if (mine == ~0ull) return;
  const u32 edge = (u32)mine, a = source[edge], other = a == i ? target[edge] : a;
  if (owned[i] && owned[other]) return;
  if (owned[i]) hook[i] = row ? row[edge] : edge;
  store(&best[i], ~0ull);
} END

// ---- groups: the lightest of the edges with equal codes is kept ----------------------------------------------------

KERNEL_OF(K, lightest_by_code, (const u64* code, const K* key, u64* best)) { propose(best, code[i], key, i); } END

// Lightest edge of the run that starts at i; `order` lists edges by code, equal codes in ascending position.
KERNEL_OF(K, flag_lightest_in_runs, (const u64* code, const u32* order, u64 length, const K* key, u64* flags)) {
  const u64 mine = code[order[i]];
  if (i && code[order[i - 1]] == mine) return;
  u32 best = order[i];
  for (u64 j = i + 1; j < length && code[order[j]] == mine; ++j)
    if (key[order[j]] < key[best]) best = order[j];
  set_flag(flags, best);
} END
