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

const u32 SAMPLE = 31;  // points of which one parts the others

// A coordinate that parts points from `begin` to `end` about at `middle`: one of a sample of 3, or of more if that pays.
DEVICE f64 choose_pivot(const f64* along, i64 begin, i64 end, i64 middle, u64* draw) {
  const u64 size = (u64)(end - begin);
  const u32 drawn = size > 4096 ? SAMPLE : 3;
  f64 sample[SAMPLE];
  for (u32 k = 0; k < drawn; ++k) {
    *draw = *draw * 0x9e3779b97f4a7c15ull + 0xd1b54a32d192ed03ull;
    const f64 value = along[begin + (i64)high_half(*draw, size)];
    u32 place = k;
    for (; place && sample[place - 1] > value; --place) sample[place] = sample[place - 1];
    sample[place] = value;
  }
  const u32 at = (u32)((u64)(middle - begin) * drawn / size);  // near an end: beyond it, so that most points are parted off
  return sample[at < drawn / 3 ? at + (drawn > 3) : at > drawn - 1 - drawn / 3 ? at - (drawn > 3) : at];
}

const u32 STRETCH = 32;  // points that are compared before some are swapped

// Moves points that are not below the pivot to the end, and those that are not above it to the beginning, as long as
// there are stretches between `left` and `right`. Places to swap are noted first, without a branch.
DEVICE void part_stretches(f64* column, u32* order, u64 length, u64 axes, const f64* along, f64 pivot, i64* left,
                           i64* right) {
  u8 upper[STRETCH], lower[STRETCH];
  u32 uppers = 0, lowers = 0, upper_done = 0, lower_done = 0;
  while (*right - *left >= 2 * (i64)STRETCH) {
    if (upper_done == uppers) {
      upper_done = uppers = 0;
      for (u32 k = 0; k < STRETCH; ++k) {
        upper[uppers] = (u8)k;
        uppers += !(along[*left + k] < pivot);
      }
    }
    if (lower_done == lowers) {
      lower_done = lowers = 0;
      for (u32 k = 0; k < STRETCH; ++k) {
        lower[lowers] = (u8)k;
        lowers += !(along[*right - k] > pivot);
      }
    }
    while (upper_done < uppers && lower_done < lowers)
      swap_points(column, order, length, axes, (u64)(*left + upper[upper_done++]), (u64)(*right - lower[lower_done++]));
    if (upper_done == uppers) *left += STRETCH;
    if (lower_done == lowers) *right -= STRETCH;
  }
}

// Hoare's selection: the points before `middle` are then none above, those from it on none below, along an axis.
DEVICE void select_middle(f64* column, u32* order, u64 length, u64 axes, u64 axis, i64 begin, i64 end, i64 middle) {
  const f64* const along = column + axis * length;
  u64 draw = (u64)begin;
  while (end - begin > 1) {
    const f64 pivot = choose_pivot(along, begin, end, middle, &draw);
    i64 left = begin, right = end - 1;
    part_stretches(column, order, length, axes, along, pivot, &left, &right);
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

// The least and the largest coordinate of points, several at a time.
DEVICE void bound_points(const f64* along, u64 begin, u64 end, f64* low, f64* high) {
  f64 least[LANES], most[LANES];
  UNROLL
  for (u32 j = 0; j < LANES; ++j) least[j] = most[j] = along[begin];
  u64 p = begin;
  for (; p + LANES <= end; p += LANES) {
    UNROLL
    for (u32 j = 0; j < LANES; ++j) {
      least[j] = along[p + j] < least[j] ? along[p + j] : least[j];
      most[j] = along[p + j] > most[j] ? along[p + j] : most[j];
    }
  }
  for (; p < end; ++p) {
    least[0] = along[p] < least[0] ? along[p] : least[0];
    most[0] = along[p] > most[0] ? along[p] : most[0];
  }
  for (u32 j = 1; j < LANES; ++j) {
    least[0] = least[j] < least[0] ? least[j] : least[0];
    most[0] = most[j] > most[0] ? most[j] : most[0];
  }
  *low = least[0];
  *high = most[0];
}

// Boxes of the nodes at one depth; those above the leaves are cut in two across their longest side.
HOST_KERNEL(split_points, (f64* column, u32* order, u64 length, u64 axes, u64 at, u64 depth, f64* box, u32* axis,
                           f64* cut)) {
  const u64 node = (1ull << at) + i, begin = first_position(length, node, at), end = first_position(length, node + 1, at);
  f64 *const low = box + 2 * node * axes, *const high = low + axes;
  u64 longest = 0;
  f64 length_of = -1;
  for (u64 a = 0; a < axes; ++a) {
    bound_points(column + a * length, begin, end, &low[a], &high[a]);
    if (high[a] - low[a] > length_of) {
      length_of = high[a] - low[a];
      longest = a;
    }
  }
  if (at == depth) return;
  const u64 middle = first_position(length, 2 * node + 1, at + 1);
  select_middle(column, order, length, axes, longest, (i64)begin, (i64)end, (i64)middle);
  axis[node] = (u32)longest;
  cut[node] = column[longest * length + middle];
} END

// Puts a point into a list of the nearest ones so far, nearest first; slots that are free are infinitely far. (To move
// all slots without a branch took as long.)
DEVICE void insert_point(const u32* order, u64 wanted, u32* near, f64* far, u32 p, f64 distance) {
  u64 place = wanted;
  for (; place && (far[place - 1] > distance || (far[place - 1] == distance && order[near[place - 1]] > order[p]));
       --place)
    if (place < wanted) {
      far[place] = far[place - 1];
      near[place] = near[place - 1];
    }
  if (place == wanted) return;
  far[place] = distance;
  near[place] = p;
}

DEVICE f64 largest_of(const f64* limit, u64 points) {
  f64 most[LANES];
  UNROLL
  for (u32 j = 0; j < LANES; ++j) most[j] = limit[j];
  for (u64 k = LANES; k < points; k += LANES) {
    UNROLL
    for (u32 j = 0; j < LANES; ++j) most[j] = limit[k + j] > most[j] ? limit[k + j] : most[j];
  }
  for (u32 j = 1; j < LANES; ++j) most[0] = most[j] > most[0] ? most[j] : most[0];
  return most[0];
}

// Lists the nearest points of those from `begin` to `end`: one point, or `whole` leaf. They walk around it together, as
// far as one of them needs, and each looks into the leaves that it needs.
template <u32 A>
DEVICE void find_nearest(const PointTree& tree, bool whole, u64 leaf, u64 begin, u64 end, u64 wanted, u32* near,
                         f64* far) {
  const u64 points = end - begin;
  const f64 infinite = real_of(0x7ff0000000000000ull), *const corner = tree.box + 2 * leaf * axes_of<A>(tree);
  f64 limit[TOGETHER], most = infinite;  // sums beyond which nothing matters: of each point, and of all
  for (u64 k = 0; k < (whole ? TOGETHER : 1); ++k) limit[k] = k < points ? infinite : -infinite;
  const Origin<A> origin = origin_at<A>(tree, begin);
  for (u64 k = 0; k < points * wanted; ++k) {
    near[k] = ~0u;
    far[k] = infinite;
  }
  walk_tree(
      tree, leaf, tree.depth, [](u64) { return true; },
      [&](u64 node) {
        return whole ? sum_of_boxes<A>(tree, leaf, node) <= most : is_near<A>(tree, origin, node, most);
      },
      [&](u64 node) {
        const u64 a = tree.axis[node];
        return (whole ? corner[a] : tree.column[a * tree.length + begin]) >= tree.cut[node];
      },
      [&](u64 other) {
        const u64 from = first_position(tree.length, other, tree.depth);
        const u64 to = first_position(tree.length, other + 1, tree.depth);
        bool some = false;
        for (u64 first = 0; first < points; first += LANES)
          for (u32 close = whole ? lanes_near<A>(tree, begin + first, other, limit + first) : 1; close;
               close &= close - 1) {
            const u64 k = first + lowest_bit(close), i = begin + k;
            u32* const own = near + k * wanted;
            f64* const apart = far + k * wanted;
            scan_leaf<A>(tree, tree.column + i, from, to, limit[k], [&](u64 p, f64 sum) {
              if (p == i) return;
              insert_point(tree.order, wanted, own, apart, (u32)p, distance_of<A>(tree, sum));
              limit[k] = largest_sum<A>(tree, apart[wanted - 1]);
            });
            some = true;
          }
        if (some) most = whole ? largest_of(limit, points) : limit[0];
      });
}

// The nearest points of every point from position `start` on, nearest first, as positions; there are more than `wanted`
// points. `reach` is the distance of the last one.
KERNEL(nearest_points, (const f64* column, const u32* order, u64 length, u64 axes, u64 depth,
                        const f64* box, const u32* axis, const f64* cut, u64 norm, const f64* period, u64 wanted,
                        u64 start, u32* neighbor, f64* distance, f64* reach)) {
  const PointTree tree{column, order, length, axes, depth, box, axis, cut, norm, period};
  const u64 begin = start + i, leaf = (1ull << depth) + (((begin + 1) << depth) - 1) / length;
  u32* const near = neighbor + i * wanted;
  f64* const far = distance + i * wanted;
  BY_AXES(tree, find_nearest, tree, false, leaf, begin, begin + 1, wanted, near, far);
  reach[i] = far[wanted - 1];
} END

// The same for the points of every leaf from `start` on, which look for neighbors together.
HOST_KERNEL(nearest_to_leaves, (const f64* column, const u32* order, u64 length, u64 axes, u64 depth,
                                const f64* box, const u32* axis, const f64* cut, u64 norm, const f64* period,
                                u64 wanted, u64 start, u32* neighbor, f64* distance, f64* reach)) {
  const PointTree tree{column, order, length, axes, depth, box, axis, cut, norm, period};
  const u64 first = (1ull << depth) + start, leaf = first + i;
  const u64 begin = first_position(length, leaf, depth), end = first_position(length, leaf + 1, depth);
  const u64 here = begin - first_position(length, first, depth);
  u32* const near = neighbor + here * wanted;
  f64* const far = distance + here * wanted;
  BY_AXES(tree, find_nearest, tree, true, leaf, begin, end, wanted, near, far);
  for (u64 k = 0; k < end - begin; ++k) reach[here + k] = far[k * wanted + wanted - 1];
} END

// ---- the host: the points of a leaf take others a few at a time, without a branch for each pair -----------------------

#ifndef __CUDACC_RTC__
const u32 SLOTS = 10;  // points that are kept for each; one more than are listed
const u64 UPPER = ~0xffffffffull, FREE = 0x7fe00000ffffffffull;  // the key of a free slot is above those of all pairs

typedef u64 SideWords __attribute__((vector_size(sizeof(u64) * SIDE)));

// Takes the points of a leaf into the slots of SIDE points from position `first` on. A slot holds a key: the upper half
// of a sum's bits, and then a position. As numbers, keys are in the order of these words; the least come first.
template <u32 A>
DEVICE void take_leaf(const PointTree& tree, u64 first, u64 begin, u64 end, f64 (*slot)[TOGETHER]) {
  Side kept[SLOTS];
  for (u32 s = 0; s < SLOTS; ++s) kept[s] = *(const SideOfColumn*)slot[s];
  for (u64 p = begin; p < end; ++p) {
    Side sum = {};
    for (u64 a = 0; a < axes_of<A>(tree); ++a) {
      const f64* const along = tree.column + a * tree.length;
      Side difference = *(const SideOfColumn*)(along + first) - along[p];
      if (A != GENERAL) sum += difference * difference;
      for (u32 j = 0; A == GENERAL && j < SIDE; ++j) {
        difference[j] = around<A>(tree, a, difference[j] < 0 ? -difference[j] : difference[j]);
        sum[j] = add_axis<A>(tree, sum[j], difference[j]);
      }
    }
    Side key = (Side)(((SideWords)sum & UPPER) | p);
    if (p - first < SIDE) key[p - first] = real_of(FREE);  // a point is not its own neighbor
    for (u32 s = 0; s < SLOTS; ++s) {
      const Side before = kept[s];
      kept[s] = key < before ? key : before;
      key = key > before ? key : before;
    }
  }
  for (u32 s = 0; s < SLOTS; ++s) *(SideOfColumn*)slot[s] = kept[s];
}

// Lists points of a column of slots, nearest first, as far as they are surely nearer than all that are not listed; and
// returns a distance that none of the latter is nearer than.
template <u32 A> DEVICE f64 list_sure(const PointTree& tree, u64 i, const f64 (*slot)[TOGETHER], u64 column, u32* near) {
  u64 key[SLOTS];
  bool parted = true;  // if upper halves differ by more than one unit, the rounded roots differ as well
  for (u32 s = 0; s < SLOTS; ++s) {
    key[s] = bits_of(slot[s][column]);
    if (s) parted &= (key[s] >> 32) - (key[s - 1] >> 32) > 1;
  }
  const f64 infinite = real_of(0x7ff0000000000000ull);
  const f64 reach = key[SLOTS - 1] < FREE ? distance_of<A>(tree, real_of(key[SLOTS - 1] & UPPER)) : infinite;
  for (u32 s = 0; s + 1 < SLOTS; ++s) near[s] = parted ? (u32)key[s] : ~0u;
  if (parted) return reach;
  f64 far[SLOTS];
  for (u32 s = 0; s + 1 < SLOTS; ++s) far[s] = infinite;
  for (u32 s = 0; s + 1 < SLOTS && key[s] < FREE; ++s) {
    const f64 distance = distance_between<A>(tree, i, (u32)key[s]);
    if (distance < reach) insert_point(tree.order, SLOTS - 1, near, far, (u32)key[s], distance);
  }
  return reach;
}

template <u32 A>
DEVICE void find_sure(const PointTree& tree, u64 leaf, u64 begin, u64 end, u32* neighbor, f64* reach) {
  const u64 points = end - begin;
  const f64* const corner = tree.box + 2 * leaf * axes_of<A>(tree);
  f64 slot[SLOTS][TOGETHER], most = real_of(FREE);
  const f64* const limit = slot[SLOTS - 1];  // sums beyond which nothing matters to each point
  for (u32 s = 0; s < SLOTS; ++s)
    for (u64 k = 0; k < (points + LANES - 1) / LANES * LANES; ++k) slot[s][k] = k < points ? most : -1;
  walk_tree(
      tree, leaf, tree.depth, [](u64) { return true; },
      [&](u64 node) { return sum_of_boxes<A>(tree, leaf, node) <= most; },
      [&](u64 node) { return corner[tree.axis[node]] >= tree.cut[node]; },
      [&](u64 other) {
        const u64 from = first_position(tree.length, other, tree.depth);
        const u64 to = first_position(tree.length, other + 1, tree.depth);
        bool some = false;
        for (u64 first = 0; first < points; first += LANES) {
          u32 close = lanes_near<A>(tree, begin + first, other, limit + first);
          for (u64 k = first; close; k += SIDE, close >>= SIDE) {
            if (!(close & ((1u << SIDE) - 1))) continue;
            take_leaf<A>(tree, begin + k, from, to, (f64(*)[TOGETHER])(slot[0] + k));
            some = true;
          }
        }
        if (some) most = largest_of(limit, points);
      });
  for (u64 k = 0; k < points; ++k)
    reach[k] = list_sure<A>(tree, begin + k, slot, k, neighbor + k * (SLOTS - 1));
}

// The nearest points of every point, for all leaves: up to SLOTS - 1 that are surely nearer than all others, nearest
// first, as positions, and ~0 behind them. None of the others is nearer than `reach`.
HOST_KERNEL(sure_neighbors, (const f64* column, const u32* order, u64 length, u64 axes, u64 depth,
                             const f64* box, const u32* axis, const f64* cut, u64 norm, const f64* period,
                             u32* neighbor, f64* reach)) {
  const PointTree tree{column, order, length, axes, depth, box, axis, cut, norm, period};
  const u64 leaf = (1ull << depth) + i;
  const u64 begin = first_position(length, leaf, depth), end = first_position(length, leaf + 1, depth);
  BY_AXES(tree, find_sure, tree, leaf, begin, end, neighbor + begin * (SLOTS - 1), reach + begin);
} END
#endif

// ---- a tree from sorted codes: its steps are flat where few threads would do most of the work of split_points ---------

DEVICE f64 of_key(u64 key) { return real_of(key >> 63 ? key ^ 1ull << 63 : ~key); }

// Morton codes: the bits of a point's place in a grid of cubes, axis by axis; all axes have the scale of the longest.
// `bounds` are two words an axis that are 0: the complement of the least coordinate's key, and the key of the largest.
STEPS(morton_codes, (u32* met, const f64* column, u64 length, u64 axes, u64 bits, u64* bounds, u64* code)) {
  Team team = TEAM;
  const u64 used = axes < 63 ? axes : 63, some = team.size() < length ? team.size() : length;
  team.each(some, [=](u64 i) {
    for (u64 a = 0; a < used; ++a) {
      u64 low = 0, high = 0;
      for (u64 p = i; p < length; p += some) {
        const u64 key = ordered(column[a * length + p]);
        low = ~key > low ? ~key : low;
        high = key > high ? key : high;
      }
      raise(&bounds[2 * a], low);
      raise(&bounds[2 * a + 1], high);
    }
  });
  team.each(length, [=](u64 i) {
    f64 extent = 0;
    for (u64 a = 0; a < used; ++a) {
      const f64 across = of_key(bounds[2 * a + 1]) - of_key(~bounds[2 * a]);
      extent = across > extent ? across : extent;
    }
    const f64 cells = (f64)(1ull << bits), most = cells - 1;
    u64 word = 0;
    for (u64 bit = bits; bit--;)
      for (u64 a = 0; a < used; ++a) {
        const f64 place = extent > 0 ? (column[a * length + i] - of_key(~bounds[2 * a])) / extent * cells : 0;
        word = word << 1 | ((u64)(place < most ? place : most) >> bit & 1);
      }
    code[i] = word;
  });
}

// Takes the points in another order, and bounds all nodes. The cut is between the middles of the halves, along the axis
// that separates them most.
STEPS(bound_nodes, (u32* met, const f64* from, const u32* order, u64 length, u64 axes, u64 depth, f64* column, f64* box,
                    u32* axis, f64* cut)) {
  Team team = TEAM;
  team.each(length, [=](u64 i) {
    for (u64 a = 0; a < axes; ++a) column[a * length + i] = from[a * length + order[i]];
  });
  team.each(1ull << depth, [=](u64 i) {
    const u64 leaf = (1ull << depth) + i, end = first_position(length, leaf + 1, depth);
    const u64 begin = first_position(length, leaf, depth);
    f64 *const low = box + 2 * leaf * axes, *const high = low + axes;
    for (u64 a = 0; a < axes; ++a) bound_points(column + a * length, begin, end, &low[a], &high[a]);
  });
  climb_tree(team, depth, [=](u64 node) {
    const f64 *const lower = box + 4 * node * axes, *const upper = lower + 2 * axes;
    f64* const mine = box + 2 * node * axes;
    f64 apart = 0;
    for (u64 a = 0; a < axes; ++a) {
      mine[a] = lower[a] < upper[a] ? lower[a] : upper[a];
      mine[axes + a] = lower[axes + a] > upper[axes + a] ? lower[axes + a] : upper[axes + a];
      const f64 one = lower[a] / 2 + lower[axes + a] / 2, other = upper[a] / 2 + upper[axes + a] / 2;
      if (a && !(other - one > apart)) continue;
      apart = other - one;
      axis[node] = (u32)a;
      cut[node] = one / 2 + other / 2;
    }
  });
}
