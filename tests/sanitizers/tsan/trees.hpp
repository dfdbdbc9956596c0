// Functions of forests: dendrograms, tours, ways to terminals, merges with conditions.
#pragma once
#include "subtrees.hpp"

namespace {

// The forest's edges in ascending order.
struct Ordered {
  std::vector<u32> source, target;

  explicit Ordered(const Graph& graph) {
    const Forest forest(graph);
    for (u32 row : order_by_weight(graph)) {
      if (!forest.rows.count(row)) continue;
      source.push_back(graph.source[row]);
      target.push_back(graph.target[row]);
    }
  }
  u64 size() const { return source.size(); }
};

std::vector<u64> sorted_by_high_half(std::vector<u64> records) {
  std::stable_sort(records.begin(), records.end(), [](u64 a, u64 b) { return a >> 32 < b >> 32; });
  return records;
}

void dendrogram(const Graph& graph) {
  const Ordered forest(graph);
  const u64 edges = forest.size(), n = graph.vertices;
  std::vector<u32> lightest(2 * n + 1, ~0u), up(2 * n + 1), one(edges), two(edges), rank = iota(edges);
  std::vector<u32> source = forest.source, target = forest.target;
  std::vector<u64> bases = {0};
  u64 base = 0, vertices = n;
  while (!source.empty()) {
    std::vector<u32> first(vertices, ~0u), parent(vertices), number(vertices);
    launch_first_edges(source.size(), source.data(), target.data(), first.data());
    launch_hook_along(vertices, source.data(), target.data(), rank.data(), first.data(), parent.data(), &lightest[base]);
    jump(parent);
    std::vector<u64> flags(words(vertices)), heavier(words(source.size()));
    launch_flag_linked_roots(flags.size(), parent.data(), first.data(), vertices, flags.data());
    u32 roots = 0;
    for (u32 vertex = 0; vertex < vertices; ++vertex)
      if (flagged(flags, vertex)) number[vertex] = roots++;
    launch_lead_up(vertices, parent.data(), number.data(), base + vertices, &up[base]);
    launch_flag_heavier(heavier.size(), source.data(), target.data(), rank.data(), source.size(), first.data(), base,
                        one.data(), two.data(), heavier.data());
    std::vector<u32> position;
    for (u32 edge = 0; edge < source.size(); ++edge)
      if (flagged(heavier, edge)) position.push_back(edge);
    std::vector<u32> next_source(position.size()), next_target(position.size()), next_rank(position.size());
    launch_gather_heavier(position.size(), position.data(), source.data(), target.data(), rank.data(), &up[base],
                          base + vertices, next_source.data(), next_target.data(), next_rank.data());
    source = next_source;
    target = next_target;
    rank = next_rank;
    base += vertices;
    bases.push_back(base);
    vertices = roots;
  }
  bases.push_back(base + vertices);
  std::vector<u64> records(edges), left(edges), right(edges);
  launch_find_chains(edges, one.data(), up.data(), lightest.data(), records.data());
  records = sorted_by_high_half(records);
  std::vector<u32> begin(bases.back()), top(bases.back()), added(edges), total(bases.back()), size(edges);
  launch_bound_chains(edges, records.data(), edges, begin.data(), top.data());
  launch_list_merges(edges, records.data(), begin.data(), top.data(), one.data(), two.data(), lightest.data(), n,
                     left.data(), right.data());
  for (u64 level = 1, place = 0; level + 1 < bases.size(); ++level) {
    u64 end = place;
    while (end < edges && records[end] >> 32 < bases[level + 1]) ++end;
    launch_count_added(end - place, &records[place], one.data(), two.data(), lightest.data(), n, total.data(),
                       &added[place]);
    std::partial_sum(&added[place], &added[end], &added[place]);
    launch_size_merges(end - place, &records[place], &added[place], begin.data(), top.data(), place, total.data(),
                       size.data());
    place = end;
  }
  std::vector<u64> ends, one_left(edges), one_right(edges);
  for (u64 i = 0; i < edges; ++i) ends.push_back((u64)forest.source[i] << 32 | forest.target[i]);
  std::vector<u32> parent = iota(n), sizes(n, 1), last(n), merged(edges);
  u64 cycle = NONE;
  launch_link_trees(1, ends.data(), edges, parent.data(), sizes.data(), nullptr, &cycle, n, last.data(), one_left.data(),
                    one_right.data(), merged.data());
  CHECK(left == one_left && right == one_right && size == merged);
}

template <typename V> void reach(const Graph& graph, const std::vector<u32>& order) {
  const std::vector<V> source(graph.source.begin(), graph.source.end()), target(graph.target.begin(), graph.target.end());
  std::vector<u8> chosen(graph.size());
  for (u64 i = 0; i < graph.size(); i += 3) chosen[i] = 1;
  std::vector<u32> least = iota(graph.vertices), greatest = least, low = least, high = least;
  launch_reach_orders(V(), graph.size(), source.data(), target.data(), chosen.data(), order.data(), least.data(),
                      greatest.data());
  for (u64 i = 0; i < graph.size(); ++i) {
    if (chosen[i]) continue;
    const auto [a, b] = std::minmax(order[graph.source[i]], order[graph.target[i]]);
    low[b] = std::min(low[b], a);
    high[a] = std::max(high[a], b);
  }
  CHECK(least == low && greatest == high);
}

void tour(const Graph& graph) {
  const Ordered forest(graph);
  const std::vector<u32> root = Forest(graph).parent;
  const u64 edges = forest.size(), arcs = 2 * edges, n = graph.vertices;
  std::vector<u64> records(arcs), offset(n + 1), walked(arcs);
  std::vector<u32> place(arcs), next(arcs), after(n, ~1u), rank(arcs), twin(arcs), turns(arcs);
  std::vector<u8> away(arcs);
  launch_arc_records(arcs, forest.source.data(), forest.target.data(), edges, records.data());
  records = sorted_by_high_half(records);
  launch_arc_places(arcs, records.data(), place.data());
  launch_list_offsets(arcs + 1, records.data(), arcs, n, offset.data());
  u32 behind = ~0u;
  for (u32 vertex = n; vertex-- > 0;) {
    if (root[vertex] != vertex || offset[vertex] == offset[vertex + 1]) continue;
    after[vertex] = behind;
    behind = (u32)offset[vertex];
  }
  launch_follow_arcs(arcs, records.data(), place.data(), offset.data(), after.data(), edges, twin.data(),
                     next.data());
  const u64 splitters = (arcs + 63) / 64;
  std::vector<u32> onward(splitters + 1), steps(splitters + 1), base(splitters + 1);
  launch_walk_list((splitters + 8) / 8, next.data(), arcs, splitters, behind, walked.data(), onward.data(), steps.data());
  u32 passed = 0;
  for (u32 at = arcs ? (u32)splitters : ~0u; at != ~0u; at = onward[at]) {
    base[at] = passed;
    passed += steps[at];
  }
  CHECK(passed == arcs);
  launch_rank_list(arcs, walked.data(), base.data(), rank.data());
  std::vector<u32> parent = iota(n), edge(n, ~0u), first(n), last(n), depth(n), order(n), size(n), tree(n), begin = {0};
  launch_lead_away(arcs, records.data(), twin.data(), rank.data(), edges, away.data(), parent.data(), edge.data(),
                   first.data(), last.data());
  u32 sum = 0;
  for (u64 i = 0; i < arcs; ++i) turns[i] = sum += away[i];
  for (u32 vertex = 0; vertex < n; ++vertex) {
    if (root[vertex] != vertex) continue;
    tree[vertex] = (u32)begin.size() - 1;
    begin.push_back(begin.back() + (u32)std::count(root.begin(), root.end(), vertex));
  }
  launch_number_tree(n, turns.data(), edge.data(), first.data(), last.data(), root.data(), tree.data(), begin.data(),
                     depth.data(), order.data(), size.data());
  std::vector<u32> sequence(n, ~0u), sizes(n, 1);
  for (u32 vertex = 0; vertex < n; ++vertex) sequence[order[vertex]] = vertex;
  for (u64 i = n; i-- > 0;) {
    const u32 vertex = sequence[i], above = parent[vertex];
    CHECK(above == vertex ? root[vertex] == vertex : order[above] < i && depth[vertex] == depth[above] + 1);
    if (above != vertex) sizes[above] += sizes[vertex];
  }
  CHECK(size == sizes);
  for (const u32 real : {0, 1}) {
    std::vector<u32> begin(n + 1), above(n), room(n), one(n), two(n), three(n), four(n), five(n), greatest(n);
    std::vector<u64> arc(4 * n), queue(n), sum(n), length(edges, real ? 0x3FF0000000000000 : 1);
    launch_visit_levels(1, forest.source.data(), forest.target.data(), edges, length.data(), real, root.data(), n,
                        begin.data(), arc.data(), queue.data(), above.data(), room.data(), one.data(), two.data(),
                        three.data(), four.data(), five.data(), sum.data(), greatest.data());
    CHECK(parent == one && edge == two && depth == three && order == four && size == five);
    for (u32 vertex = 0; vertex < n; ++vertex) {
      CHECK(real ? (double)depth[vertex] == real_of(sum[vertex]) : depth[vertex] == sum[vertex]);
      CHECK((greatest[vertex] == ~0u) == (depth[vertex] == 0) && greatest[vertex] >= edge[vertex]);
    }
  }
  std::vector<u32> tops;
  for (u32 vertex = 0; vertex < n; ++vertex)
    if (parent[vertex] == vertex) tops.push_back(vertex);
  std::vector<u8> letters(n, 'a'), digits(edges, '1'), text(2 * n + 5 * edges + tops.size());
  std::vector<i64> name_begin(n + 1), length_begin(edges + 1);
  std::iota(name_begin.begin(), name_begin.end(), 0);
  std::iota(length_begin.begin(), length_begin.end(), 0);
  std::vector<u64> end(tops.size());
  launch_write_trees(1, tops.data(), tops.size(), sequence.data(), parent.data(), edge.data(), order.data(), size.data(),
                     letters.data(), name_begin.data(), n, digits.data(), length_begin.data(), text.data(), end.data());
  CHECK((u64)std::count(text.begin(), text.begin() + end.back(), 'a') == n);
  CHECK((u64)std::count(text.begin(), text.begin() + end.back(), ':') == edges);
  CHECK((u64)std::count(text.begin(), text.begin() + end.back(), ';') == tops.size());
  reach<u32>(graph, order);
  reach<u64>(graph, order);
}

template <typename W> void terminals(const Graph& graph) {
  const Incidence lists(graph, iota(graph.size()));
  const u32 n = graph.vertices;
  std::vector<W> length;
  for (u32 edge : lists.edge) length.push_back(graph.weight[edge] + 1);
  std::vector<u64> distance(n, NONE), waiting(words(n)), marked(words(n));
  std::vector<u32> front = {0, n - 1}, parent(n), via(n);
  std::vector<u8> open(n);
  distance[0] = distance[n - 1] = 0;
  while (!front.empty()) {
    std::fill(waiting.begin(), waiting.end(), 0);
    launch_search_around(W(), front.size(), front.data(), lists.offset.data(), lists.other.data(), length.data(),
                         distance.data(), waiting.data());
    front.clear();
    for (u32 vertex = 0; vertex < n; ++vertex)
      if (flagged(waiting, vertex)) front.push_back(vertex);
  }
  launch_lead_back(W(), n, lists.offset.data(), lists.edge.data(), lists.other.data(), length.data(), distance.data(),
                   parent.data(), via.data(), open.data());
  const std::vector<u32> all = iota(n);
  launch_mark_ways(n, all.data(), parent.data(), marked.data());
  CHECK(ones(marked) == n);
  for (u32 vertex = 0; vertex < n; ++vertex) {
    CHECK(open[vertex] == (distance[vertex] == 0));
    for (u64 at = lists.offset[vertex]; at < lists.offset[vertex + 1]; ++at)
      CHECK(distance[vertex] == NONE || distance[lists.other[at]] <= unit_none::further(distance[vertex], length[at]));
    if (distance[vertex] == 0 || distance[vertex] == NONE) continue;
    CHECK((graph.source[via[vertex]] ^ graph.target[via[vertex]] ^ parent[vertex]) == vertex);
    CHECK(distance[vertex] == unit_none::further(distance[parent[vertex]], (W)(graph.weight[via[vertex]] + 1)));
  }
}

void conditions(const Graph& graph) {
  const u32 n = graph.vertices, most = 20;
  std::vector<u32> parent = iota(n), size(n, 1), mark(n), next = iota(n), stamp(200);
  std::vector<u64> signature(n), state = {0, n};
  for (u32 vertex = 0; vertex < n; ++vertex) {
    mark[vertex] = vertex % 200;
    signature[vertex] = 1ull << mark[vertex] % 64;
  }
  launch_merge_within(1, graph.source.data(), graph.target.data(), graph.size(), 1, most, mark.data(), 200, parent.data(),
                      size.data(), signature.data(), next.data(), stamp.data(), state.data());
  std::map<u32, std::set<u32>> marks;
  std::map<u32, u32> counts;
  for (u32 vertex = 0; vertex < n; ++vertex) {
    const u32 cluster = find(parent, vertex);
    CHECK(marks[cluster].insert(mark[vertex]).second && ++counts[cluster] <= most);
  }
  CHECK(counts.size() == state[1]);
}

// All pairs of some vertices, with the graph's weights: as a square, and the entries above its diagonal.
template <typename W> void matrix(const Graph& graph) {
  const u64 n = std::min(graph.vertices, 40u);
  Graph pairs{(u32)n, {}, {}, {}};
  std::vector<W> square(n * n), above;
  for (u64 row = 0; row < n; ++row)
    for (u64 column = row + 1; column < n; ++column) {
      pairs.source.push_back(row);
      pairs.target.push_back(column);
      pairs.weight.push_back(graph.weight[above.size()]);
      square[row * n + column] = square[column * n + row] = (W)pairs.weight.back();
      above.push_back((W)pairs.weight.back());
    }
  std::vector<u64> wanted;
  for (u32 row : Forest(pairs).rows) wanted.push_back((u64)pairs.source[row] << 32 | pairs.target[row]);
  std::vector<W> offered(n), nearest(n);
  std::vector<u32> other(n), vertex(n);
  for (const std::vector<W>& weight : {square, above}) {
    std::vector<u64> chosen(n - 1);
    launch_span_matrix(W(), 1, weight.data(), n, weight.size() == n * n, offered.data(), nearest.data(), other.data(),
                       vertex.data(), chosen.data());
    std::sort(chosen.begin(), chosen.end());
    CHECK(chosen == wanted);
  }
}

}  // namespace
