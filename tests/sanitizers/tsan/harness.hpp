// How a kernel is launched, the graphs, and what a kernel is compared with.
#pragma once
#define DFMST_EVERY_THREAD  // also on fewer processors
#include "../../../dfmst/_engines/kernels/cpu/native.cpp"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <numeric>
#include <random>
#include <set>
#include <string>
#include <vector>

namespace {

const u32 THREADS = 4;
const u64 GRAIN = 5;  // small, so that all threads get some of a small graph
const u64 NONE = ~0ull;

// Every variant of a kernel, and whether it has run: main() fails where one has not.
std::map<std::string, std::atomic<bool>> variants;
struct Variant {
  std::atomic<bool>& ran;
  explicit Variant(const char* name) : ran(variants[name]) {}
};

// launch_<kernel>(type, count, arguments...) for kernels with a type parameter, launch_<kernel>(count, arguments...)
// for the others.
#define PLAIN(name)                                                                                     \
  Variant name##_variant(#name);                                                                        \
  template <typename... A> void launch_##name(u64 count, A... arguments) {                              \
    unit_none::name(count, THREADS, GRAIN, arguments...);                                               \
    name##_variant.ran.store(true, std::memory_order_relaxed);                                          \
  }
#define TYPED(name, type)                                                                               \
  Variant name##_##type##_variant(#name "_" #type);                                                     \
  template <typename... A> void launch_##name(type, u64 count, A... arguments) {                        \
    unit_##type::name##_##type(count, THREADS, GRAIN, arguments...);                                    \
    name##_##type##_variant.ran.store(true, std::memory_order_relaxed);                                 \
  }
#define OF_V(name) TYPED(name, u32) TYPED(name, u64)
#define OF_K(name) TYPED(name, u32) TYPED(name, u64)
#define OF_W(name) \
  TYPED(name, i32) TYPED(name, u32) TYPED(name, f32) TYPED(name, i64) TYPED(name, u64) TYPED(name, f64)

PLAIN(incidence_records) PLAIN(list_offsets) OF_K(list_entries) PLAIN(list_spans) OF_K(list_pairs)
OF_K(lightest_edges) PLAIN(hook) OF_K(lightest_by_code) OF_W(lightest_flagged) OF_W(scan_pairs) OF_K(flag_lightest_in_runs)
OF_K(propose_to_ends)
OF_W(gather_span) OF_W(gather_leading) PLAIN(number_places) PLAIN(fill_ones) PLAIN(clear_words) OF_W(survey_edges)
OF_V(gather_entries) PLAIN(gather_bytes) PLAIN(gather_rows) OF_W(gather_keys)
OF_W(sample_keys) OF_V(sample_labels) PLAIN(most_frequent) OF_K(place_of_rank) PLAIN(find_inside) PLAIN(number_sets)
OF_V(gather_labels) OF_V(mark_vertices) OF_V(pack_ends) PLAIN(pair_codes)
OF_K(find_lighter) OF_V(latest_levels) OF_W(flag_unjoined)
OF_W(take_edges) PLAIN(begin_worklist) PLAIN(join_records) OF_W(offer_records) OF_W(finish_records)
OF_W(count_survivors)
PLAIN(count_flags) OF_V(list_flags) OF_V(compact_flags) PLAIN(set_flags) PLAIN(flag_marked) PLAIN(flag_equal) PLAIN(flag_beside)
PLAIN(flag_best) PLAIN(flag_chosen) OF_V(flag_crossing) OF_V(flag_leaving) OF_V(drop_joined) OF_V(find_outside)
OF_V(flag_leaving_checked) OF_V(take_crossing) OF_V(count_crossing) OF_V(flag_doubtful) OF_W(flag_light) OF_W(flag_light_checked)
PLAIN(draw_f64) PLAIN(draw_f32) PLAIN(draw_i32) PLAIN(draw_below) PLAIN(draw_flags) PLAIN(hash24) PLAIN(distances)
PLAIN(random_pairs) PLAIN(rmat_edges) PLAIN(ring_edges) PLAIN(flag_grid) PLAIN(grid_edges) PLAIN(clique_edges)
PLAIN(clique_links) PLAIN(tree_parents) PLAIN(tree_edges) PLAIN(flag_not_own_parent) PLAIN(distinct_pairs)
PLAIN(flag_outside_tree) PLAIN(gather_pairs)
PLAIN(hash_texts) PLAIN(claim_ids) PLAIN(flag_first) PLAIN(number_ids) PLAIN(copy_texts)
PLAIN(read_numbers) PLAIN(place_ids)
PLAIN(split_points) PLAIN(nearest_points) PLAIN(nearest_to_leaves) PLAIN(sure_neighbors)
PLAIN(span_points) PLAIN(place_on_sphere) PLAIN(arcs_of_chords)
PLAIN(morton_codes) PLAIN(bound_nodes) PLAIN(pair_distances) PLAIN(scan_edges) PLAIN(scan_portion) PLAIN(flag_below) OF_V(scan_short)
OF_W(solve_short) OF_V(number_few)
OF_V(count_inside) OF_V(count_ranges) OF_W(scatter_ranges) OF_V(limit_ends) PLAIN(solve_ranges)
PLAIN(count_put_off) PLAIN(place_put_off) OF_V(take_put_off)
PLAIN(scan_blocks) PLAIN(flag_picked)
OF_K(rank_edges) PLAIN(link_trees) PLAIN(climb) PLAIN(path_maxima) PLAIN(join_levels)
PLAIN(count_ends) OF_K(lightest_of_roots) PLAIN(append) PLAIN(find_tops) PLAIN(compress_paths) PLAIN(stand)
PLAIN(elect) PLAIN(unite_neighbors) OF_K(lightest_in_lists) PLAIN(find_across) PLAIN(append_across)
PLAIN(compress_looking) PLAIN(add_sizes)
OF_V(mark_pairs) OF_V(flag_marked_pairs) OF_K(match_edges) PLAIN(match_in_order)
OF_K(grow_subtrees) OF_K(grow_apart) PLAIN(hook_unvisited) OF_K(hook_lightest) PLAIN(break_cycles) PLAIN(flag_taken)
OF_K(grow_trees) OF_K(least_of_groups) OF_K(join_lightest) OF_K(relax_neighbors) OF_K(reduce_rounds)
OF_V(unite) PLAIN(flag_joined) PLAIN(count_members) PLAIN(halve_paths) PLAIN(flatten) PLAIN(flag_roots) PLAIN(rank_roots) PLAIN(gather_ranks)
OF_K(pack_records) OF_K(pack_low_half) OF_K(pack_high_half) OF_K(order_runs) PLAIN(count_digits) PLAIN(scatter_digits)
PLAIN(arc_records) PLAIN(arc_places) PLAIN(follow_arcs) PLAIN(walk_list) PLAIN(rank_list) PLAIN(lead_away)
PLAIN(number_tree) PLAIN(visit_levels) PLAIN(write_trees) OF_V(reach_orders) OF_W(search_around) OF_W(lead_back)
PLAIN(mark_ways) PLAIN(merge_within) OF_W(span_matrix) PLAIN(first_edges) PLAIN(hook_along) PLAIN(flag_linked_roots)
PLAIN(lead_up) PLAIN(flag_heavier)
PLAIN(gather_heavier) PLAIN(find_chains) PLAIN(bound_chains) PLAIN(list_merges) PLAIN(count_added) PLAIN(size_merges)
PLAIN(gather_packed) PLAIN(unpack_records) OF_K(leading_bits) PLAIN(count_leading) PLAIN(place_buckets) OF_V(scatter_edges)

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
