// A tree of points, neighbors, and the rounds that span all points.
#pragma once
#include "harness.hpp"

#include <cmath>

namespace {

struct Cloud {
  u64 length, axes, depth = 0;
  std::vector<f64> column, box, cut;
  std::vector<u32> order, axis;

  // Points of a small grid: hardly any distance is the only one of its kind.
  Cloud(u64 length, u64 axes, u32 seed, bool by_codes = false)
      : length(length), axes(axes), column(length * axes + 8), order(iota(length)) {
    std::mt19937 random(seed);
    for (u64 at = 0; at < length * axes; ++at) column[at] = random() % 40;
    while (length >> (depth + 1) >= 4) ++depth;
    box.resize((4ull << depth) * axes);
    cut.resize(1ull << depth), axis.resize(1ull << depth);
    if (by_codes) {
      sort_codes();
      return;
    }
    for (u64 at = 0; at <= depth; ++at)
      launch_split_points(1ull << at, column.data(), order.data(), length, axes, at, depth, box.data(),
                          axis.data(), cut.data());
  }

  // The tree of a GPU.
  void sort_codes() {
    std::vector<u64> code(length), bounds(2 * axes);
    const std::vector<f64> from = column;
    u32 met = 0;
    launch_morton_codes(length, &met, from.data(), length, axes, 20, bounds.data(), code.data());
    std::stable_sort(order.begin(), order.end(), [&](u32 a, u32 b) { return code[a] < code[b]; });
    launch_bound_nodes(length, &met, from.data(), order.data(), length, axes, depth, column.data(), box.data(),
                       axis.data(), cut.data());
    for (u64 a = 0; a < axes; ++a) {
      const auto [least, most] = std::minmax_element(&from[a * length], &from[(a + 1) * length]);
      CHECK(box[2 * axes + a] == *least && box[3 * axes + a] == *most);
    }
  }

  f64 distance(u64 p, u64 q) const {
    f64 sum = 0;
    for (u64 a = 0; a < axes; ++a) {
      const f64 difference = column[a * length + p] - column[a * length + q];
      sum += difference * difference;
    }
    return std::sqrt(sum);
  }

  // Prim's total weight.
  f64 spanned() const {
    std::vector<f64> nearest(length, INFINITY);
    std::vector<bool> in(length);
    f64 total = 0;
    for (u64 at = 0, steps = 0; steps < length; ++steps) {
      if (steps) {
        at = 0;
        while (in[at]) ++at;
        for (u64 q = at; q < length; ++q)
          if (!in[q] && nearest[q] < nearest[at]) at = q;
        total += nearest[at];
      }
      in[at] = true;
      for (u64 q = 0; q < length; ++q) nearest[q] = std::min(nearest[q], distance(at, q));
    }
    return total;
  }
};

void span(const Cloud& c, u64 wanted, const f64* core, const u32* given = nullptr) {
  const u64 n = c.length, level = c.depth > 2 ? c.depth - 2 : 0, blocks = 1ull << level;
  std::vector<u32> neighbor(n * wanted), place(n), label(n), other(n), hub(n), whole(2ull << c.depth);
  std::vector<f64> distance(n * wanted), weight(n), reach(n), apart(blocks);
  std::vector<u8> sure(n), spent(blocks), next(n);
  launch_nearest_points(n, c.column.data(), c.order.data(), n, c.axes, c.depth, c.box.data(),
                        c.axis.data(), c.cut.data(), 2ull, (const f64*)nullptr, wanted, 0ull, neighbor.data(), distance.data(), reach.data());
  std::vector<u32> near(n * wanted);
  std::vector<f64> far(n * wanted), last(n);
  launch_nearest_to_leaves(1ull << c.depth, c.column.data(), c.order.data(), n, c.axes, c.depth, c.box.data(),
                           c.axis.data(), c.cut.data(), 2ull, (const f64*)nullptr, wanted, 0ull, near.data(), far.data(), last.data());
  CHECK(near == neighbor && far == distance && last == reach);
  const u64 most = 9;
  std::vector<u32> first(n * most);
  launch_sure_neighbors(1ull << c.depth, c.column.data(), c.order.data(), n, c.axes, c.depth, c.box.data(),
                        c.axis.data(), c.cut.data(), 2ull, (const f64*)nullptr, first.data(), last.data());
  for (u64 at = 0; at < n * wanted; ++at) {
    const u32 found = first[at / wanted * most + at % wanted];
    CHECK(found == neighbor[at] || (found == ~0u && last[at / wanted] <= distance[at]));
  }
  for (u64 at = 1; at < n * wanted; ++at) CHECK(at % wanted == 0 || distance[at - 1] <= distance[at]);
  for (u64 p = 0; p < n; ++p) CHECK(reach[p] == distance[(p + 1) * wanted - 1]);
  std::vector<u64> lightest(n), chosen(n), pairs(n), turn(blocks);
  u32 met = 0, more = 0;
  launch_span_points(n, &met, c.column.data(), c.order.data(), n, c.axes, c.depth, c.box.data(), c.axis.data(),
                     c.cut.data(), 2ull, (const f64*)nullptr, core, neighbor.data(), wanted, reach.data(), given, level,
                     place.data(), label.data(), whole.data(), other.data(), weight.data(), sure.data(), next.data(),
                     apart.data(), spent.data(), lightest.data(), chosen.data(), hub.data(), pairs.data(), turn.data(),
                     given ? 0u : 1u, ~0u, &more);
  for (u64 p = 0; p < n; ++p) CHECK(place[c.order[p]] == p && label[p] == 0 && hub[p] <= p);
  std::vector<i64> one, other_end;
  for (u64 pair : pairs)
    if (pair != NONE) one.push_back((i64)place[pair >> 32]), other_end.push_back((i64)place[(u32)pair]);
  CHECK(one.size() + 1 + (given ? n - n / 2 : 0) == n);
  std::vector<f64> length_of(one.size());
  launch_pair_distances(one.size(), c.column.data(), n, c.axes, 2ull, (const f64*)nullptr, one.data(),
                        other_end.data(), length_of.data());
  f64 total = 0;
  for (u64 at = 0; at < length_of.size(); ++at) {
    CHECK(length_of[at] == c.distance((u64)one[at], (u64)other_end[at]));
    total += length_of[at];
  }
  if (!core && !given) CHECK(std::abs(total - c.spanned()) < 1e-6 * (1 + total));
}

void points(u64 length, u32 seed) {
  for (u64 axes : {2, 3, 5}) {
    const Cloud cloud(length, axes, seed);
    const std::vector<f64> core(length, 2);
    span(cloud, 2, nullptr);
    span(cloud, 2, core.data());
    std::vector<u32> halves = iota(length);  // each number of the upper half has joined one of the lower half
    for (u64 p = length / 2; p < length; ++p) halves[p] = (u32)(p - length / 2);
    span(cloud, 2, nullptr, halves.data());
    span(Cloud(length, axes, seed, true), 2, nullptr);
  }
}

// Places on the earth, whose distance from its center is the radius; and the arcs of half a turn and of none.
void sphere(u64 length) {
  std::vector<f64> latitude(length), longitude(length), column(3 * length), chord{0, 2 * 6371008.8};
  for (u64 p = 0; p < length; ++p) latitude[p] = (f64)(p % 181) - 90, longitude[p] = (f64)(p % 721) - 360;
  launch_place_on_sphere(length, latitude.data(), longitude.data(), length, column.data());
  for (u64 p = 0; p < length; ++p) {
    f64 sum = 0;
    for (u64 a = 0; a < 3; ++a) sum += column[a * length + p] * column[a * length + p];
    CHECK(std::abs(std::sqrt(sum) - 6371008.8) < 1e-8);
  }
  launch_arcs_of_chords(chord.size(), chord.data());
  CHECK(chord[0] == 0 && std::abs(chord[1] - 3.141592653589793 * 6371008.8) < 1e-8);
}

}  // namespace
