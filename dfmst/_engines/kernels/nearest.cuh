// Needs kd_tree.cuh: a tree is built there, and every point's nearest neighbors are looked up in it.

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

// Boxes of the nodes at one depth; those above the leaves are cut in two across their longest side.
KERNEL(split_points, (f64* column, u32* order, u64 length, u64 axes, u64 at, u64 depth, f64* box, u32* axis,
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
  if (at == depth) return;
  const u64 middle = first_position(length, 2 * node + 1, at + 1);
  select_middle(column, order, length, axes, longest, (i64)begin, (i64)end, (i64)middle);
  axis[node] = (u32)longest;
  cut[node] = column[longest * length + middle];
} END

template <u32 A> DEVICE void find_nearest(const PointTree& tree, u64 i, u64 wanted, u32* near, f64* far) {
  const f64* const point = tree.column + i;
  const u64 leaf = (1ull << tree.depth) + (((i + 1) << tree.depth) - 1) / tree.length;
  u64 held = 0;
  f64 limit = real_of(0x7ff0000000000000ull);
  walk_points<A>(
      tree, point, leaf, tree.depth, limit, [](u64) { return true; },
      [&](u64 p, f64 sum) {
        if (p == i) return;
        const f64 distance = distance_of<A>(tree, sum);
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
        if (held == wanted) limit = largest_sum<A>(tree, far[wanted - 1]);
      });
}

// The nearest points of every point from position `begin` on, nearest first, as positions; there are more than `wanted`
// points. `reach` is the distance of the last one.
KERNEL(nearest_points, (const f64* column, const u32* order, u64 length, u64 axes, u64 depth,
                        const f64* box, const u32* axis, const f64* cut, u64 norm, const f64* period, u64 wanted,
                        u64 begin, u32* neighbor, f64* distance, f64* reach)) {
  const PointTree tree{column, order, length, axes, depth, box, axis, cut, norm, period};
  u32* const near = neighbor + i * wanted;
  f64* const far = distance + i * wanted;
  BY_AXES(tree, find_nearest, tree, begin + i, wanted, near, far);
  reach[i] = far[wanted - 1];
} END

// ---- a tree from sorted codes: its steps are flat where few threads would do most of the work of split_points ---------

// Morton codes: the bits of a point's place in a grid of cubes, axis by axis; all axes have the scale of the longest.
KERNEL(morton_codes, (const f64* column, u64 length, u64 axes, const f64* low, const f64* high, u64* code)) {
  const u64 used = axes < 63 ? axes : 63, bits = used > 2 ? 63 / used : 31;
  f64 extent = 0;
  for (u64 a = 0; a < used; ++a) extent = high[a] - low[a] > extent ? high[a] - low[a] : extent;
  const f64 cells = (f64)(1ull << bits), most = cells - 1;
  u64 word = 0;
  for (u64 bit = bits; bit--;)
    for (u64 a = 0; a < used; ++a) {
      const f64 place = extent > 0 ? (column[a * length + i] - low[a]) / extent * cells : 0;
      word = word << 1 | ((u64)(place < most ? place : most) >> bit & 1);
    }
  code[i] = word;
} END

// Coordinates of points in another order.
KERNEL(take_points, (const f64* from, const u32* order, u64 length, u64 axes, f64* column)) {
  for (u64 a = 0; a < axes; ++a) column[a * length + i] = from[a * length + order[i]];
} END

KERNEL(bound_leaves, (const f64* column, u64 length, u64 axes, u64 depth, f64* box)) {
  const u64 node = (1ull << depth) + i, end = first_position(length, node + 1, depth);
  for (u64 a = 0; a < axes; ++a) {
    const f64* const along = column + a * length;
    u64 p = first_position(length, node, depth);
    f64 least = along[p], most = least;
    for (; p < end; ++p) {
      least = along[p] < least ? along[p] : least;
      most = along[p] > most ? along[p] : most;
    }
    box[2 * node * axes + a] = least;
    box[(2 * node + 1) * axes + a] = most;
  }
} END

// Boxes of the nodes at one depth above the leaves. The cut is between the middles of the halves, where they are
// farthest apart.
KERNEL(join_boxes, (u64 axes, u64 at, f64* box, u32* axis, f64* cut)) {
  const u64 node = (1ull << at) + i;
  const f64 *const lower = box + 4 * node * axes, *const upper = lower + 2 * axes;
  f64* const mine = box + 2 * node * axes;
  f64 apart = -1;
  for (u64 a = 0; a < axes; ++a) {
    mine[a] = lower[a] < upper[a] ? lower[a] : upper[a];
    mine[axes + a] = lower[axes + a] > upper[axes + a] ? lower[axes + a] : upper[axes + a];
    const f64 one = lower[a] / 2 + lower[axes + a] / 2, other = upper[a] / 2 + upper[axes + a] / 2;
    if (!(other - one > apart)) continue;
    apart = other - one;
    axis[node] = (u32)a;
    cut[node] = one / 2 + other / 2;
  }
} END
