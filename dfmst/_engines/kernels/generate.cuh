// The graph generators. A random number is a hash of its stream and its number in it, so that any index draws its own
// and every engine draws the same. Chances are out of 2^53.

DEVICE u64 mix(u64 x) {  // the finalizer of SplitMix64 (Steele, Lea, Flood 2014)
  x = (x ^ x >> 30) * 0xBF58476D1CE4E5B9ull;
  x = (x ^ x >> 27) * 0x94D049BB133111EBull;
  return x ^ x >> 31;
}

DEVICE u64 draw(u64 stream, u64 counter) { return mix(stream + (counter + 1) * 0x9E3779B97F4A7C15ull); }

DEVICE bool happens(u64 stream, u64 counter, u64 chance) { return draw(stream, counter) >> 11 < chance; }

// Uniform below `bound`, which is at most 2^32: the high word of a product.
DEVICE u64 below(u64 number, u64 bound) {
  return ((number >> 32) * bound + ((number & 0xFFFFFFFFull) * bound >> 32)) >> 32;
}

// Uniform among the vertices other than `vertex`.
DEVICE i64 another(u64 number, u64 vertices, u64 vertex) {
  const u64 found = below(number, vertices - 1);
  return (i64)(found + (found >= vertex));
}

// A pseudo-random permutation of [0, length): a Feistel network over twice `half` bits, walked along its cycle until it
// comes back below `length`.
DEVICE u64 permuted(u64 stream, u64 at, u64 length, u32 half) {
  const u64 mask = (1ull << half) - 1;
  do {
    u64 left = at >> half, right = at & mask;
    for (u32 round = 0; round < 6; ++round) {
      const u64 next = left ^ (draw(stream + round, right) & mask);
      left = right;
      right = next;
    }
    at = left << half | right;
  } while (at >= length);
  return at;
}

// ---- numbers -------------------------------------------------------------------------------------------------------

KERNEL(draw_f64, (u64 stream, f64* number)) {
  number[i] = (f64)(draw(stream, i) >> 11) * (1.0 / 9007199254740992.0);  // 2^-53
} END
KERNEL(draw_f32, (u64 stream, f32* number)) {
  number[i] = (f32)(draw(stream, i) >> 40) * (1.0f / 16777216.0f);  // 2^-24
} END
KERNEL(draw_i32, (u64 stream, i32* number)) { number[i] = (i32)(draw(stream, i) >> 33); } END
KERNEL(draw_below, (u64 stream, u64 bound, u64* number)) { number[i] = below(draw(stream, i), bound); } END

KERNEL(draw_flags, (u64 stream, u64 chance, u64 length, u64* flags)) {
  const u64 bits = word_length(i, length);
  u64 word = 0;
  for (u64 j = 0; j < bits; ++j) word |= (u64)happens(stream, i * 64 + j, chance) << j;
  flags[i] = word;
} END

// 24 bits of a hash of both ends, the same for either direction.
KERNEL(hash24, (const i64* source, const i64* target, i32* weight)) {
  const u64 a = source[i] < target[i] ? source[i] : target[i], b = source[i] < target[i] ? target[i] : source[i];
  u64 x = a * 0x9E3779B97F4A7C15ull + b * 0xBF58476D1CE4E5B9ull;
  x = (x ^ x >> 31) * 0x94D049BB133111EBull;
  weight[i] = (i32)((x ^ x >> 29) >> 40) + 1;
} END

// Distances of points of the unit cube. Coordinates have 24 bits, so that the squares add up exactly and the distance
// is one correctly rounded root: no engine's choice of instructions can change it.
KERNEL(distances, (u64 stream, u64 dimensions, const i64* source, const i64* target, f64* distance)) {
  u64 sum = 0;
  for (u64 axis = 0; axis < dimensions; ++axis) {
    const i64 a = (i64)(draw(stream, source[i] * dimensions + axis) >> 40);
    const i64 b = (i64)(draw(stream, target[i] * dimensions + axis) >> 40);
    sum += (u64)((a - b) * (a - b));
  }
  distance[i] = square_root((f64)sum) * (1.0 / 16777216.0);
} END

// ---- edges ---------------------------------------------------------------------------------------------------------

KERNEL(random_pairs, (u64 stream, u64 vertices, i64* source, i64* target)) {
  source[i] = (i64)below(draw(stream, 2 * i), vertices);
  target[i] = another(draw(stream, 2 * i + 1), vertices, source[i]);
} END

// One quadrant a level, drawn with 32 bits: a, ab and abc are the chances (out of 2^32) of the quadrant (0, 0), of it
// or (0, 1), and of these or (1, 0).
KERNEL(rmat_edges, (u64 stream, u32 scale, u64 a, u64 ab, u64 abc, u64 shuffle, i64* source, i64* target)) {
  const u64 vertices = 1ull << scale, pairs = (scale + 1) / 2;
  u64 u = 0, v = 0, number = 0;
  for (u32 level = 0; level < scale; ++level) {
    number = level & 1 ? number >> 32 : draw(stream, i * pairs + level / 2);
    const u64 chance = number & 0xFFFFFFFFull;
    u = u << 1 | (u64)(chance >= ab);
    v = v << 1 | (u64)((chance >= a && chance < ab) || chance >= abc);
  }
  source[i] = (i64)(shuffle ? permuted(shuffle, u, vertices, (scale + 1) / 2) : u);
  target[i] = (i64)(shuffle ? permuted(shuffle, v, vertices, (scale + 1) / 2) : v);
} END

// Edge i of a ring joins vertex i / reach to the vertex i % reach + 1 further on, or by chance to any other.
KERNEL(ring_edges, (u64 stream, u64 vertices, u64 reach, u64 chance, i64* source, i64* target)) {
  const u64 vertex = i / reach;
  source[i] = (i64)vertex;
  target[i] = happens(stream, 2 * i, chance) ? another(draw(stream, 2 * i + 1), vertices, vertex)
                                             : (i64)((vertex + i % reach + 1) % vertices);
} END

// A grid's place 2 v is the edge from vertex v to the right, 2 v + 1 the one down; there is none over the border.
KERNEL(flag_grid, (u64 stream, u64 chance, u64 rows, u64 columns, u64* flags)) {
  const u64 bits = word_length(i, 2 * rows * columns);
  u64 word = 0;
  for (u64 j = 0; j < bits; ++j) {
    const u64 at = i * 64 + j, vertex = at / 2;
    const bool inside = at & 1 ? vertex / columns + 1 < rows : vertex % columns + 1 < columns;
    word |= (u64)(inside && happens(stream, at, chance)) << j;
  }
  flags[i] = word;
} END

KERNEL(grid_edges, (const u64* place, u64 columns, i64* source, i64* target)) {
  const u64 vertex = place[i] / 2;
  source[i] = (i64)vertex;
  target[i] = (i64)(vertex + (place[i] & 1 ? columns : 1));
} END

// Vertex i's edges to the later vertices of its clique, which ends before end[i].
KERNEL(clique_edges, (const u64* end, const u64* offset, i64* source, i64* target)) {
  for (u64 other = i + 1; other < end[i]; ++other) {
    source[offset[i] + other - i - 1] = (i64)i;
    target[offset[i] + other - i - 1] = (i64)other;
  }
} END

// Links of the vertices at `place` to any vertex of the clique that lies `distance` cliques further on.
KERNEL(clique_links, (u64 stream, const u64* place, const u64* clique, const u64* begin, u64 cliques, u64 distance,
                      i64* source, i64* target)) {
  const u64 other = (clique[place[i]] + distance) % cliques, size = begin[other + 1] - begin[other];
  source[i] = (i64)place[i];
  target[i] = (i64)(begin[other] + below(draw(stream, i), size));
} END

// ---- simple connected graphs ---------------------------------------------------------------------------------------

// Vertices join a tree in random order, each under one of those before it; the first is its own parent.
KERNEL(tree_parents, (u64 stream, u64 vertices, u32 half, i64* parent)) {
  const u64 under = i ? below(draw(~stream, i), i) : 0;
  parent[permuted(stream, i, vertices, half)] = (i64)permuted(stream, under, vertices, half);
} END

KERNEL(tree_edges, (const u64* vertex, const i64* parent, i64* source, i64* target)) {
  source[i] = (i64)vertex[i];
  target[i] = parent[vertex[i]];
} END

KERNEL(flag_not_own_parent, (const i64* parent, u64 vertices, u64* flags)) {
  const u64 bits = word_length(i, vertices);
  u64 word = 0;
  for (u64 j = 0; j < bits; ++j) word |= (u64)(parent[i * 64 + j] != (i64)(i * 64 + j)) << j;
  flags[i] = word;
} END

// Pair number a + b (b - 1) / 2 is (a, b), a < b. Entry i is pair number permuted(i): all are different.
KERNEL(distinct_pairs, (u64 stream, u64 pairs, u32 half, i64* source, i64* target)) {
  const u64 number = permuted(stream, i, pairs, half);
  u64 b = (u64)((1.0 + square_root(8.0 * (f64)number + 1.0)) / 2.0);
  while (b * (b - 1) / 2 > number) --b;
  while ((b + 1) * b / 2 <= number) ++b;
  source[i] = (i64)(number - b * (b - 1) / 2);
  target[i] = (i64)b;
} END

KERNEL(flag_outside_tree, (const i64* source, const i64* target, u64 edges, const i64* parent, u64* flags)) {
  const u64 bits = word_length(i, edges);
  u64 word = 0;
  for (u64 j = 0; j < bits; ++j) {
    const i64 a = source[i * 64 + j], b = target[i * 64 + j];
    word |= (u64)(parent[a] != b && parent[b] != a) << j;
  }
  flags[i] = word;
} END

KERNEL(gather_pairs, (const u64* position, const i64* source, const i64* target, i64* first, i64* second)) {
  first[i] = source[position[i]];
  second[i] = target[position[i]];
} END
