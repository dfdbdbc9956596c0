// Adjacency lists and partial Prim.
#pragma once
#include "certificates.hpp"

namespace {

template <typename K = u32> struct Incidence {
  std::vector<u64> offset;
  std::vector<u32> edge, other;
  std::vector<K> key;

  Incidence(const Graph& graph, const std::vector<u32>& order) : offset(graph.vertices + 1) {
    std::vector<u64> records(2 * graph.size());
    launch_incidence_records(records.size(), graph.source.data(), graph.target.data(), order.data(), graph.vertices,
                             records.data());
    std::stable_sort(records.begin(), records.end(), [](u64 a, u64 b) { return a >> 32 < b >> 32; });
    launch_list_offsets(records.size() + 1, records.data(), records.size(), graph.vertices, offset.data());
    edge.resize(offset.back());
    other.resize(offset.back());
    std::vector<u32> ends(graph.size());
    for (u64 i = 0; i < graph.size(); ++i) ends[i] = graph.source[i] ^ graph.target[i];
    key.resize(offset.back());
    const std::vector<K> edge_key(graph.weight.begin(), graph.weight.end());
    launch_list_entries(K(), edge.size(), records.data(), ends.data(), edge_key.data(), edge.data(), other.data(),
                        key.data());
  }
};

void adjacency(const Graph& graph) {
  const Incidence<u32> lists(graph, order_by_weight(graph));
  for (u32 vertex = 0; vertex < graph.vertices; ++vertex)
    for (u64 i = lists.offset[vertex]; i < lists.offset[vertex + 1]; ++i) {
      CHECK(lists.key[i] == graph.weight[lists.edge[i]]);
      CHECK((graph.source[lists.edge[i]] ^ graph.target[lists.edge[i]] ^ lists.other[i]) == vertex);
      CHECK(i == lists.offset[vertex] || graph.weight[lists.edge[i - 1]] <= graph.weight[lists.edge[i]]);
    }
}

// What subtrees have joined, and its rows: a part of the forest, without a cycle.
void check_growth(const Graph& graph, std::vector<u32> parent, const std::vector<u64>& chosen) {
  const Forest forest(graph);
  launch_break_cycles(parent.size(), parent.data());
  jump(parent);
  u64 joined = 0;
  for (u32 vertex = 0; vertex < graph.vertices; ++vertex) {
    joined += parent[vertex] != vertex;
    CHECK(forest.parent[parent[vertex]] == forest.parent[vertex]);
  }
  CHECK(ones(chosen) == joined);
  for (u64 i = 0; i < graph.size(); ++i) CHECK(!flagged(chosen, i) || forest.rows.count(i));
}

template <typename K> void grow(const Graph& graph, u64 span, u32 sorted, u32 other_way) {
  const Incidence<K> lists(graph, sorted ? order_by_weight(graph) : iota(graph.size()));
  const u64 parts = (graph.vertices + span - 1) / span;
  std::vector<K> heap_key(parts * span);
  const std::vector<u32> row = iota(graph.size());
  std::vector<u32> tree(graph.vertices, ~0u), parent = iota(graph.vertices), colour = tree;
  std::vector<u32> taken(graph.vertices, ~0u);
  std::vector<u64> heap_entry(parts * span), chosen(words(graph.size()));
  const auto flag = [&] {
    launch_flag_taken(taken.size(), taken.data(), lists.edge.data(), row.data(), chosen.data());
    taken.assign(taken.size(), ~0u);
  };
  u64 conflicts = 0;
  launch_grow_subtrees(K(), parts, lists.offset.data(), lists.edge.data(), lists.other.data(), lists.key.data(),
                       graph.vertices, span, sorted, other_way, tree.data(), parent.data(), heap_key.data(),
                       heap_entry.data(), taken.data(), &conflicts);
  flag();
  check_growth(graph, parent, chosen);
  if (!sorted) {
    parent = iota(graph.vertices);
    chosen.assign(chosen.size(), 0);
    launch_hook_lightest(K(), parent.size(), lists.offset.data(), lists.other.data(), lists.key.data(), parent.data(),
                         taken.data());
    flag();
    check_growth(graph, parent, chosen);
    return;
  }
  tree.assign(graph.vertices, ~0u);
  parent = iota(graph.vertices);
  chosen.assign(chosen.size(), 0);
  launch_grow_apart(K(), parts, lists.offset.data(), lists.edge.data(), lists.other.data(), lists.key.data(),
                    graph.vertices, span, other_way, colour.data(), tree.data(), parent.data(), heap_key.data(),
                    heap_entry.data(), taken.data(), &conflicts);
  flag();
  check_growth(graph, parent, chosen);
  launch_hook_unvisited(parent.size(), lists.offset.data(), lists.other.data(), tree.data(), parent.data(),
                        taken.data());
  flag();
  check_growth(graph, parent, chosen);
}

template <typename K> void partial_prim(const Graph& graph) {
  for (u64 span : {2, 7, 100})
    for (u32 sorted : {0u, 1u})
      for (u32 other_way : {0u, 1u}) grow<K>(graph, span, sorted, other_way);  // scan or heap, with and without colours
}

}  // namespace
