// Kruskal inside ranges of vertices.
#pragma once
#include "harness.hpp"

namespace {

// A third of the edges end in vertex 0, so that most are cut; the others get near ends. V: the type of ids.
template <typename V> void ranges(const Graph& drawn) {
  Graph graph = drawn;
  for (u64 i = 0; i < graph.size(); ++i)
    if (i % 3) graph.target[i] = std::min(graph.source[i] + graph.target[i] % 9, graph.vertices - 1);
  const Forest forest(graph);
  const u32 width = 4;
  const u64 length = graph.size(), block = 50, blocks = (length + block - 1) / block;
  const u64 count = (graph.vertices + 15) / 16;
  const std::vector<V> source(graph.source.begin(), graph.source.end()), target(graph.target.begin(), graph.target.end());
  std::vector<u64> counts((count + 1) * blocks), places(counts.size()), starts(count + 2, length);
  launch_count_ranges(V(), blocks, source.data(), target.data(), length, block, width, count, counts.data(), blocks);
  std::exclusive_scan(counts.begin(), counts.end(), places.begin(), 0ull);
  for (u64 range = 0; range <= count; ++range) starts[range] = places[range * blocks];
  std::vector<u64> records(length), ends(length), room(THREADS * (5 * length + 16));
  launch_scatter_ranges(V(), blocks, source.data(), target.data(), graph.weight.data(), length, block, width, count,
                        places.data(), blocks, records.data(), ends.data());
  std::vector<u32> parent(graph.vertices), limit(graph.vertices, ~0u);
  std::vector<u8> marks(length);
  u32 next = 0;
  const u64 cut = starts[count];
  launch_limit_ends(length - cut, records.data() + cut, ends.data() + cut, limit.data(), marks.data());
  launch_solve_ranges(THREADS, starts.data(), count, graph.vertices, width, 2, nullptr, records.data(), ends.data(),
                      length, room.data(), parent.data(), limit.data(), marks.data(), &next);
  std::vector<u64> chosen(words(length)), rest(words(length));
  launch_flag_marks(chosen.size(), marks.data(), length, chosen.data(), rest.data());
  for (u32 row : order_by_weight(graph)) {  // the rest joins what the ranges have left apart
    if (!flagged(rest, row)) continue;
    const u32 a = find(parent, graph.source[row]), b = find(parent, graph.target[row]);
    if (a == b) continue;
    parent[std::max(a, b)] = std::min(a, b);
    set_flag(chosen.data(), row);
  }
  CHECK(forest.equals(chosen));
}

}  // namespace
