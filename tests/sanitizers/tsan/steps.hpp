// Columnar steps: flags, sorting, scans, Kruskal trees.
#pragma once
#include "harness.hpp"

namespace {

void flags(const Graph& graph) {
  const u64 length = graph.size(), block = 3, blocks = (words(length) + block - 1) / block;
  std::vector<u64> set(words(length)), counts(blocks + 1), offsets(blocks + 1);
  launch_set_flags(length, graph.target.data(), set.data());  // a few hundred words, every bit set several times
  CHECK(ones(set) == std::set<u32>(graph.target.begin(), graph.target.end()).size());
  launch_count_flags(blocks, set.data(), set.size(), block, counts.data());
  CHECK(std::accumulate(counts.begin(), counts.end(), 0ull) == ones(set));
  std::inclusive_scan(counts.begin(), counts.end(), offsets.begin());
  std::vector<u32> numbers(length), filled(length);
  launch_number_places(length, numbers.data());
  launch_fill_ones(length, filled.data());
  CHECK(numbers == iota(length) && std::count(filled.begin(), filled.end(), ~0u) == (i64)length);
  std::vector<u64> cleared(set);
  launch_clear_words(cleared.size(), cleared.data());
  CHECK(!ones(cleared));
  std::vector<u32> positions(ones(set));
  launch_list_flags(u32(), blocks, set.data(), set.size(), block, offsets.data(), positions.data());
  CHECK(std::is_sorted(positions.begin(), positions.end()));
  std::vector<u32> rows(positions.size());
  const std::vector<u8> bytes(graph.source.begin(), graph.source.end());
  const std::vector<u64> last_first{graph.size() - 1, 0};
  std::vector<u8> gathered_bytes(2);
  launch_gather_bytes(2, bytes.data(), last_first.data(), gathered_bytes.data());
  CHECK(gathered_bytes[0] == bytes.back() && gathered_bytes[1] == bytes[0]);
  launch_gather_rows(rows.size(), positions.data(), graph.source.data(), rows.data());
  for (u64 i = 0; i < rows.size(); ++i) CHECK(rows[i] == graph.source[positions[i]]);
  std::vector<u64> equal(words(length));
  launch_flag_equal(equal.size(), graph.source.data(), length, graph.source[0], equal.data());
  for (u64 i = 0; i < length; ++i) CHECK(flagged(equal, i) == (graph.source[i] == graph.source[0]));
  std::vector<u64> inside_flags(words(length)), often(2), others(2);
  std::vector<u8> inside(length);
  std::vector<u32> tables(16);
  launch_find_inside(1, graph.source.data(), length, graph.source[0], 32, inside_flags.data(), inside.data(),
                     tables.data(), others.data());
  u64 known = length;
  while (!flagged(equal, known - 1)) --known;
  CHECK(inside_flags == equal && others[0] == known - ones(equal) && others[1] == known);
  launch_most_frequent(1, graph.source.data(), length, often.data());
  CHECK(often[1] == (u64)std::count(graph.source.begin(), graph.source.end(), (u32)often[0]));
  std::vector<u32> sets = Forest(graph).parent, label(sets.size());
  launch_number_sets(1, sets.data(), sets.size(), label.data(), others.data());
  CHECK(sets == Forest(graph).parent && others[0] == 1 + *std::max_element(label.begin(), label.end()));
  std::vector<u64> beside(words(graph.vertices));
  launch_flag_beside(beside.size(), graph.target.data(), graph.vertices, graph.source.data(), 1, 1, beside.data());
  for (u64 i = 0; i < graph.vertices; ++i)
    CHECK(flagged(beside, i) == (graph.target[i] == graph.target[graph.source[1]]));
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

// A scan in portions: while one thread scans some buckets, the others sort the next ones. T: the type of keys and ids.
template <typename T> void portions(const Graph& graph) {
  const Forest forest(graph);
  const u64 length = graph.size(), block = 50, blocks = (length + block - 1) / block, digits = 8;
  const u32 top = *std::max_element(graph.weight.begin(), graph.weight.end());
  u32 bits = 0;
  while (top >> bits >= digits) ++bits;
  const std::vector<T> key(graph.weight.begin(), graph.weight.end());
  const std::vector<T> source(graph.source.begin(), graph.source.end());
  const std::vector<T> target(graph.target.begin(), graph.target.end());
  std::vector<u32> leading(length), parent = iota(graph.vertices), chosen(graph.vertices), order(length);
  launch_leading_bits(T(), length, key.data(), 0, 0, leading.data());
  std::vector<u64> counts(digits * blocks), places(counts.size()), starts(digits + 1, length);
  launch_count_leading(blocks, leading.data(), length, block, bits, 3, counts.data(), blocks);
  std::exclusive_scan(counts.begin(), counts.end(), places.begin(), 0ull);
  launch_place_buckets(1, counts.data(), digits, blocks, starts.data());
  CHECK(counts == places && starts[digits] == length && starts[1] == places[blocks]);
  std::vector<u64> records(length), ends(length), spare(length), other(length), found(1), rows(words(length));
  launch_scatter_edges(T(), blocks, leading.data(), length, block, bits, 3, places.data(), blocks, source.data(),
                       target.data(), nullptr, records.data(), ends.data());
  std::vector<u64> stops(digits);
  const std::vector<u64> unsorted = records, unsorted_ends = ends;
  std::vector<u64> inside(words(graph.vertices));
  for (bool drop : {true, false}) {
    records = unsorted;
    ends = unsorted_ends;
    parent = iota(graph.vertices);
    found[0] = 0;
    std::fill(rows.begin(), rows.end(), 0);
    for (u64 scanned = 0, first = 0, marked = 0, at = 0; at <= digits + 4; at += 4) {
      const u64 last = std::min(at + 4, digits), so_far = found[0];
      if (drop) {
        const u32 root = parent[parent[parent[parent[parent[graph.source[0]]]]]];
        launch_flag_below(inside.size(), parent.data(), graph.vertices, root, inside.data());
      }
      launch_scan_portion(2 + last - first, ends.data(), starts.data(), stops.data(), scanned, first,
                          graph.vertices - 1, parent.data(), chosen.data(), found.data(), marked, so_far, nullptr,
                          rows.data(), first, drop ? inside.data() : nullptr, bits, nullptr, 0, 0, records.data(), spare.data(), other.data());
      scanned = first;
      first = last;
      marked = so_far;
    }
    CHECK(forest.equals(rows));
  }
  launch_unpack_records(length, records.data(), order.data());
  CHECK(order == order_by_weight(graph));
  CHECK(forest.equals(rows));
  std::fill(rows.begin(), rows.end(), 0);
  parent = iota(graph.vertices);
  std::vector<u32> reserved(graph.vertices, ~0u), pending(1 << 16), waiting(128), joins(128);
  std::vector<u64> pending_ends(1 << 16), picked(words(length)), totals(2);
  launch_scan_blocks(1, ends.data(), length, graph.vertices, graph.vertices, 40, parent.data(), reserved.data(),
                     pending_ends.data(), pending.data(), waiting.data(), joins.data(), picked.data(), totals.data());
  launch_flag_picked(picked.size(), picked.data(), records.data(), nullptr, rows.data());
  CHECK(totals[0] == forest.rows.size());
  CHECK(forest.equals(rows));
  std::fill(rows.begin(), rows.end(), 0);
  parent = iota(graph.vertices);
  found[0] = 0;
  launch_scan_short(T(), 1, source.data(), target.data(), nullptr, nullptr, leading.data(), nullptr, length,
                    graph.vertices - 1, parent.data(), records.data(), spare.data(), chosen.data(), found.data(),
                    rows.data());
  CHECK(forest.equals(rows));
}

// A short table in one launch, and what that notes of an id that is no vertex.
template <typename W> void short_table(const Graph& graph) {
  const Forest forest(graph);
  const u64 length = graph.size();
  const std::vector<W> weight(graph.weight.begin(), graph.weight.end());
  std::vector<u64> room(3 * length + words(length) + (length + graph.vertices) / 2 + 3);
  launch_solve_short(W(), 1, graph.source.data(), graph.target.data(), 1, weight.data(), length, graph.vertices, 0,
                     room.data());
  CHECK(room[0] == forest.rows.size());
  CHECK(std::equal(forest.rows.begin(), forest.rows.end(), room.begin() + 1));
  launch_solve_short(W(), 1, graph.source.data(), graph.target.data(), 1, weight.data(), length,
                     *std::max_element(graph.source.begin(), graph.source.end()), 0, room.data());
  CHECK(room[0] == NONE);
}

// Threads walk the same long path, from many places.
void long_path(u32 vertices, u32 seed) {
  std::vector<u32> path = iota(vertices), parent = path;
  std::shuffle(path.begin(), path.end(), std::mt19937(seed));
  for (u32 i = 0; i + 1 < vertices; ++i) parent[path[i]] = path[i + 1];
  jump(parent);
  CHECK(std::all_of(parent.begin(), parent.end(), [&](u32 root) { return root == path.back(); }));
}

// The forest's edges by size in ascending order, and each vertex's root and last link.
struct Links {
  std::vector<u64> link, top;
  u64 cycle = NONE;

  Links(u32 vertices, const std::vector<u64>& ends) : link(vertices, NONE), top(vertices) {
    std::vector<u32> parent = iota(vertices), size(vertices, 1);
    launch_link_trees(1, ends.data(), ends.size(), parent.data(), size.data(), link.data(), &cycle, vertices, nullptr, nullptr,
                      nullptr, nullptr);
    launch_climb(vertices, link.data(), top.data());
  }
};

std::vector<u64> ends_of(const Graph& graph, const std::vector<u32>& rows) {
  std::vector<u64> ends;
  for (u32 row : rows) ends.push_back((u64)graph.source[row] << 32 | graph.target[row]);
  return ends;
}

void kruskal_tree(const Graph& graph) {
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
  const u32 ranks[3] = {(u32)rows.size() / 3, (u32)rows.size() / 2, ~0u};
  std::vector<u8> level(graph.vertices);
  launch_join_levels(level.size(), links.top.data(), (u32)(links.top[0] >> 32), ranks, 3, level.data());
  for (u32 i = 0; i < graph.vertices; ++i) {
    const u32 rank = (u32)links.top[i];
    CHECK(level[i] == (links.top[i] >> 32 != links.top[0] >> 32 ? 255 : 1 + (rank > ranks[0]) + (rank > ranks[1])));
  }
  rows.push_back(0);
  CHECK(Links(graph.vertices, ends_of(graph, rows)).cycle == rows.size() - 1);
}

}  // namespace
