// Prim's and Kruskal's algorithms as Knox and Knox (2025) first wrote them: Prim with a parallel minimum over all
// candidates (figure 1), with one shared priority queue (figure 2), and the two parts of Kruskal (figure 4). Prints a line
// "way threads seconds" for each.
//
//   g++ -std=c++17 -O3 -pthread knox_loops.cpp -o knox_loops && ./knox_loops VERTICES EDGES THREADS RUNS
#include "../../dfmst/_engines/kernels/cpu/pool.cpp"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <numeric>
#include <queue>
#include <random>
#include <vector>

using dfmst::u32;
using dfmst::u64;

struct Arc {
  u32 target, weight;
};

struct Graph {
  std::vector<u64> offset;
  std::vector<Arc> arcs;
  u32 vertices() const { return (u32)offset.size() - 1; }
};

struct Row {
  u32 source, target, weight;
};

static Graph lists_of(const std::vector<Row>& rows, u32 vertices) {
  Graph graph{std::vector<u64>(vertices + 2), std::vector<Arc>(2 * rows.size())};
  for (const Row& row : rows) ++graph.offset[row.source + 2], ++graph.offset[row.target + 2];
  std::partial_sum(graph.offset.begin(), graph.offset.end(), graph.offset.begin());
  for (const Row& row : rows) {
    graph.arcs[graph.offset[row.source + 1]++] = {row.target, row.weight};
    graph.arcs[graph.offset[row.target + 1]++] = {row.source, row.weight};
  }
  graph.offset.pop_back();
  return graph;
}

const u32 NOT_REACHED = ~0u;

// Section 3.2: the lightest candidate is found by going through all of them, each thread through its part.
static u64 prim_by_minimum(const Graph& graph, u32 threads) {
  const u32 vertices = graph.vertices();
  std::vector<u32> lightest(vertices, NOT_REACHED);
  std::vector<char> visited(vertices);
  std::vector<u64> least(16 * threads);  // a cache line each: (weight, vertex)
  u64 total = 0;
  for (u32 joined = 0, next = 0; joined < vertices; ++joined) {
    visited[next] = 1;
    for (u64 at = graph.offset[next]; at < graph.offset[next + 1]; ++at)
      lightest[graph.arcs[at].target] = std::min(lightest[graph.arcs[at].target], graph.arcs[at].weight);
    dfmst::parallel_for(threads, threads, 1, [&](u64 part) {
      u64 found = ~0ull;
      for (u64 v = vertices * part / threads; v < vertices * (part + 1) / threads; ++v)
        if (!visited[v]) found = std::min(found, (u64)lightest[v] << 32 | v);
      least[16 * part] = found;
    });
    u64 found = ~0ull;
    for (u32 part = 0; part < threads; ++part) found = std::min(found, least[16 * part]);
    if (found == ~0ull) break;
    next = (u32)found;
    if (found >> 32 != NOT_REACHED) total += found >> 32;  // otherwise a new tree begins
  }
  return total;
}

// Section 3.3: one queue. From the time on that half of the vertices are visited, the threads share the neighbors of the
// newest one, and a critical section guards the queue.
static u64 prim_by_queue(const Graph& graph, u32 threads) {
  const u32 vertices = graph.vertices();
  std::vector<char> visited(vertices);
  std::priority_queue<u64, std::vector<u64>, std::greater<u64>> queue;
  std::mutex section;
  u64 total = 0;
  u32 joined = 0;
  for (u32 start = 0; start < vertices; ++start) {
    if (!visited[start]) queue.push(start);
    while (!queue.empty()) {
      const u64 top = queue.top();
      queue.pop();
      const u32 vertex = (u32)top;
      if (visited[vertex]) continue;
      visited[vertex] = 1;
      ++joined;
      total += top >> 32;
      const u64 begin = graph.offset[vertex], degree = graph.offset[vertex + 1] - begin;
      const u32 sharing = 2 * joined >= vertices ? threads : 1;
      dfmst::parallel_for(sharing, sharing, 1, [&](u64 part) {
        for (u64 at = begin + degree * part / sharing; at < begin + degree * (part + 1) / sharing; ++at) {
          if (visited[graph.arcs[at].target]) continue;
          const u64 offer = (u64)graph.arcs[at].weight << 32 | graph.arcs[at].target;
          if (sharing == 1) {
            queue.push(offer);
          } else {
            std::lock_guard<std::mutex> hold(section);
            queue.push(offer);
          }
        }
      });
    }
  }
  return total;
}

static u64 kruskal_scan(const std::vector<Row>& rows, const std::vector<u64>& order, u32 vertices) {
  std::vector<u32> parent(vertices);
  std::iota(parent.begin(), parent.end(), 0);
  const auto root = [&](u32 v) {
    for (; parent[v] != v; v = parent[v]) parent[v] = parent[parent[v]];
    return v;
  };
  u64 total = 0;
  for (u64 key : order) {
    const Row& row = rows[(u32)key];
    const u32 a = root(row.source), b = root(row.target);
    if (a == b) continue;
    parent[a] = b;
    total += row.weight;
  }
  return total;
}

static double fastest(int runs, const std::function<void()>& run) {
  double best = 1e300;
  for (int number = 0; number < runs; ++number) {
    const auto begin = std::chrono::steady_clock::now();
    run();
    best = std::min(best, std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count());
  }
  return best;
}

int main(int, char** arguments) {
  const u32 vertices = std::atoi(arguments[1]), most = std::atoi(arguments[3]);
  const u64 length = std::atoll(arguments[2]);
  const int runs = std::atoi(arguments[4]);
  std::mt19937 random(1);
  std::vector<Row> rows;
  for (u64 i = 0; i < length; ++i) {
    const u32 source = random() % vertices, target = random() % vertices;
    if (source != target) rows.push_back({source, target, (u32)random() >> 1});
  }
  const Graph graph = lists_of(rows, vertices);
  std::vector<u64> order(rows.size());
  const auto report = [](const char* way, u32 threads, double seconds) { std::printf("%s %u %.9f\n", way, threads, seconds); };
  report("sort", 1, fastest(runs, [&] {
    for (u64 i = 0; i < rows.size(); ++i) order[i] = (u64)rows[i].weight << 32 | i;
    std::sort(order.begin(), order.end());
  }));
  u64 expected = 0;
  report("scan", 1, fastest(runs, [&] { expected = kruskal_scan(rows, order, vertices); }));
  for (u32 threads = 1; threads <= most; ++threads) {
    u64 by_minimum = 0, by_queue = 0;
    report("minimum", threads, fastest(runs, [&] { by_minimum = prim_by_minimum(graph, threads); }));
    report("one queue", threads, fastest(runs, [&] { by_queue = prim_by_queue(graph, threads); }));
    if (by_minimum != expected || by_queue != expected) return 1;
  }
}
