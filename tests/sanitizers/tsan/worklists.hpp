// Filter-Boruvka: worklists, their rounds, and the threshold between two of them.
#pragma once
#include "mastiff.hpp"

namespace {

template <typename W> struct Worklist {
  const Graph& graph;
  const std::vector<W> weight;
  const u32 shift;  // 40 leaves no bits of a key that tell edges apart: every tie is looked up
  std::vector<u32> parent;
  std::vector<u64> best, records[2], chosen;
  u32 counters[8];  // the first list's edges, chosen edges, rounds, edges of the first and of all; the second's

  Worklist(const Graph& graph, u32 shift)
      : graph(graph), weight(graph.weight.begin(), graph.weight.end()), shift(shift), parent(graph.vertices),
        best(2 * graph.vertices), chosen(words(graph.size()), NONE) {
    for (auto& list : records) list.resize(2 * graph.size());
    begin(parent.data(), chosen.data());
  }

  u32* length(u32 now) { return &counters[now ? 5 : 0]; }
  u64* minima(u32 now) { return best.data() + now * graph.vertices; }

  void begin(u32* parents, u64* flags) {
    launch_begin_worklist(std::max<u64>(graph.vertices, graph.size()), graph.vertices, flags ? chosen.size() : 0,
                          parents, best.data(), flags, counters);
  }

  void take(const W& threshold, u64 row, u32 above) {
    std::vector<u64> giant(words(graph.vertices));
    launch_flag_equal(giant.size(), parent.data(), parent.size(), parent[0], giant.data());
    launch_take_edges(W(), (graph.size() + 255) / 256 * 32, graph.source.data(), graph.target.data(), 1, weight.data(), 0,
                      graph.size(), key_of(threshold, 0), row, above, key_of((W)1, 0), shift,
                      above ? parent.data() : nullptr, above ? giant.data() : nullptr, minima(0), records[0].data(),
                      graph.size(), &counters[0]);
  }

  void join(u32 now, u64* other, u64 cleared) {
    launch_join_records(std::max<u64>(*length(now), cleared), records[now].data(), length(now), minima(now), other,
                        cleared, parent.data(), chosen.data(), &counters[2], length(1 - now));
  }

  // A round by two launches, then the others by one.
  void solve() {
    const u32 edges = counters[0];
    for (u32 now = 0; now < 2; ++now) {
      join(now, minima(1 - now), now ? graph.vertices : 0);
      launch_offer_records(W(), (*length(now) + 127ull) / 128 * 32, records[now].data(), length(now), weight.data(), 0, shift,
                           parent.data(), minima(1 - now), records[1 - now].data(), length(1 - now));
    }
    finish();
    CHECK(counters[3] == edges && counters[4] >= edges && (counters[2] != 0) == (edges != 0));
  }

  void finish() {
    launch_finish_records(W(), graph.size(), &counters[6], records[0].data(), records[1].data(), graph.size(),
                          weight.data(), 0, shift, parent.data(), best.data(), graph.vertices, chosen.data(),
                          chosen.size(), counters);
    jump(parent);
  }
};

template <typename W> void filter_boruvka(const Graph& graph) {
  const Forest forest(graph);
  for (u32 shift : {0u, 40u}) {
    Worklist<W> work(graph, shift);
    work.take((W)1, graph.size() / 2, 0);
    work.solve();
    const u32 joined = work.counters[1];
    CHECK(joined == ones(work.chosen));
    u32 counted = 0, survivors = 0;
    launch_count_survivors(W(), graph.size(), graph.source.data(), graph.target.data(), 1, work.weight.data(), 0,
                           graph.size(), key_of((W)1, 0), graph.size() / 2, work.parent.data(), 1, &counted);
    work.begin(nullptr, nullptr);
    work.take((W)1, graph.size() / 2, 1);
    survivors = work.counters[0];
    CHECK(counted == survivors);
    work.finish();
    CHECK(work.counters[1] == ones(work.chosen) && work.counters[1] >= joined);
    CHECK(forest.equals(work.chosen) && work.parent == forest.parent);
  }
}

// Without an array of minima to clear.
void one_round(const Graph& graph) {
  Worklist<u32> work(graph, 0);
  work.take(~0u, NONE, 0);
  work.join(0, nullptr, 0);
  jump(work.parent);
  const Forest forest(graph);
  CHECK(std::all_of(forest.rows.begin(), forest.rows.end(), [&](u32 row) {
    return flagged(work.chosen, row) || work.parent[graph.source[row]] != work.parent[graph.target[row]];
  }));
}

}  // namespace
