// Certificates.
#pragma once
#include "generators.hpp"

namespace {

// The edges are matched to themselves: every one of them to the first like it.
template <typename K> void match(const Graph& graph, const std::vector<K>& weight) {
  std::vector<u64> code(2 * graph.size());
  launch_pair_codes(graph.size(), graph.source.data(), graph.target.data(), graph.vertices, code.data());
  std::copy_n(code.begin(), graph.size(), code.begin() + graph.size());
  std::vector<K> both(weight);
  both.insert(both.end(), weight.begin(), weight.end());
  std::vector<u32> by_code = iota(code.size()), matched(graph.size(), ~0u);
  std::stable_sort(by_code.begin(), by_code.end(), [&](u32 a, u32 b) { return code[a] < code[b]; });
  launch_match_edges(K(), by_code.size(), code.data(), by_code.data(), by_code.size(),
                     graph.size(), both.data(), matched.data());
  for (u64 i = 0; i < matched.size(); ++i)
    CHECK(matched[i] == ~1u || (matched[i] <= i && code[matched[i]] == code[i] && weight[matched[i]] == weight[i]));
  std::vector<i64> row(graph.size());
  u64 found = 0;
  const u32* const words = (const u32*)weight.data();
  launch_match_in_order(1, graph.source.data(), graph.target.data(), 1, words, sizeof(K) / 4, graph.size(),
                        graph.source.data(), graph.target.data(), words, graph.size(), row.data(), &found);
  CHECK(found == graph.size() && std::is_sorted(row.begin(), row.end()) && row.back() + 1 == (i64)found);
}

template <typename K> void certificate(const Graph& graph) {
  const Forest forest(graph);
  const std::vector<u32> rows(forest.rows.begin(), forest.rows.end());
  const std::vector<K> weight(graph.weight.begin(), graph.weight.end());
  std::vector<u32> order = iota(rows.size()), ranked_row(rows.size());
  std::vector<K> key, ranked_key(rows.size());
  for (u32 row : rows) key.push_back(weight[row]);
  std::stable_sort(order.begin(), order.end(), [&](u32 a, u32 b) { return key[a] < key[b]; });
  u32 wrong = 0, first = ~0u;
  launch_rank_edges(K(), order.size(), order.data(), order.size(), key.data(), rows.data(), ranked_key.data(),
                    ranked_row.data(), &wrong);
  CHECK(!wrong);

  std::vector<u32> source, target, outside;
  std::vector<K> outside_key;
  for (u32 row = 0; row < graph.size(); ++row) {
    if (forest.rows.count(row)) continue;
    source.push_back(graph.source[row]);
    target.push_back(graph.target[row]);
    outside.push_back(row);
    outside_key.push_back(weight[row]);
  }
  const auto find_first = [&](const std::vector<u32>& kept) {
    const Links links(graph.vertices, ends_of(graph, kept));
    launch_find_lighter(K(), outside.size(), source.data(), target.data(), outside_key.data(), outside.data(),
                        links.top.data(), links.link.data(), ranked_key.data(), ranked_row.data(), &first);
  };
  find_first(ranked_row);
  CHECK(first == ~0u);
  find_first({});  // nothing is spanned
  CHECK((first == ~0u) == rows.empty());
  match<K>(graph, weight);
}

}  // namespace
