// Boruvka and Prim.
#pragma once
#include "columns.hpp"

namespace {

template <typename K> void drop_parallel(const Graph& graph) {
  const std::vector<K> key(graph.weight.begin(), graph.weight.end());
  std::vector<u64> code(graph.size()), lightest(words(graph.size()));
  launch_pair_codes(graph.size(), graph.source.data(), graph.target.data(), graph.vertices, code.data());
  std::vector<u32> order = iota(graph.size());
  std::stable_sort(order.begin(), order.end(), [&](u32 a, u32 b) { return code[a] < code[b]; });
  launch_flag_lightest_in_runs(K(), graph.size(), code.data(), order.data(), graph.size(), key.data(),
                               lightest.data());
  CHECK(ones(lightest) == std::set<u64>(code.begin(), code.end()).size());
  std::vector<u64> best((u64)graph.vertices * graph.vertices, NONE), again(lightest.size());
  launch_lightest_by_code(K(), graph.size(), code.data(), key.data(), best.data());
  launch_flag_best(best.size(), best.data(), again.data());
  CHECK(again == lightest);
}

template <typename K> void boruvka(const Graph& graph) {
  const std::vector<K> key(graph.weight.begin(), graph.weight.end());
  std::vector<u32> source = graph.source, target = graph.target, parent = iota(graph.vertices);
  const std::vector<u32> row = iota(graph.size());
  std::vector<u64> chosen(words(graph.size())), roots(words(graph.vertices));
  const Forest forest(graph);
  u64 before = 0, components = graph.vertices;
  while (before != components) {
    std::vector<u64> best(graph.vertices, NONE);
    launch_lightest_edges(K(), source.size(), source.data(), target.data(), key.data(), parent.data(), best.data());
    launch_hook(parent.size(), source.data(), target.data(), best.data(), row.data(), parent.data(), chosen.data());
    jump(parent);
    launch_flag_roots(roots.size(), parent.data(), parent.size(), roots.data());
    before = components;
    components = ones(roots);
    CHECK(ones(chosen) == graph.vertices - components);
  }
  CHECK(forest.equals(chosen));

  std::vector<u32> root, rank(graph.vertices), label(graph.vertices);
  for (u32 vertex = 0; vertex < graph.vertices; ++vertex)
    if (parent[vertex] == vertex) root.push_back(vertex);
  launch_rank_roots(root.size(), root.data(), rank.data());
  launch_gather_ranks(parent.size(), parent.data(), rank.data(), label.data());
  for (u32 vertex = 0; vertex < graph.vertices; ++vertex) CHECK(root[label[vertex]] == parent[vertex]);
  drop_parallel<K>(graph);
}

// Every vertex's edges, self-loops left out.
struct Lists {
  std::vector<u64> offset;
  std::vector<u32> edge, other;

  explicit Lists(const Graph& graph) : offset(graph.vertices + 1) {
    for (u32 vertex = 0; vertex < graph.vertices; ++vertex) {
      for (u32 row = 0; row < graph.size(); ++row) {
        const u32 a = graph.source[row], b = graph.target[row];
        if (a == b || (a != vertex && b != vertex)) continue;
        edge.push_back(row);
        other.push_back(a == vertex ? b : a);
      }
      offset[vertex + 1] = edge.size();
    }
  }
};

// Half of the vertices are hubs, whose neighbors are offered by several threads.
template <typename K> void prim_by_queues(const Graph& graph, const Lists& lists, const Forest& forest) {
  const u32 queues = 12, vertices = graph.vertices, hub = 4;
  std::vector<K> key, nearest(vertices, (K)~0ull);
  for (u32 row : lists.edge) key.push_back(graph.weight[row]);
  std::vector<u64> heaps(2 * queues * graph.size()), starts, sizes(queues), state(5), rows(words(graph.size()));
  for (u32 queue = 0; queue < queues; ++queue) starts.push_back(queue * graph.size());
  std::vector<u32> edge_of(vertices, ~0u), chosen(vertices);
  std::vector<u8> in_tree(vertices);
  launch_grow_trees(K(), 1, lists.offset.data(), lists.edge.data(), lists.other.data(), key.data(), vertices, hub,
                    heaps.data(), starts.data(), sizes.data(), queues, nearest.data(), edge_of.data(), in_tree.data(),
                    chosen.data(), state.data());
  u64 hubs = 0;
  for (u32 vertex = 0; vertex < vertices; ++vertex) hubs += lists.offset[vertex + 1] - lists.offset[vertex] >= hub;
  CHECK(state[3] == hubs);
  launch_flag_chosen(state[0], chosen.data(), nullptr, nullptr, nullptr, rows.data());
  CHECK(forest.equals(rows));
}

template <typename K>
void prim_by_reduction(const Graph& graph, const Lists& lists, const Forest& forest, bool in_one_call) {
  const u32 vertices = graph.vertices, most = 20;
  const std::vector<K> key(graph.weight.begin(), graph.weight.end());
  std::vector<u64> lightest(vertices, NONE), value(most), state(3), spent(3), rows(words(graph.size()));
  std::vector<u32> index(most), vertex = iota(vertices), place = vertex, chosen(vertices);
  std::vector<K> list_key;
  for (u32 row : lists.edge) list_key.push_back(key[row]);
  std::vector<u64> spans(vertices), pairs(list_key.size() * sizeof(K) / 4);
  launch_list_spans(vertices, lists.offset.data(), spans.data());
  launch_list_pairs(K(), list_key.size(), lists.other.data(), list_key.data(), pairs.data());
  if (in_one_call)
    launch_reduce_rounds(K(), 1, lists.offset.data(), lists.edge.data(), lists.other.data(), list_key.data(),
                         spans.data(), pairs.data(), vertices, most, GRAIN, key.data(), lightest.data(), vertex.data(), place.data(), value.data(), index.data(),
                         chosen.data(), state.data(), spent.data());
  for (u32 front = 0; !in_one_call && front < vertices; ++front) {
    launch_least_of_groups(K(), 32 * most, lightest.data(), front, vertices, most, key.data(), value.data(),
                           index.data());
    launch_join_lightest(K(), 32, value.data(), index.data(), most, front, key.data(), lightest.data(), vertex.data(),
                         place.data(), chosen.data(), state.data());
    launch_relax_neighbors(K(), 50, lists.offset.data(), lists.edge.data(), lists.other.data(), list_key.data(),
                            spans.data(), front % 2 ? pairs.data() : nullptr, 50, front, key.data(), place.data(), state.data(), lightest.data());
  }
  launch_flag_chosen(state[0], chosen.data(), nullptr, nullptr, nullptr, rows.data());
  CHECK(forest.equals(rows));
}

template <typename K> void prim(const Graph& graph) {
  const Forest forest(graph);
  const Lists lists(graph);
  prim_by_queues<K>(graph, lists, forest);
  for (bool in_one_call : {false, true}) prim_by_reduction<K>(graph, lists, forest, in_one_call);
}

}  // namespace
