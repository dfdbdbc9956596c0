// Generators.
#pragma once
#include "rounds.hpp"

namespace {

void numbers(u64 length) {
  std::vector<f64> doubles(length);
  std::vector<f32> floats(length);
  std::vector<i32> integers(length);
  std::vector<u64> bounded(length), some(words(length));
  launch_draw_f64(length, 1, doubles.data());
  launch_draw_f32(length, 1, floats.data());
  launch_draw_i32(length, 1, integers.data());
  launch_draw_below(length, 1, 10, bounded.data());
  launch_draw_flags(some.size(), 1, 1ull << 52, length, some.data());
  for (u64 i = 0; i < length; ++i) {
    CHECK(doubles[i] >= floats[i] && doubles[i] - floats[i] < 1e-7 && doubles[i] < 1);
    CHECK(bounded[i] == (u64)(doubles[i] * 10) && integers[i] == (i32)(doubles[i] * 2147483648.0));
    CHECK(flagged(some, i) == (doubles[i] < 0.5));
  }
}

// Ends that a generator's kernels fill.
struct Ends {
  std::vector<i64> source, target;

  explicit Ends(u64 length) : source(length, -1), target(length, -1) {}
  bool below(i64 vertices) const {
    const auto fits = [&](i64 vertex) { return vertex >= 0 && vertex < vertices; };
    return std::all_of(source.begin(), source.end(), fits) && std::all_of(target.begin(), target.end(), fits);
  }
};

void places(u64 vertices) {
  const u64 grid = words(2 * 10 * vertices);
  std::vector<u64> flags(grid), place, end(vertices, vertices), offset(vertices), begin, clique(vertices);
  launch_flag_grid(grid, 1, 1ull << 53, 10, vertices, flags.data());
  for (u64 at = 0; at < 20 * vertices; ++at)
    if (flagged(flags, at)) place.push_back(at);
  CHECK(place.size() == 19 * vertices - 10);
  Ends streets(place.size()), pairs(vertices * (vertices - 1) / 2), links(vertices);
  launch_grid_edges(place.size(), place.data(), vertices, streets.source.data(), streets.target.data());
  CHECK(streets.below(10 * vertices));
  for (u64 i = 1; i < vertices; ++i) offset[i] = offset[i - 1] + vertices - i;
  launch_clique_edges(vertices, end.data(), offset.data(), pairs.source.data(), pairs.target.data());
  CHECK(pairs.below(vertices));
  std::vector<f64> distance(pairs.source.size());
  launch_distances(distance.size(), 1, 3, pairs.source.data(), pairs.target.data(), distance.data());
  CHECK(std::all_of(distance.begin(), distance.end(), [](f64 d) { return d > 0 && d < 1.8; }));
  for (u64 i = 0; i <= vertices; ++i) begin.push_back(i);
  for (u64 i = 0; i < vertices; ++i) clique[i] = i;
  launch_clique_links(vertices, 1, clique.data(), clique.data(), begin.data(), vertices, 1, links.source.data(),
                      links.target.data());
  for (u64 i = 0; i < vertices; ++i) CHECK(links.target[i] == (i64)((i + 1) % vertices));
}

void connected(u64 vertices) {
  const u64 pairs = vertices * (vertices - 1) / 2;
  std::vector<i64> parent(vertices, -1);
  std::vector<u64> children(words(vertices)), outside(words(pairs)), vertex, position;
  launch_tree_parents(vertices, 1, vertices, 3, parent.data());  // a permutation of 2^(2 * 3) places
  launch_flag_not_own_parent(children.size(), parent.data(), vertices, children.data());
  for (u64 at = 0; at < vertices; ++at)
    if (flagged(children, at)) vertex.push_back(at);
  CHECK(vertex.size() == vertices - 1);
  Ends tree(vertex.size()), all(pairs), rest(pairs - vertex.size());
  launch_tree_edges(vertex.size(), vertex.data(), parent.data(), tree.source.data(), tree.target.data());
  launch_distinct_pairs(pairs, 1, pairs, 5, all.source.data(), all.target.data());
  launch_flag_outside_tree(outside.size(), all.source.data(), all.target.data(), pairs, parent.data(), outside.data());
  for (u64 at = 0; at < pairs; ++at)
    if (flagged(outside, at)) position.push_back(at);
  CHECK(position.size() == rest.source.size());
  launch_gather_pairs(position.size(), position.data(), all.source.data(), all.target.data(), rest.source.data(),
                      rest.target.data());
  CHECK(tree.below(vertices) && all.below(vertices) && rest.below(vertices));
}

void generate(const Graph& graph) {
  const u64 length = graph.size();
  numbers(length);
  places(30);
  connected(40);
  Ends ends(length);
  std::vector<i32> weight(length);
  launch_random_pairs(length, 1, 50, ends.source.data(), ends.target.data());
  CHECK(ends.below(50));
  launch_rmat_edges(length, 1, 9, 1ull << 31, 3ull << 30, 7ull << 29, 2, ends.source.data(), ends.target.data());
  CHECK(ends.below(512));
  launch_ring_edges(length, 1, length / 2, 2, 1ull << 52, ends.source.data(), ends.target.data());
  CHECK(ends.below(length / 2));
  launch_hash24(length, ends.source.data(), ends.target.data(), weight.data());
  CHECK(std::all_of(weight.begin(), weight.end(), [](i32 w) { return w > 0 && w <= 1 << 24; }));
}

}  // namespace
