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

// ---- groups: the lightest of the edges with equal codes is kept ----------------------------------------------------

KERNEL_OF(K, lightest_by_code, (const u64* code, const K* key, u64* best)) { propose(best, code[i], key, i); } END

// The same for the edges that a word flags, between labels of which there are few. An id is `stride` words of 32 bits.
KERNEL_OF(W, lightest_flagged, (const u32* source, const u32* target, u32 stride, const u32* label, u64 labels,
                                const W* weight, u64 flip, const u64* flags, u64* best)) {
  if (i + 64 < count)
    for (u64 rest = flags[i + 64]; rest; rest &= rest - 1) {
      const u64 edge = (i + 64) * 64 + lowest_bit(rest);
      PREFETCH(&source[edge * stride]);
      PREFETCH(&target[edge * stride]);
      PREFETCH(&weight[edge]);
    }
  for (u64 rest = flags[i]; rest; rest &= rest - 1) {
    const u64 edge = i * 64 + lowest_bit(rest);
    const u32 a = label[source[edge * stride]], b = label[target[edge * stride]];
    propose_weight(best, (a < b ? a : b) * labels + (a < b ? b : a), weight, flip, edge);
  }
} END

// Lightest edge of the run that starts at i; `order` lists edges by code, equal codes in ascending position.
KERNEL_OF(K, flag_lightest_in_runs, (const u64* code, const u32* order, u64 length, const K* key, u64* flags)) {
  const u64 mine = code[order[i]];
  if (i && code[order[i - 1]] == mine) return;
  u32 best = order[i];
  for (u64 j = i + 1; j < length && code[order[j]] == mine; ++j)
    if (key[order[j]] < key[best]) best = order[j];
  set_flag(flags, best);
} END
