// Prim's algorithm on a matrix of the weights of all pairs: each time that the tree grows, every vertex outside of it
// reads one weight, and keeps the lightest pair that would join it. No queue, and no table of pairs.

// All weights of a square, each on both sides of the diagonal, or those above it only, row after row.
template <typename W> struct Matrix {
  const W* weight;
  u64 vertices, square;
};

// What leads from a column's number to its entry in a row.
template <typename W> DEVICE u64 start_of(const Matrix<W>& matrix, u64 row) {
  return matrix.square ? row * matrix.vertices : row * (2 * matrix.vertices - row - 1) / 2 - row - 1;
}

// The vertices outside of the tree in ascending order, and the lightest pair of each: its weight and its other vertex.
template <typename W> struct Outside {
  u32* vertex;
  W* nearest;
  u32* other;
  u64 length;
};

// The weights of the pairs of a vertex and those outside.
template <typename W> DEVICE void read_pairs(const Matrix<W>& matrix, u32 vertex, const Outside<W>& outside, W* weight) {
  const u64 start = start_of(matrix, vertex);
  u64 k = 0;
  if (!matrix.square)
    for (; k < outside.length && outside.vertex[k] < vertex; ++k)
      weight[k] = matrix.weight[start_of(matrix, outside.vertex[k]) + vertex];
  for (; k < outside.length; ++k) weight[k] = matrix.weight[start + outside.vertex[k]];
}

// Of two pairs with one vertex in common, the one with the smaller other vertex comes first.
template <typename W> DEVICE void offer_pairs(const W* weight, u32 vertex, const Outside<W>& outside) {
  W* const nearest = outside.nearest;
  u32* const other = outside.other;
  for (u64 k = 0; k < outside.length; ++k) {  // the compiler compares several at a time
    const bool nearer = (weight[k] < nearest[k]) | ((weight[k] == nearest[k]) & (vertex < other[k]));
    nearest[k] = nearer ? weight[k] : nearest[k];
    other[k] = nearer ? vertex : other[k];
  }
}

template <typename W> DEVICE W least_of(const W* weight, u64 length) {
  const u64 together = 8;  // minima next to each other, so that the compiler compares several at a time
  W least[together];
  for (u64 k = 0; k < together; ++k) least[k] = weight[0];
  u64 at = 0;
  for (; at + together <= length; at += together)
    for (u64 k = 0; k < together; ++k) least[k] = weight[at + k] < least[k] ? weight[at + k] : least[k];
  for (; at < length; ++at) least[0] = weight[at] < least[0] ? weight[at] : least[0];
  for (u64 k = 1; k < together; ++k) least[0] = least[k] < least[0] ? least[k] : least[0];
  return least[0];
}

// The place outside of the lightest pair, of equal ones the first by smaller vertex, then by larger one. Only spans with
// the least weight are read twice.
template <typename W> DEVICE u64 lightest_place(const Outside<W>& outside) {
  const u64 most = 64, span = outside.length / most < 64 ? 64 : (outside.length + most - 1) / most;
  W least[most];
  u64 spans = 0;
  for (u64 at = 0; at < outside.length; at += span)
    least[spans++] = least_of(outside.nearest + at, outside.length - at < span ? outside.length - at : span);
  const W weight = least_of(least, spans);
  u64 first = ~0ull, place = 0;
  for (u64 at = 0; at < spans; ++at) {
    if (least[at] != weight) continue;
    const u64 end = (at + 1) * span < outside.length ? (at + 1) * span : outside.length;
    for (u64 k = at * span; k < end; ++k) {
      if (outside.nearest[k] != weight) continue;
      const u32 a = outside.vertex[k], b = outside.other[k];
      const u64 pair = a < b ? (u64)a << 32 | b : (u64)b << 32 | a;
      if (pair >= first) continue;
      first = pair;
      place = k;
    }
  }
  return place;
}

template <typename T> DEVICE void remove_at(T* column, u64 place, u64 length) {
  for (u64 k = place; k + 1 < length; ++k) column[k] = column[k + 1];
}

// Writes the tree's pairs, the smaller vertex in the upper half of a word, in the order in which they join it. Of as many
// entries as there are vertices: `offered`, `nearest`, `other`, `vertex`. No weight is NaN.
HOST_KERNEL_OF(W, span_matrix, (const W* weight, u64 vertices, u64 square, W* offered, W* nearest, u32* other,
                                u32* vertex, u64* pairs)) {
  const Matrix<W> matrix = {weight, vertices, square};
  Outside<W> outside = {vertex, nearest, other, vertices - 1};
  for (u64 k = 0; k < outside.length; ++k) {
    vertex[k] = (u32)(k + 1);
    other[k] = 0;
  }
  read_pairs(matrix, 0, outside, nearest);
  for (u64 turn = 0; outside.length; ++turn) {
    if (STOPPED_AT(turn)) return;
    const u64 place = lightest_place(outside);
    const u32 joined = vertex[place], from = other[place];
    pairs[turn] = joined < from ? (u64)joined << 32 | from : (u64)from << 32 | joined;
    remove_at(vertex, place, outside.length);
    remove_at(nearest, place, outside.length);
    remove_at(other, place, outside.length);
    --outside.length;
    read_pairs(matrix, joined, outside, offered);
    offer_pairs(offered, joined, outside);
  }
} END
