// Needs kd_tree.cuh: rounds of Borůvka's algorithm on the complete graph of a tree's points.
//
// `label` is the component of every position, its first one; `whole` is that of all points of a node, or NOWHERE. A
// point's way out is the lightest edge to another component: `other` is its end (NOWHERE: none is known), `weight` its
// weight, and `sure` whether no other way is lighter (1), or no neighbor that is known is outside (2). If the way is
// not sure, no way that is not known weighs less than `reach`. `lightest` is the least weight of a component's ways, as
// bits. A weight is the distance, or the largest of the distance and the `core` of both ends.
//
// A block is a node of the tree at `level`. If all of its points are of one component, no point of another one is
// nearer than `apart` to any of them. It is `spent` when the known neighbors of all its points are inside.

const u32 NOWHERE = ~0u;

DEVICE f64 larger(f64 a, f64 b) { return a > b ? a : b; }
DEVICE bool better_way(f64 weight, u32 to, f64 known, u32 other, const u32* order) {
  return weight < known || (weight == known && (other == NOWHERE || order[to] < order[other]));
}

struct Ways {
  u32* label;
  u32* whole;
  const f64* core;
  u32* other;
  f64* weight;
  u8* sure;
  f64* reach;
  f64* apart;
  u8* spent;
  u64* lightest;
};

template <u32 A> DEVICE f64 weight_of(const PointTree& tree, const f64* core, u64 a, u64 b) {
  const f64 distance = distance_between<A>(tree, a, b);
  return core ? larger(distance, larger(core[a], core[b])) : distance;
}

// Finds the way out of a point among its nearest points; false if all of them are inside. Without a core they come in
// the order of their weights: the first one outside is sure, and points before `next` have joined. The others weigh at
// least as much as the way so far: they wait until the component has no lighter way.
template <u32 A>
DEVICE bool find_known(const PointTree& tree, const Ways& ways, const u32* neighbor, u64 wanted, u8* next, u64 p) {
  const u32 mine = ways.label[p];
  if (ways.other[p] == NOWHERE || ways.label[ways.other[p]] == mine) {
    if (!ways.core && ways.weight[p] > real_of(load(&ways.lightest[mine]))) return true;
    if (ways.sure[p]) ways.reach[p] = larger(ways.reach[p], ways.weight[p]);
    u32 to = NOWHERE;
    f64 least = real_of(0x7ff0000000000000ull);
    const u32* const near = neighbor + p * wanted;
    u64 j = ways.core ? 0 : next[p];
    for (; j < wanted && (ways.core || to == NOWHERE) && near[j] != NOWHERE; ++j) {
      if (ways.label[near[j]] == mine) continue;
      const f64 weight = weight_of<A>(tree, ways.core, p, near[j]);
      if (!better_way(weight, near[j], least, to, tree.order)) continue;
      least = weight;
      to = near[j];
    }
    next[p] = (u8)j;
    ways.other[p] = to;
    ways.weight[p] = least;
    ways.sure[p] = to == NOWHERE ? 2 : !ways.core || least < ways.reach[p];
  }
  if (ways.other[p] == NOWHERE) return false;
  const u64 bits = bits_of(ways.weight[p]);
  if (bits < load(&ways.lightest[mine])) atomic_min(&ways.lightest[mine], bits);
  return true;
}

// The component of a node above the leaves.
DEVICE void label_node(u32* whole, u64 node) {
  whole[node] = whole[2 * node] == whole[2 * node + 1] ? whole[2 * node] : NOWHERE;
}

// Components of the nodes of a block, and ways out among the nearest points of its points.
DEVICE void know_block(const PointTree& tree, const Ways& ways, const u32* neighbor, u64 wanted, u8* next, u64 block,
                       u64 level) {
  const u64 node = (1ull << level) + block, below = tree.depth - level;
  for (u64 leaf = node << below; leaf < (node + 1) << below; ++leaf) {
    const u64 end = first_position(tree.length, leaf + 1, tree.depth);
    u64 p = first_position(tree.length, leaf, tree.depth);
    const u32 first = ways.label[p];
    while (p < end && ways.label[p] == first) ++p;
    ways.whole[leaf] = p == end ? first : NOWHERE;
  }
  for (u64 up = below; up-- > 0;)
    for (u64 j = node << up; j < (node + 1) << up; ++j) label_node(ways.whole, j);
  if (ways.spent[block]) return;
  const u64 end = first_position(tree.length, node + 1, level);
  bool some = false;
  for (u64 p = first_position(tree.length, node, level); p < end; ++p)
    if (ways.sure[p] != 2) some |= BY_AXES(tree, find_known, tree, ways, neighbor, wanted, next, p);
  ways.spent[block] = !some;
}

// A block, or the highest node above it all of whose points are of the block's component.
struct Span {
  u64 node, depth;
};
DEVICE Span span_of(const u32* whole, u64 block, u64 level) {
  Span span{(1ull << level) + block, level};
  const u32 mine = whole[span.node];
  if (mine != NOWHERE)
    for (; span.depth && whole[span.node >> 1] == mine; --span.depth) span.node >>= 1;
  return span;
}

// How near a point of another component is to the box of a block of one component, as far as that is at most twice the
// component's lightest way.
template <u32 A>
DEVICE void find_gap(const PointTree& tree, const Ways& ways, u64 i, u64 level, u64* least) {
  const u32 *const label = ways.label, *const whole = ways.whole;
  const u64 block = (1ull << level) + i;
  const u32 mine = whole[block];
  if (mine == NOWHERE) return;
  const f64 bound = real_of(ways.lightest[mine]);
  if (ways.apart[i] > bound) return;
  f64 limit = largest_sum<A>(tree, 2 * bound);
  const Span span = span_of(whole, i, level);
  const auto open = [&](u64 node) { return whole[node] != mine; };
  walk_tree(
      tree, span.node, span.depth, open,
      [&](u64 node) { return open(node) && sum_of_boxes<A>(tree, block, node) <= limit; },
      [&](u64 node) { return sum_of_boxes<A>(tree, block, 2 * node + 1) < sum_of_boxes<A>(tree, block, 2 * node); },
      [&](u64 leaf) {
        const u64 end = first_position(tree.length, leaf + 1, tree.depth);
        for (u64 p = first_position(tree.length, leaf, tree.depth); p < end; ++p) {
          if (label[p] == mine) continue;
          const f64 sum = sum_to_box<A>(tree, tree.column + p, block);
          limit = sum < limit ? sum : limit;
        }
      });
  ways.apart[i] = distance_of<A>(tree, limit) * (1 - 1e-15);
  if (bits_of(ways.apart[i]) < load(&least[mine])) atomic_min(&least[mine], bits_of(ways.apart[i]));
}

// The lightest way out of a point, looked for around a span that it is in.
template <u32 A>
DEVICE bool find_way(const PointTree& tree, const Ways& ways, u64 i, const Span& span) {
  const u32 mine = ways.label[i];
  const f64 bound = real_of(load(&ways.lightest[mine]));
  if (ways.reach[i] > bound || (ways.core && ways.core[i] > bound)) return false;
  u32 to = ways.other[i] != NOWHERE && ways.weight[i] <= bound ? ways.other[i] : NOWHERE;
  f64 least = to == NOWHERE ? bound : ways.weight[i], limit = largest_sum<A>(tree, least);
  walk_points<A>(
      tree, i, span.node, span.depth, limit, [&](u64 node) { return ways.whole[node] != mine; },
      [&](u64 p, f64 sum) {
        if (ways.label[p] == mine) return;
        const f64 distance = distance_of<A>(tree, sum);
        const f64 weight = ways.core ? larger(distance, larger(ways.core[i], ways.core[p])) : distance;
        if (!better_way(weight, (u32)p, least, to, tree.order)) return;
        to = (u32)p;
        least = weight;
        limit = largest_sum<A>(tree, least);
      });
  if (to == NOWHERE) {
    ways.reach[i] = larger(ways.reach[i], least);
    return false;
  }
  ways.other[i] = to;
  ways.weight[i] = least;
  ways.sure[i] = 1;
  if (bits_of(least) < load(&ways.lightest[mine])) atomic_min(&ways.lightest[mine], bits_of(least));
  return true;
}

template <u32 A> DEVICE void find_block_ways(const PointTree& tree, const Ways& ways, u64 block, u64 level) {
  const u64 node = (1ull << level) + block, end = first_position(tree.length, node + 1, level);
  const u32 mine = ways.whole[node];
  if (mine != NOWHERE && ways.apart[block] > real_of(load(&ways.lightest[mine]))) return;
  const Span span = span_of(ways.whole, block, level);
  for (u64 p = first_position(tree.length, node, level); p < end; ++p)
    if (ways.sure[p] != 1 && find_way<A>(tree, ways, p, span)) ways.spent[block] = 0;
}

// Of a component's lightest ways the first one in the order of its ends, the smaller number first.
DEVICE void choose_way(const PointTree& tree, const Ways& ways, u64* chosen, u64 i) {
  const u32 mine = ways.label[i];
  if (ways.other[i] == NOWHERE || bits_of(ways.weight[i]) != ways.lightest[mine]) return;
  const u32 a = tree.order[i], b = tree.order[ways.other[i]];
  const u64 way = (u64)(a < b ? a : b) << 32 | (a < b ? b : a);
  if (way < load(&chosen[mine])) atomic_min(&chosen[mine], way);
}

// The rounds from `round` until `end`, or until one component is left; the first one is 0 if points are `given`, else 1.
// `pairs` are the numbers of the chosen edges' ends, by the component that an edge joins to another one; that of position 0
// is never joined. `given` (or null) are points, by number, whose components have joined before. `place` is the position of each number. `hub` (or null) is the smallest number that an edge of the weight of a
// point's core leads to, or its own. `turn` has room for the blocks. `more` is 0, and then the number of the round that
// follows, if several components are left.
STEPS(span_points, (u32* met, const f64* column, const u32* order, u64 length, u64 axes, u64 depth, const f64* box,
                    const u32* axis, const f64* cut, u64 norm, const f64* period, const f64* core, const u32* neighbor,
                    u64 wanted, f64* reach, const u32* given, u64 level, u32* place, u32* label, u32* whole, u32* other,
                    f64* weight, u8* sure, u8* next, f64* apart, u8* spent, u64* lightest, u64* chosen, u32* hub,
                    u64* pairs, u64* turn, u32 round, u32 end, u32* more)) {
  Team team = TEAM;
  (void)turn;  // of a CPU
  const PointTree tree{column, order, length, axes, depth, box, axis, cut, norm, period};
  const Ways ways{label, whole, core, other, weight, sure, reach, apart, spent, lightest};
  const u64 blocks = 1ull << level, infinite = 0x7ff0000000000000ull;
  if (round == (given ? 0 : 1)) team.each(length, [=](u64 i) {
    label[i] = (u32)i;
    place[order[i]] = (u32)i;
    other[i] = NOWHERE;
    weight[i] = 0;
    sure[i] = next[i] = 0;
    lightest[i] = infinite;
    chosen[i] = pairs[i] = ~0ull;
    if (hub) hub[i] = (u32)i;
    if (i >= blocks) return;
    apart[i] = -1;
    spent[i] = 0;
  });
  for (; round < end && !STOPPED; ++round) {
    if (round) {
      team.each(blocks, [=](u64 i) { know_block(tree, ways, neighbor, wanted, next, i, level); }, 1);
      climb_tree(team, level, [=](u64 node) { label_node(whole, node); });
      team.each(blocks, [=](u64 i) { BY_AXES(tree, find_gap, tree, ways, i, level, pairs); }, 8);
      // After a light edge, other blocks of its component need no search: those nearest to another component come first.
#ifdef __CUDACC_RTC__
      for (u32 turns = 2; turns--;)
        team.each(blocks, [=](u64 i) {
          const u32 mine = whole[blocks + i];
          const bool first = mine == NOWHERE || bits_of(apart[i]) == pairs[mine];
          if (first == (turns == 1)) BY_AXES(tree, find_block_ways, tree, ways, i, level);
        });
#else
      team.each(1, [=](u64) {
        for (u64 i = 0; i < blocks; ++i) turn[i] = i;
        sort_heap(turn, (u64*)0, blocks, [=](u64 i) { return ordered(apart[i]); });
      });
      team.each(blocks, [=](u64 i) { BY_AXES(tree, find_block_ways, tree, ways, turn[i], level); }, 1);
#endif
      team.each(length, [=](u64 i) {
        if (hub && round == 1 && weight[i] == (core ? core[i] : 0) && order[other[i]] < order[i])
          hub[order[i]] = order[other[i]];
        choose_way(tree, ways, chosen, i);
      });
    }
    team.each(length, [=](u64 i) {
      const u64 way = chosen[i];
      if (round == 0) join_sets(label, place[i], place[given[i]]);
      if (way == ~0ull) return;
      chosen[i] = ~0ull;
      lightest[i] = infinite;
      const u32 joined = join_sets(label, place[way >> 32], place[(u32)way]);
      if (joined != NOWHERE) pairs[joined] = way;
    });
    team.each(length, [=](u64 i) { shorten_path(label, i, length); });
    team.each(length, [=](u64 i) {
      if (flatten_path(label, i) != i) return;
      pairs[i] = ~0ull;
      if (i && load(more) != round + 1) store(more, round + 1);
    });
    if (load(more) != round + 1) break;
  }
}

// Distances of pairs of points, whose coordinates stand axis by axis.
KERNEL(pair_distances, (const f64* column, u64 length, u64 axes, u64 norm, const f64* period, const i64* source,
                        const i64* target, f64* distance)) {
  const PointTree tree{column, 0, length, axes, 0, 0, 0, 0, norm, period};
  distance[i] = BY_AXES(tree, weight_of, tree, 0, (u64)source[i], (u64)target[i]);
} END
