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
  TYPED(largest_id, V) TYPED(list_flags, V) TYPED(pack_ends, V) TYPED(gather_entries, V) TYPED(flag_crossing, V) TYPED(gather_labels, V) \
  TYPED(unite, V) TYPED(mark_vertices, V) TYPED(flag_doubtful, V) TYPED(mark_pairs, V) TYPED(flag_marked_pairs, V)
#define WEIGHTS(W) TYPED(count_nan, W) TYPED(gather_keys, W) TYPED(flag_light, W)
#define KEYS(K) TYPED(pack_records, K) TYPED(pack_low_half, K) TYPED(pack_high_half, K) TYPED(order_runs, K)
#define PRIM(K) \
  TYPED(grow_trees, K) TYPED(offer_neighbours, K) TYPED(lightest_of_lanes, K) TYPED(join_lightest, K) \
  TYPED(relax_neighbours, K)
#define BORUVKA(K) TYPED(lightest_edges, K) TYPED(flag_lightest_in_runs, K) TYPED(lightest_by_code, K)
#define PARTIAL_PRIM(K) TYPED(grow_subtrees, K) TYPED(grow_coloured, K)
#define CERTIFICATE(K) TYPED(rank_edges, K) TYPED(find_lighter, K) TYPED(match_edges, K)
#define MASTIFF(K) TYPED(lightest_of_roots, K)
#define STRUT(K) TYPED(propose_to_ends, K)

VERTICES(u32) VERTICES(u64)
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
PLAIN(scan_edges) PLAIN(flag_chosen) PLAIN(gather_rows) PLAIN(pair_codes)
PLAIN(draw_f64) PLAIN(draw_f32) PLAIN(draw_i32) PLAIN(draw_below) PLAIN(draw_flags) PLAIN(hash24) PLAIN(distances)
PLAIN(random_pairs) PLAIN(rmat_edges) PLAIN(ring_edges) PLAIN(flag_grid) PLAIN(grid_edges) PLAIN(clique_edges)
PLAIN(clique_links) PLAIN(tree_parents) PLAIN(tree_edges) PLAIN(flag_not_own_parent) PLAIN(distinct_pairs)
PLAIN(flag_outside_tree) PLAIN(gather_pairs)
PLAIN(flag_marked) PLAIN(flag_best) PLAIN(break_cycles) PLAIN(hook_unvisited)
PLAIN(incidence_records) PLAIN(list_offsets) PLAIN(list_entries)
PLAIN(link_trees) PLAIN(climb) PLAIN(path_maxima)

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
  std::vector<u64> gathered(length);
  launch_gather_packed(length, records.data(), order.data(), gathered.data());
  CHECK(gathered == sorted);
  CHECK(order == order_by_weight(graph));
}

// A scan in rounds: while one thread scans a stretch, the others check the edges behind it.
void kruskal(const Graph& graph) {
  const Forest forest(graph);
  const std::vector<u32> order = order_by_weight(graph);
  std::vector<u32> parent = iota(graph.vertices), chosen(graph.vertices);
  const u64 length = graph.size(), own = 256;
  std::vector<u64> ends(length), found(1), rows(words(length)), excluded(words(length));
  launch_pack_ends(u32(), length, graph.source.data(), graph.target.data(), order.data(), ends.data());
  for (u64 begin = 0; begin < length; begin += own) {
    jump(parent);
    const std::vector<u32> label = parent;
    const u64 end = std::min(begin + own, length);
    launch_scan_edges(1 + words(length) - words(end), ends.data(), begin, end, length, graph.vertices - 1,
                      label.data(), excluded.data(), parent.data(), chosen.data(), found.data());
  }
  CHECK(found[0] == forest.rows.size());
  CHECK(ones(excluded) + found[0] <= length);
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
  long_path(2000, seed);
}

// The forest's edges by size in ascending order, and each vertex's root and last link.
struct Links {
  std::vector<u64> link, top;
  u64 cycle = NONE;

  Links(u32 vertices, const std::vector<u64>& ends) : link(vertices, NONE), top(vertices) {
    std::vector<u32> parent = iota(vertices), size(vertices, 1);
    launch_link_trees(1, ends.data(), ends.size(), parent.data(), size.data(), link.data(), &cycle);
    launch_climb(vertices, link.data(), top.data());
  }
};

std::vector<u64> ends_of(const Graph& graph, const std::vector<u32>& rows) {
  std::vector<u64> ends;
  for (u32 row : rows) ends.push_back((u64)graph.source[row] << 32 | graph.target[row]);
  return ends;
}

void links(const Graph& graph) {
  const Forest forest(graph);
  std::vector<u32> rows;
  for (u32 row : order_by_weight(graph))
    if (forest.rows.count(row)) rows.push_back(row);
  const Links links(graph.vertices, ends_of(graph, rows));
  CHECK(links.cycle == NONE);
  std::vector<u32> heaviest(graph.size());
  launch_path_maxima(graph.size(), graph.source.data(), graph.target.data(), links.top.data(), links.link.data(),
                     heaviest.data());
  for (u64 i = 0; i < graph.size(); ++i) {
    CHECK((heaviest[i] == ~0u) == (graph.source[i] == graph.target[i]));
    CHECK(heaviest[i] == ~0u || graph.weight[rows[heaviest[i]]] <= graph.weight[i]);
  }
  rows.push_back(0);
  CHECK(Links(graph.vertices, ends_of(graph, rows)).cycle == rows.size() - 1);
}

template <typename V> void pairs(const Graph& graph) {
  const std::vector<V> source(graph.source.begin(), graph.source.end());
  const std::vector<V> target(graph.target.begin(), graph.target.end());
  std::vector<u8> occurs(graph.vertices);
  launch_mark_vertices(V(), source.size(), source.data(), target.data(), nullptr, nullptr, occurs.data());
  for (V vertex : target) CHECK(occurs[vertex]);
  std::vector<u64> flagged_too(words(occurs.size()));
  launch_flag_marked(flagged_too.size(), occurs.data(), occurs.size(), flagged_too.data());
  for (u64 i = 0; i < occurs.size(); ++i) CHECK(flagged(flagged_too, i) == occurs[i]);
  std::vector<u64> bits(1024), marked(words(source.size())), doubtful(marked.size()), none(marked.size());
  launch_mark_pairs(V(), source.size(), source.data(), target.data(), 48, bits.data());
  launch_flag_marked_pairs(V(), marked.size(), target.data(), source.data(), source.size(), 48, bits.data(),
                           marked.data());
  CHECK(ones(marked) == source.size());
  launch_flag_doubtful(V(), marked.size(), source.data(), target.data(), source.size(), occurs.data(), marked.data(),
                       none.data(), doubtful.data());  // all of them light
  CHECK(doubtful == marked);
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
  launch_pack_ends(V(), length, source.data(), target.data(), position.data(), ends.data());
  CHECK(ends.back() == ((u64)graph.source.back() << 32 | graph.target.back()));

  std::vector<u64> rows(length / 2);
  for (u64 i = 0; i < rows.size(); ++i) rows[i] = 2 * i + 1;
  std::vector<V> taken(rows.size());
  launch_gather_entries(V(), taken.size(), source.data(), rows.data(), taken.data());
  CHECK(taken.front() == source[1]);

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
  std::vector<u64> best((u64)graph.vertices * graph.vertices, NONE), again(lightest.size());
  launch_lightest_by_code(K(), graph.size(), code.data(), key.data(), best.data());
  launch_flag_best(best.size(), best.data(), again.data());
  CHECK(again == lightest);
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

// Every vertex's edges, self-loops left out.
struct Lists {
  std::vector<u64> offset;
  std::vector<u32> edge, other;

  explicit Lists(const Graph& graph) : offset(graph.vertices + 1) {
    for (u32 vertex = 0; vertex < graph.vertices; ++vertex) {
      for (u32 row = 0; row < graph.size(); ++row) {
        const u32 a = graph.source[row], b = graph.target[row];
        if (a == b || (a != vertex && b != vertex)) continue;
        edge.push_back(row);
        other.push_back(a == vertex ? b : a);
      }
      offset[vertex + 1] = edge.size();
    }
  }
};

// Half of the vertices are hubs, whose neighbours are offered by several threads.
template <typename K> void prim_by_queues(const Graph& graph, const Lists& lists, const Forest& forest) {
  const u32 queues = 12, vertices = graph.vertices;
  std::vector<K> key, nearest(vertices, (K)~0ull);
  for (u32 row : lists.edge) key.push_back(graph.weight[row]);
  std::vector<u64> heaps(2 * queues * graph.size()), starts, sizes(queues), state(4), rows(words(graph.size()));
  for (u32 queue = 0; queue < queues; ++queue) starts.push_back(queue * graph.size());
  std::vector<u32> edge_of(vertices, ~0u), chosen(vertices);
  std::vector<u8> in_tree(vertices);
  for (;;) {
    launch_grow_trees(K(), 1, lists.offset.data(), lists.edge.data(), lists.other.data(), key.data(), vertices, 4,
                      heaps.data(), starts.data(), sizes.data(), queues, nearest.data(), edge_of.data(),
                      in_tree.data(), chosen.data(), state.data());
    if (state[3] == vertices) break;
    const u64 begin = lists.offset[state[3]], end = lists.offset[state[3] + 1];
    launch_offer_neighbours(K(), queues, lists.edge.data(), lists.other.data(), key.data(), begin, end,
                            (end - begin + queues - 1) / queues, heaps.data(), starts.data(), sizes.data(),
                            nearest.data(), edge_of.data(), in_tree.data());
  }
  launch_flag_chosen(state[0], chosen.data(), nullptr, nullptr, nullptr, rows.data());
  CHECK(forest.equals(rows));
}

template <typename K> void prim_by_reduction(const Graph& graph, const Lists& lists, const Forest& forest) {
  const u32 vertices = graph.vertices, most = 20;
  const std::vector<K> key(graph.weight.begin(), graph.weight.end());
  std::vector<u64> lightest(vertices, NONE), value(most), state(3), rows(words(graph.size()));
  std::vector<u32> index(most), vertex = iota(vertices), place = vertex, chosen(vertices);
  for (u32 front = 0; front < vertices; ++front) {
    const u32 lanes = std::min(most, vertices - front);
    launch_lightest_of_lanes(K(), lanes, lightest.data(), front, vertices, lanes, key.data(), value.data(),
                             index.data());
    launch_join_lightest(K(), 1, value.data(), index.data(), lanes, front, key.data(), lightest.data(), vertex.data(),
                         place.data(), chosen.data(), state.data());
    launch_relax_neighbours(K(), 50, lists.offset.data(), lists.edge.data(), lists.other.data(), 50, front, key.data(),
                            place.data(), state.data(), lightest.data());
  }
  launch_flag_chosen(state[0], chosen.data(), nullptr, nullptr, nullptr, rows.data());
  CHECK(forest.equals(rows));
}

template <typename K> void prim(const Graph& graph) {
  const Forest forest(graph);
  const Lists lists(graph);
  prim_by_queues<K>(graph, lists, forest);
  prim_by_reduction<K>(graph, lists, forest);
}

void numbers(u64 length) {
  std::vector<f64> doubles(length);
  std::vector<f32> floats(length);
  std::vector<i32> integers(length);
  std::vector<u64> bounded(length), some(words(length));
  launch_draw_f64(length, 1, doubles.data());
  launch_draw_f32(length, 1, floats.data());
  launch_draw_i32(length, 1, integers.data());
  launch_draw_below(length, 1, 10, bounded.data());
  launch_draw_flags(some.size(), 1, 1ull << 52, length, some.data());
  for (u64 i = 0; i < length; ++i) {
    CHECK(doubles[i] >= floats[i] && doubles[i] - floats[i] < 1e-7 && doubles[i] < 1);
    CHECK(bounded[i] == (u64)(doubles[i] * 10) && integers[i] == (i32)(doubles[i] * 2147483648.0));
    CHECK(flagged(some, i) == (doubles[i] < 0.5));
  }
}

// Ends that a generator's kernels fill.
struct Ends {
  std::vector<i64> source, target;

  explicit Ends(u64 length) : source(length, -1), target(length, -1) {}
  bool below(i64 vertices) const {
    const auto fits = [&](i64 vertex) { return vertex >= 0 && vertex < vertices; };
    return std::all_of(source.begin(), source.end(), fits) && std::all_of(target.begin(), target.end(), fits);
  }
};

void places(u64 vertices) {
  const u64 grid = words(2 * 10 * vertices);
  std::vector<u64> flags(grid), place, end(vertices, vertices), offset(vertices), begin, clique(vertices);
  launch_flag_grid(grid, 1, 1ull << 53, 10, vertices, flags.data());
  for (u64 at = 0; at < 20 * vertices; ++at)
    if (flagged(flags, at)) place.push_back(at);
  CHECK(place.size() == 19 * vertices - 10);
  Ends streets(place.size()), pairs(vertices * (vertices - 1) / 2), links(vertices);
  launch_grid_edges(place.size(), place.data(), vertices, streets.source.data(), streets.target.data());
  CHECK(streets.below(10 * vertices));
  for (u64 i = 1; i < vertices; ++i) offset[i] = offset[i - 1] + vertices - i;
  launch_clique_edges(vertices, end.data(), offset.data(), pairs.source.data(), pairs.target.data());
  CHECK(pairs.below(vertices));
  std::vector<f64> distance(pairs.source.size());
  launch_distances(distance.size(), 1, 3, pairs.source.data(), pairs.target.data(), distance.data());
  CHECK(std::all_of(distance.begin(), distance.end(), [](f64 d) { return d > 0 && d < 1.8; }));
  for (u64 i = 0; i <= vertices; ++i) begin.push_back(i);
  for (u64 i = 0; i < vertices; ++i) clique[i] = i;
  launch_clique_links(vertices, 1, clique.data(), clique.data(), begin.data(), vertices, 1, links.source.data(),
                      links.target.data());
  for (u64 i = 0; i < vertices; ++i) CHECK(links.target[i] == (i64)((i + 1) % vertices));
}

void connected(u64 vertices) {
  const u64 pairs = vertices * (vertices - 1) / 2;
  std::vector<i64> parent(vertices, -1);
  std::vector<u64> children(words(vertices)), outside(words(pairs)), vertex, position;
  launch_tree_parents(vertices, 1, vertices, 6, parent.data());
  launch_flag_not_own_parent(children.size(), parent.data(), vertices, children.data());
  for (u64 at = 0; at < vertices; ++at)
    if (flagged(children, at)) vertex.push_back(at);
  CHECK(vertex.size() == vertices - 1);
  Ends tree(vertex.size()), all(pairs), rest(pairs - vertex.size());
  launch_tree_edges(vertex.size(), vertex.data(), parent.data(), tree.source.data(), tree.target.data());
  launch_distinct_pairs(pairs, 1, pairs, 12, all.source.data(), all.target.data());
  launch_flag_outside_tree(outside.size(), all.source.data(), all.target.data(), pairs, parent.data(), outside.data());
  for (u64 at = 0; at < pairs; ++at)
    if (flagged(outside, at)) position.push_back(at);
  CHECK(position.size() == rest.source.size());
  launch_gather_pairs(position.size(), position.data(), all.source.data(), all.target.data(), rest.source.data(),
                      rest.target.data());
  CHECK(tree.below(vertices) && all.below(vertices) && rest.below(vertices));
}

void generate(const Graph& graph) {
  const u64 length = graph.size();
  numbers(length);
  places(30);
  connected(40);
  Ends ends(length);
  std::vector<i32> weight(length);
  launch_random_pairs(length, 1, 50, ends.source.data(), ends.target.data());
  CHECK(ends.below(50));
  launch_rmat_edges(length, 1, 9, 1ull << 31, 3ull << 30, 7ull << 29, 2, ends.source.data(), ends.target.data());
  CHECK(ends.below(512));
  launch_ring_edges(length, 1, length / 2, 2, 1ull << 52, ends.source.data(), ends.target.data());
  CHECK(ends.below(length / 2));
  launch_hash24(length, ends.source.data(), ends.target.data(), weight.data());
  CHECK(std::all_of(weight.begin(), weight.end(), [](i32 w) { return w > 0 && w <= 1 << 24; }));
}

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

struct Incidence {
  std::vector<u64> offset;
  std::vector<u32> edge, other;

  Incidence(const Graph& graph, const std::vector<u32>& order) : offset(graph.vertices + 1) {
    std::vector<u64> records(2 * graph.size());
    launch_incidence_records(records.size(), graph.source.data(), graph.target.data(), order.data(), graph.vertices,
                             records.data());
    std::stable_sort(records.begin(), records.end(), [](u64 a, u64 b) { return a >> 32 < b >> 32; });
    launch_list_offsets(records.size() + 1, records.data(), records.size(), graph.vertices, offset.data());
    edge.resize(offset.back());
    other.resize(offset.back());
    std::vector<u32> ends(graph.size());
    for (u64 i = 0; i < graph.size(); ++i) ends[i] = graph.source[i] ^ graph.target[i];
    launch_list_entries(edge.size(), records.data(), ends.data(), edge.data(), other.data());
  }
};

void adjacency(const Graph& graph) {
  const Incidence lists(graph, order_by_weight(graph));
  for (u32 vertex = 0; vertex < graph.vertices; ++vertex)
    for (u64 i = lists.offset[vertex]; i < lists.offset[vertex + 1]; ++i) {
      CHECK((graph.source[lists.edge[i]] ^ graph.target[lists.edge[i]] ^ lists.other[i]) == vertex);
      CHECK(i == lists.offset[vertex] || graph.weight[lists.edge[i - 1]] <= graph.weight[lists.edge[i]]);
    }
}

// What subtrees have joined, and its rows: a part of the forest, without a cycle.
void check_growth(const Graph& graph, std::vector<u32> parent, const std::vector<u64>& chosen) {
  const Forest forest(graph);
  launch_break_cycles(parent.size(), parent.data());
  jump(parent);
  u64 joined = 0;
  for (u32 vertex = 0; vertex < graph.vertices; ++vertex) {
    joined += parent[vertex] != vertex;
    CHECK(forest.parent[parent[vertex]] == forest.parent[vertex]);
  }
  CHECK(ones(chosen) == joined);
  for (u64 i = 0; i < graph.size(); ++i) CHECK(!flagged(chosen, i) || forest.rows.count(i));
}

template <typename K> void grow(const Graph& graph, u64 span, u32 sorted) {
  const Incidence lists(graph, sorted ? order_by_weight(graph) : iota(graph.size()));
  const u64 parts = (graph.vertices + span - 1) / span;
  std::vector<K> key, heap_key(parts * span);
  for (u32 edge : lists.edge) key.push_back(graph.weight[edge]);
  const std::vector<u32> row = iota(graph.size());
  std::vector<u32> tree(graph.vertices, ~0u), parent = iota(graph.vertices), colour = tree;
  std::vector<u64> heap_entry(parts * span), chosen(words(graph.size()));
  u64 conflicts = 0;
  launch_grow_subtrees(K(), parts, lists.offset.data(), lists.edge.data(), lists.other.data(), key.data(), row.data(),
                       graph.vertices, span, sorted, tree.data(), parent.data(), heap_key.data(), heap_entry.data(),
                       chosen.data(), &conflicts);
  check_growth(graph, parent, chosen);
  if (!sorted) return;
  tree.assign(graph.vertices, ~0u);
  parent = iota(graph.vertices);
  chosen.assign(chosen.size(), 0);
  launch_grow_coloured(K(), parts, lists.offset.data(), lists.edge.data(), lists.other.data(), key.data(), row.data(),
                       graph.vertices, span, colour.data(), tree.data(), parent.data(), heap_key.data(),
                       heap_entry.data(), chosen.data(), &conflicts);
  check_growth(graph, parent, chosen);
  launch_hook_unvisited(parent.size(), lists.offset.data(), lists.edge.data(), lists.other.data(), row.data(),
                        tree.data(), parent.data(), chosen.data());
  check_growth(graph, parent, chosen);
}

template <typename K> void partial_prim(const Graph& graph) {
  for (u64 span : {2, 7, 100})
    for (u32 sorted : {0u, 1u}) grow<K>(graph, span, sorted);
}

void statuses(const Graph& graph) {
  std::vector<u32> degree(graph.vertices), expected(graph.vertices);
  launch_count_ends(graph.size(), graph.source.data(), graph.target.data(), nullptr, degree.data());
  for (u64 i = 0; i < graph.size(); ++i) {
    ++expected[graph.source[i]];
    ++expected[graph.target[i]];
  }
  CHECK(degree == expected);
}

// Mastiff's columns, and the steps that follow the search for lightest edges.
struct Statuses {
  std::vector<u32> parent, group, size, winner, roots;
  std::vector<u64> largest, best;
  std::vector<u8> exempt;
  u32 greatest = 0;

  Statuses(const Graph& graph, const Forest& forest)
      : parent(iota(graph.vertices)), group(forest.parent), size(graph.vertices, 1), winner(graph.vertices),
        largest(graph.vertices), best(graph.vertices, NONE), exempt(graph.vertices) {
    elect(nullptr, graph.vertices);
  }

  void elect(const u32* list, u64 count) {
    std::vector<u32> next(count);
    std::vector<u64> flags(words(count));
    launch_stand(count, list, parent.data(), group.data(), size.data(), largest.data(), &greatest);
    launch_elect(count, list, parent.data(), group.data(), largest.data(), winner.data(), best.data(), exempt.data(),
                 next.data(), flags.data());
    std::vector<u32> looking;
    for (u64 i = 0; i < count; ++i)
      if (flagged(flags, i)) looking.push_back(next[i]);
    roots = looking;
  }

  void join(const u32* list, u64 count, const u32* first, const u32* second, u64* chosen) {
    std::vector<u32> top(count);
    u32 depth = 0;
    launch_append(count, list, first, second, best.data(), nullptr, parent.data(), chosen);
    launch_find_tops(count, list, parent.data(), 1, top.data(), &depth);
    if (depth > 1) launch_halve_paths(parent.size(), parent.data());
    launch_find_tops(count, list, parent.data(), ~0u, top.data(), &depth);
    launch_settle(count, list, top.data(), best.data(), parent.data(), size.data());
    elect(list, count);
  }
};

template <typename K> void mastiff(const Graph& graph, bool frontier) {
  const std::vector<K> key(graph.weight.begin(), graph.weight.end());
  const Forest forest(graph);
  Statuses statuses(graph, forest);
  std::vector<u32> first = graph.source, second = graph.target, listed;
  std::vector<u64> chosen(words(graph.size()));
  std::vector<u8> touched(words(graph.size()));
  for (u32 round = 0; !statuses.roots.empty(); ++round) {
    // Carried ends are components of the last round: their parents are known in either form.
    launch_lightest_of_roots(K(), touched.size(), first.data(), second.data(), key.data(), graph.size(),
                             round ? statuses.parent.data() : nullptr, statuses.exempt.data(), first.data(),
                             second.data(), statuses.best.data(), touched.data());
    const bool sparse = frontier && round;
    listed = statuses.roots;
    statuses.join(sparse ? listed.data() : nullptr, sparse ? listed.size() : graph.vertices, first.data(),
                  second.data(), chosen.data());
  }
  CHECK(forest.equals(chosen));
}

template <typename K> void mastiff(const Graph& graph) {
  mastiff<K>(graph, false);
  mastiff<K>(graph, true);
}

template <typename K> void strut(const Graph& graph) {
  const std::vector<K> key(graph.weight.begin(), graph.weight.end());
  std::vector<u64> best(graph.vertices, NONE), expected(graph.vertices, NONE);
  launch_propose_to_ends(K(), graph.size(), graph.source.data(), graph.target.data(), key.data(), best.data());
  for (u32 edge : order_by_weight(graph)) {
    if (graph.source[edge] == graph.target[edge]) continue;
    for (u32 end : {graph.source[edge], graph.target[edge]})
      if (expected[end] == NONE) expected[end] = edge;
  }
  for (u32 vertex = 0; vertex < graph.vertices; ++vertex)
    CHECK(best[vertex] == NONE ? expected[vertex] == NONE : (u32)best[vertex] == expected[vertex]);
}

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
