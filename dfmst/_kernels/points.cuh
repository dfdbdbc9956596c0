// A kd-tree of points: their nearest neighbours, and the rounds of Borůvka's algorithm on the complete graph of them.
//
// The points stand in the tree's order, at positions below `length`; `order` holds their numbers outside. Node 1 is the
// tree's root, nodes 2 * node and 2 * node + 1 are the halves of a node: node 2^t + j covers the positions from
// length * j >> t on. Leaves all lie at depth `depth`. `box` bounds the points of every node: the least coordinates, axis
// by axis, and then the largest.
//
// A distance is the rounded root of the sum of squares, added up axis by axis. A box is never farther, by the same sums,
// than the points in it: every step rounds in order. Of equal distances the point of the smaller number counts as nearer.

// Coordinates stand column by column in `column`, whose end is padded by LANES entries, and point by point in `point`.
struct PointTree {
  const f64 *column, *point;
  const u32* order;
  u64 length, axes, depth;
  const f64* box;
  const u32* axis;
  const f64* cut;
};

const u32 NOWHERE = ~0u;
#ifdef __CUDACC_RTC__
const u32 LANES = 1;  // squares that are summed at a time
#else
const u32 LANES = 8;
#endif

DEVICE u64 first_position(u64 length, u64 node, u64 depth) { return length * (node - (1ull << depth)) >> depth; }

DEVICE void swap_points(f64* column, u32* order, u64 length, u64 axes, u64 a, u64 b) {
  for (u64 axis = 0; axis < axes; ++axis) {
    f64* const here = column + axis * length;
    const f64 kept = here[a];
    here[a] = here[b];
    here[b] = kept;
  }
  const u32 kept = order[a];
  order[a] = order[b];
  order[b] = kept;
}

DEVICE f64 middle_of(f64 a, f64 b, f64 c) {
  const f64 low = a < b ? a : b, high = a < b ? b : a;
  return c < low ? low : c < high ? c : high;
}

// Hoare's selection: the points before `middle` are then none above, those from it on none below, along an axis.
DEVICE void select_middle(f64* column, u32* order, u64 length, u64 axes, u64 axis, i64 begin, i64 end, i64 middle) {
  const f64* const along = column + axis * length;
  u64 draw = (u64)begin;
  while (end - begin > 1) {
    f64 sample[3];
    UNROLL
    for (u32 j = 0; j < 3; ++j) {
      draw = draw * 0x9e3779b97f4a7c15ull + 0xd1b54a32d192ed03ull;
      sample[j] = along[begin + (i64)high_half(draw, (u64)(end - begin))];
    }
    const f64 pivot = middle_of(sample[0], sample[1], sample[2]);
    i64 left = begin, right = end - 1;
    while (left <= right) {
      while (along[left] < pivot) ++left;
      while (along[right] > pivot) --right;
      if (left <= right) swap_points(column, order, length, axes, (u64)left++, (u64)right--);
    }
    if (middle <= right) end = right + 1;
    else if (middle >= left) begin = left;
    else return;
  }
}

// Boxes of the nodes at one depth; those above the leaves are cut in two across their longest side, and the points of
// the leaves written out.
KERNEL(split_points, (f64* column, f64* point, u32* order, u64 length, u64 axes, u64 at, u64 depth, f64* box, u32* axis,
                      f64* cut)) {
  const u64 node = (1ull << at) + i, begin = first_position(length, node, at), end = first_position(length, node + 1, at);
  f64 *const low = box + 2 * node * axes, *const high = low + axes;
  u64 longest = 0;
  f64 length_of = -1;
  for (u64 a = 0; a < axes; ++a) {
    const f64* const along = column + a * length;
    f64 least = along[begin], most = least;
    for (u64 p = begin; p < end; ++p) {
      least = along[p] < least ? along[p] : least;
      most = along[p] > most ? along[p] : most;
    }
    low[a] = least;
    high[a] = most;
    if (most - least > length_of) {
      length_of = most - least;
      longest = a;
    }
  }
  if (at == depth) {
    for (u64 p = begin; p < end; ++p)
      for (u64 a = 0; a < axes; ++a) point[p * axes + a] = column[a * length + p];
    return;
  }
  const u64 middle = first_position(length, 2 * node + 1, at + 1);
  select_middle(column, order, length, axes, longest, (i64)begin, (i64)end, (i64)middle);
  axis[node] = (u32)longest;
  cut[node] = column[longest * length + middle];
} END

// The square of the distance between a point and a node's box; A is the number of axes, 0 where it is not known here.
template <u32 A> DEVICE f64 square_to_box(const PointTree& tree, const f64* point, u64 node) {
  const u64 axes = A ? A : tree.axes;
  const f64 *const low = tree.box + 2 * node * axes, *const high = low + axes;
  f64 sum = 0;
  for (u64 a = 0; a < axes; ++a) {
    const f64 below = low[a] - point[a], above = point[a] - high[a];
    const f64 gap = below > above ? below : above;
    if (gap > 0) sum += gap * gap;
  }
  return sum;
}

// take(position, square of the distance) for all points of a leaf.
template <u32 A, typename Take>
DEVICE void scan_leaf(const PointTree& tree, const f64* point, u64 begin, u64 end, Take take) {
  const u64 axes = A ? A : tree.axes;
  for (u64 first = begin; first < end; first += LANES) {
    f64 sum[LANES] = {};
    for (u64 a = 0; a < axes; ++a) {
      const f64* const along = tree.column + a * tree.length + first;
      UNROLL
      for (u32 j = 0; j < LANES; ++j) {
        const f64 difference = point[a] - along[j];
        sum[j] += difference * difference;
      }
    }
    for (u32 j = 0; j < LANES && first + j < end; ++j) take(first + j, sum[j]);
  }
}

// Goes through the leaves around the point at a position: first its own one, then from there up, the near half of a
// node before the far one. `enters(node)` tells whether a half may matter; of near halves only `opens(node)` is asked.
// Bit t of `waiting` stands for a far half, t levels above.
template <u32 A, typename Opens, typename Enters, typename Take>
DEVICE void walk_tree(const PointTree& tree, u64 position, Opens opens, Enters enters, Take take) {
  const f64* const point = tree.point + position * tree.axes;
  u64 depth = tree.depth, node = (1ull << depth) + (((position + 1) << depth) - 1) / tree.length;
  u64 waiting = (1ull << depth) - 1;
  bool open = opens(node);
  for (;;) {
    while (open && depth < tree.depth) {
      node = 2 * node + (point[tree.axis[node]] >= tree.cut[node]);
      waiting = waiting << 1 | 1;
      ++depth;
      open = opens(node);
    }
    if (open)
      scan_leaf<A>(tree, point, first_position(tree.length, node, depth), first_position(tree.length, node + 1, depth),
                   take);
    do {
      if (!waiting) return;
      const u32 up = lowest_bit(waiting);
      waiting = waiting >> up ^ 1;
      node = node >> up ^ 1;
      depth -= up;
    } while (!enters(node));
    open = true;
  }
}

// No square above it has a root that rounds to `distance` or less.
DEVICE f64 largest_square(f64 distance) { return distance * distance * (1 + 1e-15) + 1e-300; }

template <u32 A> DEVICE void find_nearest(const PointTree& tree, u64 i, u64 wanted, u32* near, f64* far) {
  const f64* const point = tree.point + i * tree.axes;
  u64 held = 0;
  f64 limit = real_of(0x7ff0000000000000ull);
  walk_tree<A>(
      tree, i, [](u64) { return true; }, [&](u64 node) { return square_to_box<A>(tree, point, node) <= limit; },
      [&](u64 p, f64 square) {
        if (square > limit || p == i) return;
        const f64 distance = square_root(square);
        const u32 number = tree.order[p];
        u64 place = held;
        while (place && (far[place - 1] > distance ||
                         (far[place - 1] == distance && tree.order[near[place - 1]] > number))) {
          if (place < wanted) {
            far[place] = far[place - 1];
            near[place] = near[place - 1];
          }
          --place;
        }
        if (place == wanted) return;
        far[place] = distance;
        near[place] = (u32)p;
        held += held < wanted;
        if (held == wanted) limit = largest_square(far[wanted - 1]);
      });
}

// The nearest points of every point, nearest first, as positions; there are more than `wanted` points.
KERNEL(nearest_points, (const f64* column, const f64* point, const u32* order, u64 length, u64 axes, u64 depth,
                        const f64* box, const u32* axis, const f64* cut, u64 wanted, u32* neighbour,
                        f64* distance)) {
  const PointTree tree{column, point, order, length, axes, depth, box, axis, cut};
  u32* const near = neighbour + i * wanted;
  f64* const far = distance + i * wanted;
  if (axes == 2) find_nearest<2>(tree, i, wanted, near, far);
  else if (axes == 3) find_nearest<3>(tree, i, wanted, near, far);
  else find_nearest<0>(tree, i, wanted, near, far);
} END

// ---- rounds --------------------------------------------------------------------------------------------------------
// `label` is the component of every position. A point's way out is the lightest edge to another component: `other` is
// its end (NOWHERE: none is known), `weight` its weight, and `sure` whether no other way is lighter (1), or no neighbour
// that is known is outside (2). Where the way is not sure, no way that is not known weighs less than `reach`. `lightest` is the least weight of a component's ways, as
// bits. A weight is the distance, or the largest of the distance and the `core` of both ends.

DEVICE f64 larger(f64 a, f64 b) { return a > b ? a : b; }
DEVICE f64 way_weight(f64 distance, const f64* core, u64 a, u64 b) {
  return core ? larger(distance, larger(core[a], core[b])) : distance;
}
DEVICE bool better_way(f64 weight, u32 to, f64 known, u32 other, const u32* order) {
  return weight < known || (weight == known && (other == NOWHERE || order[to] < order[other]));
}

KERNEL(label_leaves, (const u32* label, u64 length, u64 depth, u32* whole)) {
  const u64 node = (1ull << depth) + i, end = first_position(length, node + 1, depth);
  u64 p = first_position(length, node, depth);
  const u32 first = label[p];
  while (p < end && label[p] == first) ++p;
  whole[node] = p == end ? first : NOWHERE;
} END

// The component of all points of a node, or NOWHERE.
KERNEL(label_nodes, (u64 depth, u32* whole)) {
  const u64 node = (1ull << depth) + i;
  whole[node] = whole[2 * node] == whole[2 * node + 1] ? whole[2 * node] : NOWHERE;
} END

// Ways out among the nearest points. Where there is no core they come in the order of their weights, so that the first
// one out is sure.
KERNEL(known_ways, (const u32* label, const u32* order, const u32* neighbour, const f64* distance, u64 wanted,
                    const f64* core, u32* other, f64* weight, u8* sure, f64* reach, u64* lightest)) {
  const u32 mine = label[i];
  if (sure[i] == 2) return;
  if (other[i] == NOWHERE || label[other[i]] == mine) {
    if (sure[i]) reach[i] = larger(reach[i], weight[i]);
    u32 to = NOWHERE;
    f64 least = real_of(0x7ff0000000000000ull);
    for (u64 j = i * wanted; j < (i + 1) * wanted && (core || to == NOWHERE); ++j) {
      if (label[neighbour[j]] == mine) continue;
      const f64 found = way_weight(distance[j], core, i, neighbour[j]);
      if (!better_way(found, neighbour[j], least, to, order)) continue;
      least = found;
      to = neighbour[j];
    }
    other[i] = to;
    weight[i] = least;
    sure[i] = to == NOWHERE ? 2 : !core || least < reach[i];
  }
  if (other[i] != NOWHERE && bits_of(weight[i]) < load(&lightest[mine])) atomic_min(&lightest[mine], bits_of(weight[i]));
} END

struct Ways {
  const u32* label;
  const u32* whole;
  const f64* core;
  u32* other;
  f64* weight;
  u8* sure;
  f64* reach;
  u64* lightest;
};

template <u32 A> DEVICE void find_way(const PointTree& tree, u64 i, const Ways& ways) {
  const u32 mine = ways.label[i];
  const f64 bound = real_of(load(&ways.lightest[mine]));
  if (ways.reach[i] > bound || (ways.core && ways.core[i] > bound)) return;
  const f64* const point = tree.point + i * tree.axes;
  u32 to = ways.other[i] != NOWHERE && ways.weight[i] <= bound ? ways.other[i] : NOWHERE;
  f64 least = to == NOWHERE ? bound : ways.weight[i], limit = largest_square(least);
  walk_tree<A>(
      tree, i, [&](u64 node) { return ways.whole[node] != mine; },
      [&](u64 node) { return ways.whole[node] != mine && square_to_box<A>(tree, point, node) <= limit; },
      [&](u64 p, f64 square) {
        if (square > limit || ways.label[p] == mine) return;
        const f64 found = way_weight(square_root(square), ways.core, i, p);
        if (!better_way(found, (u32)p, least, to, tree.order)) return;
        to = (u32)p;
        least = found;
        limit = largest_square(least);
      });
  if (to == NOWHERE) {
    ways.reach[i] = larger(ways.reach[i], bound);
    return;
  }
  ways.other[i] = to;
  ways.weight[i] = least;
  ways.sure[i] = 1;
  if (bits_of(least) < load(&ways.lightest[mine])) atomic_min(&ways.lightest[mine], bits_of(least));
}

// The way out of every point that may have its component's lightest, where it is not sure.
KERNEL(find_ways, (const f64* column, const f64* point, const u32* order, u64 length, u64 axes, u64 depth,
                   const f64* box, const u32* axis, const f64* cut, const u32* label, const u32* whole,
                   const f64* core, u32* other, f64* weight, u8* sure, f64* reach, u64* lightest)) {
  if (sure[i] == 1) return;
  const PointTree tree{column, point, order, length, axes, depth, box, axis, cut};
  const Ways ways{label, whole, core, other, weight, sure, reach, lightest};
  if (axes == 2) find_way<2>(tree, i, ways);
  else if (axes == 3) find_way<3>(tree, i, ways);
  else find_way<0>(tree, i, ways);
} END

// Of a component's lightest ways the first one in the order of its ends, the smaller number first.
KERNEL(first_ways, (const u32* label, const u32* order, const u32* other, const f64* weight, const u64* lightest,
                    u64* chosen)) {
  if (other[i] == NOWHERE || bits_of(weight[i]) != lightest[label[i]]) return;
  const u32 a = order[i], b = order[other[i]];
  const u64 way = (u64)(a < b ? a : b) << 32 | (a < b ? b : a);
  if (way < load(&chosen[label[i]])) atomic_min(&chosen[label[i]], way);
} END
