// Runs every kernel, for every type, on four threads and from several callers at once, on graphs whose edges fight for
// the same words. Made for ThreadSanitizer, which does not see through Python:
//
//   g++ -std=c++17 -g -O1 -fsanitize=thread -pthread ci/tsan_driver.cpp -o tsan_driver && ./tsan_driver
//
// The kernels are included, so that the compiler checks each call against the kernel's parameters.
// tests/kernels/test_driver.py checks that no kernel and no type is missing here.
#include "tsan/worklists.hpp"

namespace {

void everything(u32 seed) {
  for (u32 vertices_wanted : {1u, 2u, 65u, 900u}) {
    const Graph graph = draw(vertices_wanted, 2000, seed);
    // `set_flags` takes the targets for positions: they lie below the number of edges.
    select(graph, seed);
    kruskal(graph);
    generate(graph);
    adjacency(graph);
    links(graph);
    pairs<u32>(graph);
    pairs<u64>(graph);
    vertices<u32>(graph);
    vertices<u64>(graph);
    weights<i32>(graph);
    weights<u32>(graph);
    weights<f32>(graph);
    weights<i64>(graph);
    weights<u64>(graph);
    weights<f64>(graph);
    keys<u32>(graph);
    keys<u64>(graph);
    boruvka<u32>(graph);
    boruvka<u64>(graph);
    prim<u32>(graph);
    prim<u64>(graph);
    partial_prim<u32>(graph);
    partial_prim<u64>(graph);
    certificate<u32>(graph);
    certificate<u64>(graph);
    filter_boruvka<i32>(graph);
    filter_boruvka<u32>(graph);
    filter_boruvka<f32>(graph);
    filter_boruvka<i64>(graph);
    filter_boruvka<u64>(graph);
    filter_boruvka<f64>(graph);
    worklist(graph);
    statuses(graph);
    mastiff<u32>(graph);
    mastiff<u64>(graph);
    strut<u32>(graph);
    strut<u64>(graph);
  }
}

}  // namespace

int main() {
  everything(0);  // one caller: the pool is always his
  std::vector<std::thread> callers;
  for (u32 seed = 1; seed <= 3; ++seed)
    callers.emplace_back([seed] {
      for (u32 round = 0; round < 3; ++round) everything(seed + 10 * round);
    });
  for (std::thread& caller : callers) caller.join();
  std::puts("every kernel ran, every result is right");
}
