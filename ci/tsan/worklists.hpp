// Filter-Boruvka: worklists, their rounds, and the threshold between two of them.
#pragma once
#include "mastiff.hpp"

namespace {

template <typename W> struct Worklist {
  const Graph& graph;
  const std::vector<W> weight;
  const u32 shift;  // 40 leaves no bits of a key that tell edges apart: every tie is looked up
  std::vector<u32> parent;
  std::vector<u64> best[2], records[2], chosen;
  u32 length[2] = {}, joined[2] = {};  // edges and rounds

  Worklist(const Graph& graph, u32 shift)
      : graph(graph), weight(graph.weight.begin(), graph.weight.end()), shift(shift), parent(iota(graph.vertices)),
        chosen(words(graph.size())) {
    for (u32 side = 0; side < 2; ++side) {
      best[side].assign(graph.vertices, NONE);
      records[side].resize(2 * graph.size());
    }
  }

  void take(const W& threshold, u64 row, u32 above) {
    std::vector<u64> giant(words(graph.vertices));
    launch_flag_equal(giant.size(), parent.data(), parent.size(), parent[0], giant.data());
    best[0].assign(graph.vertices, NONE);
    length[0] = 0;
    launch_take_edges(W(), (graph.size() + 7) / 8, graph.source.data(), graph.target.data(), 1, weight.data(), 0,
                      graph.size(), key_of(threshold, 0), row, above, key_of((W)1, 0), shift,
                      above ? parent.data() : nullptr, above ? giant.data() : nullptr, best[0].data(),
                      records[0].data(), graph.size(), &length[0]);
  }

  void solve() {
    for (u32 now = 0; length[now]; now = 1 - now) {
      const u32 before = joined[0], rounds = joined[1];
      launch_join_records(length[now], records[now].data(), &length[now], best[now].data(), best[1 - now].data(),
                          parent.data(), chosen.data(), joined, &length[1 - now]);
      launch_offer_records(W(), (length[now] + 3) / 4, records[now].data(), &length[now], weight.data(), 0, shift,
                           parent.data(), best[1 - now].data(), records[1 - now].data(), &length[1 - now]);
      CHECK(joined[0] != before && joined[1] == rounds + 1);
    }
    jump(parent);
  }
};

template <typename W> void filter_boruvka(const Graph& graph) {
  const Forest forest(graph);
  for (u32 shift : {0u, 40u}) {
    Worklist<W> work(graph, shift);
    work.take((W)1, graph.size() / 2, 0);
    work.solve();
    CHECK(work.joined[0] == ones(work.chosen));
    work.take((W)1, graph.size() / 2, 1);
    work.solve();
    CHECK(forest.equals(work.chosen) && work.parent == forest.parent);
  }
}

// Without an array of minima to clear.
void one_round(const Graph& graph) {
  Worklist<u32> work(graph, 0);
  work.take(~0u, NONE, 0);
  launch_join_records(work.length[0], work.records[0].data(), &work.length[0], work.best[0].data(), nullptr,
                      work.parent.data(), work.chosen.data(), work.joined, &work.length[1]);
  jump(work.parent);
  const Forest forest(graph);
  CHECK(std::all_of(forest.rows.begin(), forest.rows.end(), [&](u32 row) {
    return flagged(work.chosen, row) || work.parent[graph.source[row]] != work.parent[graph.target[row]];
  }));
}

}  // namespace
