// Mastiff and BSP.
#pragma once
#include "subtrees.hpp"

namespace {

void degrees(const Graph& graph) {
  std::vector<u32> degree(graph.vertices), expected(graph.vertices);
  launch_count_ends(graph.size(), graph.source.data(), graph.target.data(), nullptr, degree.data());
  for (u64 i = 0; i < graph.size(); ++i) {
    if (graph.source[i] == graph.target[i]) continue;
    ++expected[graph.source[i]];
    ++expected[graph.target[i]];
  }
  CHECK(degree == expected);
}

// Mastiff's columns, and the steps that follow the search for lightest edges.
struct Statuses {
  std::vector<u32> parent, group, size, winner, roots;
  std::vector<u64> largest, best;
  std::vector<u8> exempt;

  Statuses(const Graph& graph, const std::vector<u32>& labels)
      : parent(iota(graph.vertices)), group(labels), size(graph.vertices, 1), winner(graph.vertices),
        largest(graph.vertices), best(graph.vertices, NONE), exempt(graph.vertices) {
    elect(nullptr, graph.vertices);
  }

  void elect(const u32* list, u64 count) {
    std::vector<u32> next(count);
    std::vector<u64> flags(words(count));
    launch_stand(count, list, parent.data(), group.data(), size.data(), largest.data());
    launch_elect(count, list, parent.data(), group.data(), largest.data(), winner.data(), best.data(), exempt.data(),
                 next.data(), flags.data());
    std::vector<u32> looking;
    for (u64 i = 0; i < count; ++i)
      if (flagged(flags, i)) looking.push_back(next[i]);
    roots = looking;
  }

  void join(const u32* list, u64 count, const u32* first, const u32* second, u64* chosen) {
    launch_append(count, list, first, second, best.data(), nullptr, parent.data(), chosen);
    merge(list, count);
  }

  void merge(const u32* list, u64 count) {
    std::vector<u32> top(count);
    u32 depth = 0;
    launch_find_tops(count, list, parent.data(), 1, top.data(), &depth);
    if (depth > 1) launch_halve_paths(parent.size(), parent.data());
    launch_find_tops(count, list, parent.data(), ~0u, top.data(), &depth);
    launch_compress_paths(count, list, top.data(), best.data(), parent.data(), size.data());
    elect(list, count);
  }
};

template <typename K> void mastiff(const Graph& graph, bool frontier) {
  const std::vector<K> key(graph.weight.begin(), graph.weight.end());
  const Forest forest(graph);
  Statuses statuses(graph, forest.parent);
  std::vector<u32> first = graph.source, second = graph.target, listed;
  std::vector<u64> chosen(words(graph.size()));
  std::vector<u8> touched(words(graph.size()));
  for (u32 round = 0; !statuses.roots.empty(); ++round) {
    // Carried ends are components of the last round: their parents are known in either form.
    launch_lightest_of_roots(K(), touched.size(), first.data(), second.data(), key.data(), graph.size(),
                             round ? statuses.parent.data() : nullptr, statuses.exempt.data(), first.data(),
                             second.data(), statuses.best.data(), touched.data());
    const bool sparse = frontier && round;
    listed = statuses.roots;
    statuses.join(sparse ? listed.data() : nullptr, sparse ? listed.size() : graph.vertices, first.data(),
                  second.data(), chosen.data());
  }
  CHECK(forest.equals(chosen));
}

// Labels of the graph's components: two neighbors of every vertex first, then the lists outside the component of 0.
template <typename K> std::vector<u32> labels_of(const Graph& graph, const Incidence<K>& lists, const Forest& forest) {
  std::vector<u32> label = iota(graph.vertices);
  launch_unite_neighbors(graph.vertices, lists.offset.data(), lists.other.data(), 0, 2, ~0u, label.data());
  jump(label);
  const u32 giant = label[0];
  launch_unite_neighbors(graph.vertices, lists.offset.data(), lists.other.data(), 2, graph.size(), giant, label.data());
  jump(label);
  for (u32 vertex = 0; vertex < graph.vertices; ++vertex)
    CHECK((label[vertex] == label[0]) == (forest.parent[vertex] == forest.parent[0]));
  return label;
}

template <typename K> void mastiff_by_lists(const Graph& graph) {
  const std::vector<K> key(graph.weight.begin(), graph.weight.end());
  const Forest forest(graph);
  const Incidence<K> lists(graph, order_by_weight(graph));
  Statuses statuses(graph, labels_of(graph, lists, forest));
  std::vector<u32> across(graph.vertices), listed;
  std::vector<u64> chosen(words(graph.size()));
  std::vector<u8> inside(graph.vertices);
  const u64 share = 7;
  for (u32 round = 0; !statuses.roots.empty(); ++round) {
    const u32* const parent = round ? statuses.parent.data() : nullptr;
    const u32* const list = round ? listed.data() : nullptr;
    const u64 count = round ? listed.size() : graph.vertices;
    launch_lightest_in_lists(K(), (lists.edge.size() + share - 1) / share, lists.offset.data(), lists.edge.data(),
                             lists.other.data(), lists.key.data(), graph.vertices, share, 4, key.data(), parent,
                             statuses.exempt.data(), statuses.best.data(), inside.data());
    launch_find_across(count, list, graph.source.data(), graph.target.data(), statuses.best.data(),
                       statuses.parent.data(), across.data());
    launch_append_across(count, list, across.data(), statuses.best.data(), statuses.parent.data(), chosen.data());
    launch_compress_looking(graph.vertices, statuses.exempt.data(), statuses.parent.data());
    launch_add_sizes(count, list, statuses.parent.data(), statuses.size.data());
    statuses.elect(list, count);
    listed = statuses.roots;
  }
  CHECK(forest.equals(chosen));
}

template <typename K> void mastiff(const Graph& graph) {
  mastiff<K>(graph, false);
  mastiff<K>(graph, true);
  mastiff_by_lists<K>(graph);
}

template <typename K> void bsp(const Graph& graph) {
  const std::vector<K> key(graph.weight.begin(), graph.weight.end());
  std::vector<u64> best(graph.vertices, NONE), expected(graph.vertices, NONE);
  launch_propose_to_ends(K(), graph.size(), graph.source.data(), graph.target.data(), key.data(), best.data());
  for (u32 edge : order_by_weight(graph)) {
    if (graph.source[edge] == graph.target[edge]) continue;
    for (u32 end : {graph.source[edge], graph.target[edge]})
      if (expected[end] == NONE) expected[end] = edge;
  }
  for (u32 vertex = 0; vertex < graph.vertices; ++vertex)
    CHECK(best[vertex] == NONE ? expected[vertex] == NONE : (u32)best[vertex] == expected[vertex]);
}

}  // namespace
