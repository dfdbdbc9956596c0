// Runs every kernel, for every type, on four threads and from several callers at once, on graphs whose edges fight for
// the same words. Made for ThreadSanitizer, which does not see through Python:
//
//   g++ -std=c++17 -g -O1 -fsanitize=thread -pthread tests/sanitizers/tsan_driver.cpp -o tsan_driver && ./tsan_driver
//
// The kernels are included, so that the compiler checks each call against the kernel's parameters. The driver fails
// where a kernel has not run for one of its types; tests/engines/kernels/test_driver.py checks that it knows every kernel.
#include "tsan/ids.hpp"
#include "tsan/points.hpp"
#include "tsan/ranges.hpp"
#include "tsan/trees.hpp"
#include "tsan/worklists.hpp"

namespace {

template <typename V> void of_vertices(const Graph& graph) {
  vertices<V>(graph);
  pairs<V>(graph);
  ranges<V, u32>(graph, 4, false);
}

template <typename W> void of_weights(const Graph& graph) {
  weights<W>(graph);
  filter_boruvka<W>(graph);
  short_table<W>(graph);
  ranges<u32, W>(graph, 5, true);
  ranges<u64, W>(graph, 17, true);
  terminals<W>(graph);
  matrix<W>(graph);
}

template <typename K> void of_keys(const Graph& graph) {
  keys<K>(graph);
  portions<K>(graph);
  boruvka<K>(graph);
  bsp<K>(graph);
  mastiff<K>(graph);
  partial_prim<K>(graph);
  prim<K>(graph);
  certificate<K>(graph);
}

void everything(u32 seed) {
  for (u32 vertices_wanted : {1u, 2u, 65u, 900u}) {
    const Graph graph = draw(vertices_wanted, 2000, seed);
    flags(graph);  // takes the targets for positions: they lie below the number of edges
    radix_sort(graph);
    long_path(2000, seed);
    adjacency(graph);
    degrees(graph);
    integer_ids(graph);
    text_ids(graph);
    crowded_ids();
    points(vertices_wanted / 2 + 3, seed);
    sphere(vertices_wanted);
    generate(graph);
    kruskal(graph);
    kruskal_tree(graph);
    dendrogram(graph);
    tour(graph);
    conditions(graph);
    one_round(graph);
    of_vertices<u32>(graph);
    of_vertices<u64>(graph);
    of_weights<i32>(graph);
    of_weights<u32>(graph);
    of_weights<f32>(graph);
    of_weights<i64>(graph);
    of_weights<u64>(graph);
    of_weights<f64>(graph);
    of_keys<u32>(graph);
    of_keys<u64>(graph);
  }
}

}  // namespace

int main() {
  everything(0);  // one caller: the pool is always his
  std::vector<std::thread> callers;
  for (u32 seed = 1; seed <= 3; ++seed)
    callers.emplace_back(everything, seed);
  for (std::thread& caller : callers) caller.join();
  bool all = true;
  for (const auto& [name, ran] : variants) {
    if (!ran) std::fprintf(stderr, "%s has not run\n", name.c_str());
    all = all && ran;
  }
  if (!all) return 1;
  std::puts("every kernel ran, every result is right");
}
