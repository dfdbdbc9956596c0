// What dfmst does not do as Knox and Knox (2025) do it, to be measured beside it: the merge sort of figure 5, and the
// ways of figure 7 to synchronise a vertex's lightest edge. Prints a line "way threads seconds" for each.
//
//   g++ -std=c++17 -O3 -pthread knox_threads.cpp -o knox_threads && ./knox_threads VERTICES EDGES THREADS RUNS
#include "../../dfmst/_engines/kernels/cpu/pool.cpp"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <memory>
#include <random>
#include <vector>

using dfmst::u32;
using dfmst::u64;

struct Edge {
  u32 source, target, weight;
};

static double fastest(int runs, const std::function<void()>& prepare, const std::function<void()>& run) {
  double best = 1e300;
  for (int number = 0; number < runs; ++number) {
    prepare();
    const auto begin = std::chrono::steady_clock::now();
    run();
    best = std::min(best, std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count());
  }
  return best;
}

// Section 4.2: one thread sorts the right half, the one at hand the left; they join, and the halves are merged.
static void merge_sort(u64* begin, u64* end, u64* spare, u32 threads) {
  if (threads <= 1 || end - begin < 2) {
    std::sort(begin, end);
    return;
  }
  u64* const middle = begin + (end - begin) / 2;
  std::thread right(merge_sort, middle, end, spare + (middle - begin), threads / 2);
  merge_sort(begin, middle, spare, threads - threads / 2);
  right.join();
  std::merge(begin, middle, middle, end, spare);
  std::copy(spare, spare + (end - begin), begin);
}

// Section 5.2: a pointer to the lightest edge of each vertex, swapped where the new one is lighter. Edges that lose
// their place are kept until the end, by each thread's own `kept`.
struct Lightest {
  const Edge* edge;
};

struct Swapped {
  std::vector<std::atomic<Lightest*>> at;
  explicit Swapped(u32 vertices) : at(vertices) {}

  void offer(u32 vertex, const Edge& edge, bool check_first, std::vector<std::unique_ptr<Lightest>>& kept) {
    Lightest* seen = at[vertex].load(std::memory_order_acquire);
    if (check_first && seen && seen->edge->weight <= edge.weight) return;
    kept.push_back(std::make_unique<Lightest>(Lightest{&edge}));
    while (!seen || edge.weight < seen->edge->weight)
      if (at[vertex].compare_exchange_weak(seen, kept.back().get(), std::memory_order_acq_rel)) return;
    kept.pop_back();
  }
};

// Checked first, as there; then one critical section for all vertices.
struct Critical {
  std::vector<std::atomic<const Edge*>> at;
  std::mutex section;
  explicit Critical(u32 vertices) : at(vertices) {}

  void offer(u32 vertex, const Edge& edge) {
    const Edge* seen = at[vertex].load(std::memory_order_acquire);
    if (seen && seen->weight <= edge.weight) return;
    std::lock_guard<std::mutex> hold(section);
    seen = at[vertex].load(std::memory_order_relaxed);
    if (!seen || edge.weight < seen->weight) at[vertex].store(&edge, std::memory_order_release);
  }
};

// dfmst's: the key and the edge in one word, an atomic minimum behind a check.
struct Packed {
  std::vector<std::atomic<u64>> at;
  explicit Packed(u32 vertices) : at(vertices) {
    for (auto& word : at) word.store(~0ull, std::memory_order_relaxed);
  }

  void offer(u32 vertex, u64 word) {
    u64 seen = at[vertex].load(std::memory_order_relaxed);
    while (word < seen && !at[vertex].compare_exchange_weak(seen, word, std::memory_order_relaxed)) {
    }
  }
};

// A thread's part of the edges, one after the other.
template <typename Offer> static void each_part(u64 edges, u32 threads, const Offer& offer) {
  const u64 share = (edges + threads - 1) / threads;
  dfmst::parallel_for(threads, threads, 1, [&](u64 part) { offer(part * share, std::min(edges, (part + 1) * share)); });
}

static void synchronise(const std::vector<Edge>& edges, u32 vertices, u32 threads, int runs) {
  const auto report = [=](const char* way, double seconds) { std::printf("%s %u %.9f\n", way, threads, seconds); };
  for (bool check_first : {false, true}) {
    std::unique_ptr<Swapped> swapped;
    const double seconds = fastest(runs, [&] { swapped = std::make_unique<Swapped>(vertices); }, [&] {
      each_part(edges.size(), threads, [&](u64 begin, u64 end) {
        std::vector<std::unique_ptr<Lightest>> kept;
        for (u64 i = begin; i < end; ++i)
          for (u32 vertex : {edges[i].source, edges[i].target}) swapped->offer(vertex, edges[i], check_first, kept);
        // The edges in place live on: they are few, and the program ends soon.
        for (auto& one : kept) (void)one.release();
      });
    });
    report(check_first ? "check-and-check-and-swap" : "check-and-swap", seconds);
  }
  std::unique_ptr<Critical> critical;
  report("critical section", fastest(runs, [&] { critical = std::make_unique<Critical>(vertices); }, [&] {
    each_part(edges.size(), threads, [&](u64 begin, u64 end) {
      for (u64 i = begin; i < end; ++i)
        for (u32 vertex : {edges[i].source, edges[i].target}) critical->offer(vertex, edges[i]);
    });
  }));
  std::unique_ptr<Packed> packed;
  report("atomic minimum (dfmst)", fastest(runs, [&] { packed = std::make_unique<Packed>(vertices); }, [&] {
    each_part(edges.size(), threads, [&](u64 begin, u64 end) {
      for (u64 i = begin; i < end; ++i)
        for (u32 vertex : {edges[i].source, edges[i].target}) packed->offer(vertex, (u64)edges[i].weight << 32 | i);
    });
  }));
  // All ways agree.
  for (u32 vertex = 0; vertex < vertices; ++vertex) {
    const Edge* const edge = critical->at[vertex].load();
    const u64 word = packed->at[vertex].load();
    if (edge ? edge->weight != word >> 32 : word != ~0ull) std::exit(1);
  }
}

int main(int, char** arguments) {
  const u32 vertices = std::atoi(arguments[1]), most = std::atoi(arguments[3]);
  const u64 length = std::atoll(arguments[2]);
  const int runs = std::atoi(arguments[4]);
  std::mt19937 random(1);
  std::vector<Edge> edges;
  for (u64 i = 0; i < length; ++i)
    edges.push_back({(u32)(random() % vertices), (u32)(random() % vertices), (u32)random()});
  std::vector<u64> keys(length), spare(length);
  for (u32 threads = 1; threads <= most; ++threads) {
    const auto unsorted = [&] {
      for (u64 i = 0; i < length; ++i) keys[i] = (u64)edges[i].weight << 32 | i;
    };
    const double seconds =
        fastest(runs, unsorted, [&] { merge_sort(keys.data(), keys.data() + length, spare.data(), threads); });
    if (!std::is_sorted(keys.begin(), keys.end())) return 1;
    std::printf("merge sort %u %.9f\n", threads, seconds);
    synchronise(edges, vertices, threads, runs);
  }
}
