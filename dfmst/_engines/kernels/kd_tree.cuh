// A kd-tree of points, and the walk around one of its nodes. Files of kernels that need it say so.
//
// The points stand in the tree's order, at positions below `length`; `order` holds their numbers outside. Node 1 is the
// tree's root, nodes 2 * node and 2 * node + 1 are the halves of a node: node 2^t + j covers the positions from
// length * j >> t on. Leaves all lie at depth `depth`. `box` bounds the points of every node: the least coordinates, axis
// by axis, and then the largest.
//
// A distance is the rounded root of the sum of squares, added up axis by axis; for norm 1 it is the sum of differences,
// for norm 0 the largest of them. An axis may have a period: its coordinates are from 0 to below it, and a difference
// is at most half of it. A box is never farther, by the same steps, than the points in it: every step rounds in order.
// Of equal distances the point of the smaller number counts as nearer.

// Coordinates stand axis by axis in `column`, whose end is padded by LANES entries: those of a point lie `length` apart.
struct PointTree {
  const f64* column;
  const u32* order;
  u64 length, axes, depth;
  const f64* box;
  const u32* axis;
  const f64* cut;
  u64 norm;
  const f64* period;  // of every axis, 0 if it has none; null if no axis has one
};

#ifdef __CUDACC_RTC__
const u32 LANES = 1;          // squares that are summed at a time
[[maybe_unused]] const u32 TOGETHER = 1;  // most points that look for neighbors together
const bool UNROLLED = false;  // whether there is code of its own for two and for three axes
#define ROLLED _Pragma("unroll 1")  // steps side by side would take too many registers
#else
#define ROLLED
const u32 LANES = 8;
[[maybe_unused]] const u32 TOGETHER = 64;  // those of a leaf
const bool UNROLLED = true;
#endif

const u32 GENERAL = 4;  // in place of a number of axes: any norm and periods, instead of Euclid's distance

DEVICE bool is_general(const PointTree& tree) { return tree.norm != 2 || tree.period; }

// function<A>(...) for the number of axes of a tree.
#define BY_AXES(tree, function, ...)                                    \
  (is_general(tree)                    ? function<GENERAL>(__VA_ARGS__) \
   : UNROLLED && (tree).axes == 2      ? function<2>(__VA_ARGS__)       \
   : UNROLLED && (tree).axes == 3      ? function<3>(__VA_ARGS__)       \
                                       : function<0>(__VA_ARGS__))

template <u32 A> DEVICE u64 axes_of(const PointTree& tree) { return A && A != GENERAL ? A : tree.axes; }

// A difference along an axis, around its period if that is shorter.
template <u32 A> DEVICE f64 around(const PointTree& tree, u64 a, f64 difference) {
  if (A != GENERAL || !tree.period || !(tree.period[a] > 0)) return difference;
  const f64 other = tree.period[a] - difference;
  return other < difference ? other : difference;
}

// The sum, of squares for norm 2, with one more axis.
template <u32 A> DEVICE f64 add_axis(const PointTree& tree, f64 sum, f64 difference) {
  if (A != GENERAL || tree.norm == 2) return sum + difference * difference;
  if (tree.norm == 1) return sum + difference;
  return sum > difference ? sum : difference;
}

// The sum with one more gap. Along few axes a branch would be guessed wrong; along many, most gaps are 0.
template <u32 A> DEVICE f64 add_gap(const PointTree& tree, f64 sum, f64 gap) {
  return (A == 2 || A == 3) || gap > 0 ? add_axis<A>(tree, sum, gap) : sum;
}

template <u32 A> DEVICE f64 distance_of(const PointTree& tree, f64 sum) {
  return A != GENERAL || tree.norm == 2 ? square_root(sum) : sum;
}

// The distance of two points of the tree.
template <u32 A> DEVICE f64 distance_between(const PointTree& tree, u64 a, u64 b) {
  f64 sum = 0;
  for (u64 axis = 0; axis < axes_of<A>(tree); ++axis) {
    const f64* const along = tree.column + axis * tree.length;
    f64 difference = along[a] - along[b];
    if (A == GENERAL) difference = around<A>(tree, axis, difference < 0 ? -difference : difference);
    sum = add_axis<A>(tree, sum, difference);
  }
  return distance_of<A>(tree, sum);
}

// No sum above it belongs to a distance that rounds to `distance` or less.
template <u32 A> DEVICE f64 largest_sum(const PointTree& tree, f64 distance) {
  return A != GENERAL || tree.norm == 2 ? distance * distance * (1 + 1e-15) + 1e-300 : distance;
}

DEVICE u64 first_position(u64 length, u64 node, u64 depth) { return length * (node - (1ull << depth)) >> depth; }

// The gap between two ranges along an axis, 0 if they meet; around the period if that is shorter.
template <u32 A> DEVICE f64 gap_of(const PointTree& tree, u64 a, f64 low, f64 high, f64 other_low, f64 other_high) {
  const f64 below = low - other_high, above = other_low - high, apart = below > above ? below : above;
  const f64 gap = apart > 0 ? apart : 0;
  if (A != GENERAL || !tree.period || !(tree.period[a] > 0) || !(gap > 0)) return gap;
  const f64 across = tree.period[a] - (below > above ? high - other_low : other_high - low);
  return across < gap ? across : gap;
}

// The sum between a point and a node's box; A is the number of axes, 0 if it is not known here.
template <u32 A> DEVICE f64 sum_to_box(const PointTree& tree, const f64* point, u64 node) {
  const u64 axes = axes_of<A>(tree);
  const f64 *const low = tree.box + 2 * node * axes, *const high = low + axes;
  f64 sum = 0;
  ROLLED
  for (u64 a = 0; a < axes; ++a) {
    const f64 x = point[a * tree.length];
    sum = add_gap<A>(tree, sum, gap_of<A>(tree, a, low[a], high[a], x, x));
  }
  return sum;
}

// A point around which a walk leads. On a host, its coordinates along many axes follow each other in `row`.
[[maybe_unused]] const u32 ROW = 32;  // most axes
template <u32 A> struct Origin {
  const f64* point;
#ifndef __CUDACC_RTC__
  f64 row[A ? 1 : ROW];
#endif
};
template <u32 A> DEVICE Origin<A> origin_at(const PointTree& tree, u64 p) {
  Origin<A> origin;
  origin.point = tree.column + p;
#ifndef __CUDACC_RTC__
  for (u64 a = 0; A == 0 && a < tree.axes && a < ROW; ++a) origin.row[a] = origin.point[a * tree.length];
#endif
  return origin;
}

#ifndef __CUDACC_RTC__
const u32 SIDE = 4;  // numbers that are taken at a time: as many as a register of AVX2 holds
typedef f64 Side __attribute__((vector_size(sizeof(f64) * SIDE)));
typedef f64 SideOfColumn __attribute__((vector_size(sizeof(f64) * SIDE), aligned(sizeof(f64)), may_alias));

// The sum of squares between a point and a node's box, several axes at a time. In this order a sum may round to more than
// axis by axis: the factor makes it less than all sums of points in the box.
DEVICE f64 sum_to_row(const PointTree& tree, const f64* row, u64 node) {
  const u64 axes = tree.axes;
  const f64 *const low = tree.box + 2 * node * axes, *const high = low + axes;
  Side sums = {};
  u64 a = 0;
  for (; a + SIDE <= axes; a += SIDE) {
    const Side x = *(const SideOfColumn*)(row + a);
    const Side below = *(const SideOfColumn*)(low + a) - x, above = x - *(const SideOfColumn*)(high + a);
    const Side apart = below > above ? below : above, gap = apart > 0 ? apart : 0;
    sums += gap * gap;
  }
  f64 sum = sums[0] + sums[1] + (sums[2] + sums[3]);
  for (; a < axes; ++a) sum = add_gap<0>(tree, sum, gap_of<0>(tree, a, low[a], high[a], row[a], row[a]));
  return sum * (1 - 1e-14);
}
#endif

// Whether a node's box is within the sum `limit` of a point: if any point in it is.
template <u32 A> DEVICE bool is_near(const PointTree& tree, const Origin<A>& origin, u64 node, f64 limit) {
#ifndef __CUDACC_RTC__
  if (A == 0 && tree.axes <= ROW) return sum_to_row(tree, origin.row, node) <= limit;
#endif
  return sum_to_box<A>(tree, origin.point, node) <= limit;
}

// Which of the LANES points from `first` on are within their limits of a node's box, one bit each.
template <u32 A> DEVICE u32 lanes_near(const PointTree& tree, u64 first, u64 node, const f64* limit) {
  const u64 axes = axes_of<A>(tree);
  const f64 *const low = tree.box + 2 * node * axes, *const high = low + axes;
  f64 sum[LANES] = {};
  ROLLED
  for (u64 a = 0; a < axes; ++a) {
    const f64* const along = tree.column + a * tree.length + first;
    UNROLL
    for (u32 j = 0; j < LANES; ++j)
      sum[j] = add_axis<A>(tree, sum[j], gap_of<A>(tree, a, low[a], high[a], along[j], along[j]));
  }
  u32 near = 0;
  UNROLL
  for (u32 j = 0; j < LANES; ++j) near |= (u32)(sum[j] <= limit[j]) << j;
  return near;
}

// take(position, sum) for the points of a leaf whose sum is at most `limit`, which may fall.
template <u32 A, typename Take>
DEVICE void scan_leaf(const PointTree& tree, const f64* point, u64 begin, u64 end, const f64& limit, Take take) {
  const u64 axes = axes_of<A>(tree);
  for (u64 first = begin; first < end; first += LANES) {
    f64 sum[LANES] = {};
    ROLLED
    for (u64 a = 0; a < axes; ++a) {
      const f64* const along = tree.column + a * tree.length + first;
      const f64 x = point[a * tree.length];
      UNROLL
      for (u32 j = 0; j < LANES; ++j) {
        f64 difference = x - along[j];
        if (A == GENERAL) difference = around<A>(tree, a, difference < 0 ? -difference : difference);
        sum[j] = add_axis<A>(tree, sum[j], difference);
      }
    }
    u32 near = 0;  // one bit a lane: a branch for each would be guessed wrong
    UNROLL
    for (u32 j = 0; j < LANES; ++j) near |= (u32)(sum[j] <= limit) << j;
    if (end - first < LANES) near &= (1u << (end - first)) - 1;
    for (; near; near &= near - 1) {
      const u32 j = lowest_bit(near);
      if (sum[j] <= limit) take(first + j, sum[j]);
    }
  }
}

// The sum between the boxes of two nodes.
template <u32 A> DEVICE f64 sum_of_boxes(const PointTree& tree, u64 one, u64 other) {
  const u64 axes = axes_of<A>(tree);
  const f64 *const here = tree.box + 2 * one * axes, *const there = tree.box + 2 * other * axes;
  f64 sum = 0;
  ROLLED
  for (u64 a = 0; a < axes; ++a) {
    const f64 gap = gap_of<A>(tree, a, here[a], here[axes + a], there[a], there[axes + a]);
    sum = add_gap<A>(tree, sum, gap);
  }
  return sum;
}

// Visits the leaves around a node at `depth`: first its own ones, then those of its siblings and of its ancestors' ones.
// `enters(node)` tells whether the half beside an ancestor may matter, or the far half below it; of near halves only
// `opens(node)` is asked. `upper(node)` tells whether the upper half of a node is the near one. Bit t of `waiting` stands
// for a far half, t levels above.
template <typename Opens, typename Enters, typename Upper, typename Visit>
DEVICE void walk_tree(const PointTree& tree, u64 node, u64 depth, Opens opens, Enters enters, Upper upper, Visit visit) {
  u64 waiting = (1ull << depth) - 1;
  bool open = opens(node);
  for (;;) {
    while (open && depth < tree.depth) {
      node = 2 * node + upper(node);
      waiting = waiting << 1 | 1;
      ++depth;
      open = opens(node);
    }
    if (open) visit(node);
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

// The walk around a point that takes the points of leaves: take(position, sum), of nodes that `opens(node)` wants. What
// is farther than the sum `limit` is left out; it may fall.
template <u32 A, typename Opens, typename Take>
DEVICE void walk_points(const PointTree& tree, u64 p, u64 node, u64 depth, const f64& limit, Opens opens, Take take) {
  const Origin<A> origin = origin_at<A>(tree, p);
  const f64* const point = origin.point;
  walk_tree(
      tree, node, depth, opens,
      [&](u64 at) { return opens(at) && is_near<A>(tree, origin, at, limit); },
      [&](u64 at) { return point[tree.axis[at] * tree.length] >= tree.cut[at]; },
      [&](u64 leaf) {
        scan_leaf<A>(tree, point, first_position(tree.length, leaf, tree.depth),
                     first_position(tree.length, leaf + 1, tree.depth), limit, take);
      });
}

enum : u64 {
  CLIMBED = 4  // levels that a thread climbs before all threads wait for each other
};

// body(node) for the nodes above a depth, for each one after both of its halves.
template <typename Body> DEVICE void climb_tree(Team& team, u64 depth, const Body& body) {
  for (u64 below = depth, top; below; below = top) {
    top = below > CLIMBED ? below - CLIMBED : 0;
    team.each(1ull << top, [=](u64 i) {
      for (u64 at = below; at-- > top;)
        for (u64 j = i << (at - top); j < (i + 1) << (at - top); ++j) body((1ull << at) + j);
    });
  }
}
