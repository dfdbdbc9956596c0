// Runs every kernel, for every type, on four threads and from several callers at once, on graphs whose edges fight for
// the same words. Made for ThreadSanitizer, which does not see through Python:
//
//   g++ -std=c++17 -g -O1 -fsanitize=thread -pthread ci/tsan_driver.cpp -o tsan_driver && ./tsan_driver
//
// The kernels are included, so that the compiler checks each call against the kernel's parameters.
// tests/kernels/test_driver.py checks that no kernel and no type is missing here.
#include "../dfmst/kernels/cpu/native.cpp"

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
  TYPED(largest_id, V) TYPED(list_flags, V) TYPED(gather_ends, V) TYPED(flag_crossing, V) TYPED(gather_labels, V) \
  TYPED(unite, V)
#define WEIGHTS(W) TYPED(count_nan, W) TYPED(gather_keys, W) TYPED(flag_light, W)
#define KEYS(K) TYPED(pack_records, K) TYPED(pack_low_half, K) TYPED(pack_high_half, K) TYPED(order_runs, K)
#define BORUVKA(K) TYPED(lightest_edges, K) TYPED(flag_lightest_in_runs, K)

VERTICES(u32) VERTICES(u64)
WEIGHTS(i32) WEIGHTS(u32) WEIGHTS(f32) WEIGHTS(i64) WEIGHTS(u64) WEIGHTS(f64)
KEYS(u32) KEYS(u64)
BORUVKA(u32) BORUVKA(u64)
PLAIN(count_flags) PLAIN(set_flags) PLAIN(count_digits) PLAIN(scatter_digits) PLAIN(unpack_records)
PLAIN(halve_paths) PLAIN(flatten) PLAIN(flag_roots) PLAIN(rank_roots) PLAIN(gather_ranks) PLAIN(hook)
PLAIN(scan_edges) PLAIN(flag_chosen) PLAIN(gather_rows) PLAIN(pair_codes)

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

// ---- one function for each kernel file ------------------------------------------------------------------------------

void flags(const Graph& graph) {
  const u64 length = graph.size(), block = 3, blocks = (words(length) + block - 1) / block;
  std::vector<u64> set(words(length)), counts(blocks), offsets(blocks);
  launch_set_flags(length, graph.target.data(), set.data());  // a few hundred words, every bit set several times
  CHECK(ones(set) == std::set<u32>(graph.target.begin(), graph.target.end()).size());
  launch_count_flags(blocks, set.data(), set.size(), block, counts.data());
  CHECK(std::accumulate(counts.begin(), counts.end(), 0ull) == ones(set));
  std::exclusive_scan(counts.begin(), counts.end(), offsets.begin(), 0ull);
  std::vector<u32> positions(ones(set));
  launch_list_flags(u32(), blocks, set.data(), set.size(), block, offsets.data(), positions.data());
  CHECK(std::is_sorted(positions.begin(), positions.end()));
  std::vector<u32> rows(positions.size());
  launch_gather_rows(rows.size(), positions.data(), graph.source.data(), rows.data());
  for (u64 i = 0; i < rows.size(); ++i) CHECK(rows[i] == graph.source[positions[i]]);
}

void radix_sort(const Graph& graph) {
  const u64 length = graph.size(), block = 50, blocks = (length + block - 1) / block;
  std::vector<u64> records(length), counts(4 * blocks), places(4 * blocks), sorted(length);
  launch_pack_records(u32(), length, graph.weight.data(), 0, 0, records.data());
  launch_count_digits(blocks, records.data(), length, block, 32, 2, counts.data(), blocks);
  std::exclusive_scan(counts.begin(), counts.end(), places.begin(), 0ull);
  launch_scatter_digits(blocks, records.data(), length, block, 32, 2, places.data(), blocks, sorted.data());
  std::vector<u32> order(length);
  launch_unpack_records(length, sorted.data(), order.data());
  CHECK(order == order_by_weight(graph));
}

void kruskal(const Graph& graph) {
  const Forest forest(graph);
  std::vector<u32> order = order_by_weight(graph), parent = iota(graph.vertices), chosen(graph.vertices);
  std::vector<u64> ends(graph.size()), found(1), rows(words(graph.size()));
  launch_gather_ends(u32(), ends.size(), graph.source.data(), graph.target.data(), order.data(), nullptr, ends.data());
  launch_scan_edges(1, ends.data(), ends.size(), graph.vertices - 1, parent.data(), chosen.data(), found.data());
  CHECK(found[0] == forest.rows.size());
  launch_flag_chosen(found[0], chosen.data(), order.data(), nullptr, nullptr, rows.data());
  CHECK(forest.equals(rows));
  jump(parent);
  CHECK(parent == forest.parent);
}

// Threads walk the same long path, from many places.
void long_path(u32 vertices, u32 seed) {
  std::vector<u32> path = iota(vertices), parent = path;
  std::shuffle(path.begin(), path.end(), std::mt19937(seed));
  for (u32 i = 0; i + 1 < vertices; ++i) parent[path[i]] = path[i + 1];
  jump(parent);
  CHECK(std::all_of(parent.begin(), parent.end(), [&](u32 root) { return root == path.back(); }));
}

void select(const Graph& graph, u32 seed) {
  flags(graph);
  radix_sort(graph);
  kruskal(graph);
  long_path(2000, seed);
}

template <typename V> void vertices(const Graph& graph) {
  const u64 length = graph.size(), block = 100, blocks = (length + block - 1) / block;
  const std::vector<V> source(graph.source.begin(), graph.source.end());
  const std::vector<V> target(graph.target.begin(), graph.target.end());
  const std::vector<u32> position = iota(length);
  const Forest forest(graph);

  std::vector<u64> largest(blocks);
  launch_largest_id(V(), blocks, source.data(), length, block, largest.data());
  CHECK(*std::max_element(largest.begin(), largest.end()) == *std::max_element(source.begin(), source.end()));

  std::vector<u64> every(words(length), NONE), offsets(every.size());
  for (u64 i = 0; i < offsets.size(); ++i) offsets[i] = i * 64;
  std::vector<V> positions(every.size() * 64);
  launch_list_flags(V(), every.size(), every.data(), every.size(), 1, offsets.data(), positions.data());
  CHECK(positions.back() == positions.size() - 1);

  std::vector<u64> ends(length);
  launch_gather_ends(V(), length, source.data(), target.data(), position.data(), position.data(), ends.data());
  CHECK(ends.back() == ((u64)graph.source.back() << 32 | graph.target.back()));

  std::vector<u32> parent = iota(graph.vertices);
  launch_unite(V(), length, source.data(), target.data(), position.data(), parent.data());
  jump(parent);
  CHECK(parent == forest.parent);

  std::vector<u32> first(length), second(length);
  launch_gather_labels(V(), length, source.data(), target.data(), nullptr, parent.data(), first.data(), second.data());
  CHECK(first == second);

  const std::vector<u8> giant(graph.vertices, 0);
  const std::vector<u32> apart = iota(graph.vertices);
  std::vector<u64> crossing(words(length));
  launch_flag_crossing(V(), crossing.size(), source.data(), target.data(), length, apart.data(), giant.data(), nullptr,
                       crossing.data());
  for (u64 i = 0; i < length; ++i) CHECK(flagged(crossing, i) == (source[i] != target[i]));
}

template <typename W> void weights(const Graph& graph) {
  typedef typename KeyOf<W>::type Key;
  const u64 length = graph.size(), block = 100, blocks = (length + block - 1) / block;
  const std::vector<W> weight(graph.weight.begin(), graph.weight.end());

  std::vector<u64> counts(blocks, NONE);
  launch_count_nan(W(), blocks, weight.data(), length, block, counts.data());
  CHECK(std::all_of(counts.begin(), counts.end(), [](u64 count) { return count == 0; }));

  const std::vector<u32> position = iota(length);
  std::vector<Key> key(length), flipped(length);
  launch_gather_keys(W(), length, weight.data(), 0, position.data(), key.data());
  launch_gather_keys(W(), length, weight.data(), NONE, nullptr, flipped.data());
  for (u64 i = 1; i < length; ++i) {
    CHECK((key[i - 1] < key[i]) == (weight[i - 1] < weight[i]));
    CHECK((flipped[i - 1] < flipped[i]) == (weight[i - 1] > weight[i]));
  }

  const u64 middle = length / 2;
  std::vector<u64> light(words(length));
  launch_flag_light(W(), light.size(), weight.data(), 0, length, key[middle], middle, light.data());
  for (u64 i = 0; i < length; ++i)
    CHECK(flagged(light, i) == (key[i] < key[middle] || (key[i] == key[middle] && i <= middle)));
}

// Orders records whose leading bits are i / run, the runs beside each other and upside down.
template <typename K> bool order_runs_of(u64 length, u64 run) {
  std::vector<K> key(length);
  std::vector<u64> records(length);
  for (u64 i = 0; i < length; ++i) {
    key[i] = (K)((i / run + 1) * 256 - i % run);
    records[i] = i / run << 32 | i;
  }
  u32 long_runs = 0;
  launch_order_runs(K(), length, key.data(), length, 32, records.data(), &long_runs);
  const bool sorted = std::is_sorted(records.begin(), records.end(),
                                     [&](u64 a, u64 b) { return key[(u32)a] < key[(u32)b]; });
  CHECK(sorted == (long_runs == 0 || run == 1));
  return sorted;
}

template <typename K> void keys(const Graph& graph) {
  const std::vector<K> key(graph.weight.begin(), graph.weight.end());
  std::vector<u64> records(key.size()), low(key.size()), high(key.size());
  launch_pack_records(K(), key.size(), key.data(), 0, 1, records.data());
  launch_pack_low_half(K(), key.size(), key.data(), 0, low.data());
  launch_pack_high_half(K(), key.size(), key.data(), 0, low.data(), high.data());
  for (u64 i = 0; i < key.size(); ++i) {
    CHECK(records[i] == (graph.weight[i] / 2ull << 32 | i));
    CHECK(low[i] == ((u64)graph.weight[i] << 32 | i));
    CHECK(high[i] == i);
  }
  CHECK(order_runs_of<K>(1600, 1));
  CHECK(order_runs_of<K>(1600, 32));
  CHECK(!order_runs_of<K>(1600, 40));
}

template <typename K> void drop_parallel(const Graph& graph) {
  const std::vector<K> key(graph.weight.begin(), graph.weight.end());
  std::vector<u64> code(graph.size()), lightest(words(graph.size()));
  launch_pair_codes(graph.size(), graph.source.data(), graph.target.data(), graph.vertices, code.data());
  std::vector<u32> order = iota(graph.size());
  std::stable_sort(order.begin(), order.end(), [&](u32 a, u32 b) { return code[a] < code[b]; });
  launch_flag_lightest_in_runs(K(), graph.size(), code.data(), order.data(), graph.size(), key.data(),
                               lightest.data());
  CHECK(ones(lightest) == std::set<u64>(code.begin(), code.end()).size());
}

template <typename K> void boruvka(const Graph& graph) {
  const std::vector<K> key(graph.weight.begin(), graph.weight.end());
  std::vector<u32> source = graph.source, target = graph.target, parent = iota(graph.vertices);
  const std::vector<u32> row = iota(graph.size());
  std::vector<u64> chosen(words(graph.size())), roots(words(graph.vertices));
  const Forest forest(graph);
  u64 before = 0, components = graph.vertices;
  while (before != components) {
    std::vector<u64> best(graph.vertices, NONE);
    launch_lightest_edges(K(), source.size(), source.data(), target.data(), key.data(), parent.data(), best.data());
    launch_hook(parent.size(), source.data(), target.data(), best.data(), row.data(), parent.data(), chosen.data());
    jump(parent);
    launch_flag_roots(roots.size(), parent.data(), parent.size(), roots.data());
    before = components;
    components = ones(roots);
    CHECK(ones(chosen) == graph.vertices - components);
  }
  CHECK(forest.equals(chosen));

  std::vector<u32> root, rank(graph.vertices), label(graph.vertices);
  for (u32 vertex = 0; vertex < graph.vertices; ++vertex)
    if (parent[vertex] == vertex) root.push_back(vertex);
  launch_rank_roots(root.size(), root.data(), rank.data());
  launch_gather_ranks(parent.size(), parent.data(), rank.data(), label.data());
  for (u32 vertex = 0; vertex < graph.vertices; ++vertex) CHECK(root[label[vertex]] == parent[vertex]);
  drop_parallel<K>(graph);
}

void everything(u32 seed) {
  for (u32 vertices_wanted : {1u, 2u, 65u, 900u}) {
    const Graph graph = draw(vertices_wanted, 2000, seed);
    // `set_flags` takes the targets for positions: they lie below the number of edges.
    select(graph, seed);
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
