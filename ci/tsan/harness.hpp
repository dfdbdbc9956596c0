// How a kernel is launched, the graphs, and what a kernel is compared with.
#pragma once
#include "../../dfmst/_kernels/cpu/native.cpp"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <numeric>
#include <random>
#include <set>
#include <vector>

namespace {

const u32 THREADS = 4;
const u64 GRAIN = 5;  // small, so that all threads get some of a small graph
const u64 NONE = ~0ull;

// launch_<kernel>(type, count, arguments...) for kernels with a type parameter, launch_<kernel>(count, arguments...)
// for the others.
#define TYPED(name, type)                                                           \
  template <typename... A> void launch_##name(type, u64 count, A... arguments) {    \
    name##_##type(count, THREADS, GRAIN, arguments...);                             \
  }
#define PLAIN(name)                                                                 \
  template <typename... A> void launch_##name(u64 count, A... arguments) {          \
    name(count, THREADS, GRAIN, arguments...);                                      \
  }

#define VERTICES(V) \
  TYPED(largest_id, V) TYPED(list_flags, V) TYPED(pack_ends, V) TYPED(scatter_edges, V) TYPED(gather_entries, V) \
  TYPED(flag_crossing, V) TYPED(flag_leaving, V) TYPED(flag_leaving_checked, V) TYPED(drop_joined, V) \
  TYPED(find_outside, V) TYPED(gather_labels, V) \
  TYPED(unite, V) TYPED(mark_vertices, V) TYPED(flag_doubtful, V) TYPED(mark_pairs, V) TYPED(flag_marked_pairs, V) \
  TYPED(latest_levels, V)
#define WEIGHTS(W) \
  TYPED(count_nan, W) TYPED(gather_keys, W) TYPED(flag_light, W) TYPED(flag_light_checked, W) TYPED(flag_unjoined, W)
#define KEYS(K) TYPED(pack_records, K) TYPED(leading_bits, K) TYPED(pack_low_half, K) TYPED(pack_high_half, K) TYPED(order_runs, K)
#define PRIM(K) \
  TYPED(grow_trees, K) TYPED(offer_neighbours, K) TYPED(lightest_of_lanes, K) TYPED(join_lightest, K) \
  TYPED(relax_neighbours, K)
#define BORUVKA(K) TYPED(lightest_edges, K) TYPED(flag_lightest_in_runs, K) TYPED(lightest_by_code, K)
#define PARTIAL_PRIM(K) TYPED(grow_subtrees, K) TYPED(grow_coloured, K)
#define CERTIFICATE(K) TYPED(rank_edges, K) TYPED(find_lighter, K) TYPED(match_edges, K)
#define MASTIFF(K) TYPED(lightest_of_roots, K)
#define STRUT(K) TYPED(propose_to_ends, K)

#define FILTER_BORUVKA(W) TYPED(take_edges, W) TYPED(offer_records, W)

VERTICES(u32) VERTICES(u64)
FILTER_BORUVKA(i32) FILTER_BORUVKA(u32) FILTER_BORUVKA(f32) FILTER_BORUVKA(i64) FILTER_BORUVKA(u64) FILTER_BORUVKA(f64)
WEIGHTS(i32) WEIGHTS(u32) WEIGHTS(f32) WEIGHTS(i64) WEIGHTS(u64) WEIGHTS(f64)
KEYS(u32) KEYS(u64)
BORUVKA(u32) BORUVKA(u64)
PRIM(u32) PRIM(u64)
PARTIAL_PRIM(u32) PARTIAL_PRIM(u64)
CERTIFICATE(u32) CERTIFICATE(u64)
MASTIFF(u32) MASTIFF(u64)
STRUT(u32) STRUT(u64)
PLAIN(count_ends) PLAIN(append) PLAIN(find_tops) PLAIN(settle) PLAIN(stand) PLAIN(elect)
PLAIN(count_flags) PLAIN(set_flags) PLAIN(count_digits) PLAIN(scatter_digits) PLAIN(unpack_records) PLAIN(gather_packed)
PLAIN(halve_paths) PLAIN(flatten) PLAIN(flag_roots) PLAIN(rank_roots) PLAIN(gather_ranks) PLAIN(hook)
PLAIN(scan_edges) PLAIN(scan_portion) PLAIN(count_leading) PLAIN(flag_equal) PLAIN(flag_chosen) PLAIN(gather_rows) PLAIN(gather_bytes) PLAIN(pair_codes)
PLAIN(draw_f64) PLAIN(draw_f32) PLAIN(draw_i32) PLAIN(draw_below) PLAIN(draw_flags) PLAIN(hash24) PLAIN(distances)
PLAIN(random_pairs) PLAIN(rmat_edges) PLAIN(ring_edges) PLAIN(flag_grid) PLAIN(grid_edges) PLAIN(clique_edges)
PLAIN(clique_links) PLAIN(tree_parents) PLAIN(tree_edges) PLAIN(flag_not_own_parent) PLAIN(distinct_pairs)
PLAIN(flag_outside_tree) PLAIN(gather_pairs)
PLAIN(flag_marked) PLAIN(flag_best) PLAIN(break_cycles) PLAIN(hook_unvisited)
PLAIN(incidence_records) PLAIN(list_offsets) PLAIN(list_entries)
PLAIN(join_records)
PLAIN(link_trees) PLAIN(climb) PLAIN(path_maxima) PLAIN(join_levels)

void check_(bool right, const char* what, int line) {
  if (right) return;
  std::fprintf(stderr, "tsan_driver.cpp:%d: wrong: %s\n", line, what);
  std::exit(1);
}
#define CHECK(condition) check_(condition, #condition, __LINE__)

// ---- graphs, and what a kernel is compared with -------------------------------------------------------------------

struct Graph {
  u32 vertices;
  std::vector<u32> source, target, weight;

  u64 size() const { return source.size(); }
};

// Every third edge ends in a hub, and hardly any weight is the only one of its kind.
Graph draw(u32 vertices, u64 edges, u32 seed) {
  std::mt19937 random(seed);
  Graph graph{vertices, {}, {}, {}};
  for (u64 i = 0; i < edges; ++i) {
    graph.source.push_back(i % 3 ? random() % vertices : 0);
    graph.target.push_back(random() % vertices);
    graph.weight.push_back(random() % 4);
  }
  return graph;
}

std::vector<u32> iota(u64 length) {
  std::vector<u32> numbers(length);
  std::iota(numbers.begin(), numbers.end(), 0u);
  return numbers;
}

u64 words(u64 length) { return (length + 63) / 64; }
bool flagged(const std::vector<u64>& flags, u64 at) { return flags[at / 64] >> (at % 64) & 1; }
u64 ones(const std::vector<u64>& flags) {
  u64 total = 0;
  for (u64 word : flags) total += count_ones(word);
  return total;
}

u32 find(const std::vector<u32>& parent, u32 vertex) {
  while (parent[vertex] != vertex) vertex = parent[vertex];
  return vertex;
}

std::vector<u32> order_by_weight(const Graph& graph) {
  std::vector<u32> order = iota(graph.size());
  std::stable_sort(order.begin(), order.end(), [&](u32 a, u32 b) { return graph.weight[a] < graph.weight[b]; });
  return order;
}

// Kruskal, and the components' smallest vertices.
struct Forest {
  std::vector<u32> parent;
  std::set<u32> rows;

  explicit Forest(const Graph& graph) : parent(iota(graph.vertices)) {
    for (u32 row : order_by_weight(graph)) {
      const u32 a = find(parent, graph.source[row]), b = find(parent, graph.target[row]);
      if (a == b) continue;
      parent[std::max(a, b)] = std::min(a, b);
      rows.insert(row);
    }
    for (u32& vertex : parent) vertex = find(parent, vertex);
  }

  bool equals(const std::vector<u64>& flags) const {
    return ones(flags) == rows.size() &&
           std::all_of(rows.begin(), rows.end(), [&](u32 row) { return flagged(flags, row); });
  }
};

void jump(std::vector<u32>& parent) {
  launch_halve_paths(parent.size(), parent.data());
  launch_flatten(parent.size(), parent.data());
  for (u32 vertex : parent) CHECK(parent[vertex] == vertex);
}

}  // namespace
