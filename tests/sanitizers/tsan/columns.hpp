// Vertex, weight and key columns.
#pragma once
#include "steps.hpp"

namespace {

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
  launch_flag_doubtful(V(), marked.size(), source.data(), target.data(), source.size(), flagged_too.data(),
                       marked.data(), none.data(), doubtful.data());  // all of them light
  CHECK(doubtful == marked);
}

template <typename V> void vertices(const Graph& graph) {
  const u64 length = graph.size();
  const std::vector<V> source(graph.source.begin(), graph.source.end());
  const std::vector<V> target(graph.target.begin(), graph.target.end());
  const std::vector<u32> position = iota(length);
  const Forest forest(graph);

  std::vector<u64> every(words(length), NONE), offsets(every.size() + 1);
  for (u64 i = 0; i < offsets.size(); ++i) offsets[i] = i * 64;
  std::vector<V> positions(every.size() * 64);
  launch_list_flags(V(), every.size(), every.data(), every.size(), 1, offsets.data(), positions.data());
  CHECK(positions.back() == positions.size() - 1);
  std::vector<V> at_once(positions.size());
  std::vector<u64> sums(every.size() + 3);
  u32 met = 0;
  launch_compact_flags(V(), every.size(), &met, every.data(), every.size(), sums.data(), at_once.data());
  CHECK(at_once == positions);

  const std::vector<u32> names = iota(graph.vertices);
  std::vector<u32> drawn(length);
  launch_sample_labels(V(), length, source.data(), 1ull << 32, 1, names.data(), names.size(), drawn.data());
  CHECK(drawn == graph.source);

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

  std::vector<u64> joined(words(graph.vertices));
  launch_flag_joined(joined.size(), parent.data(), parent.size(), joined.data());
  const std::vector<u32> numbers = iota(graph.vertices);
  std::vector<u32> members(graph.vertices);
  launch_count_members(numbers.size(), numbers.data(), parent.data(), 0, members.size(), members.data());
  for (u32 vertex : numbers) CHECK(flagged(joined, vertex) == (members[parent[vertex]] > 1));
  for (u32 vertex : numbers) CHECK(!members[vertex] || parent[vertex] == vertex);

  std::vector<u32> first(length), second(length);
  launch_gather_labels(V(), length, source.data(), target.data(), nullptr, parent.data(), first.data(), second.data());
  CHECK(first == second);

  std::vector<u8> level(graph.vertices), latest(length);
  for (u32 i = 0; i < graph.vertices; ++i) level[i] = (u8)(1 + i % 255);
  const std::vector<u32> tree(graph.vertices, 0);
  for (const u32* trees : {(const u32*)nullptr, tree.data()}) {
    launch_latest_levels(V(), length, source.data(), target.data(), level.data(), trees, latest.data());
    for (u64 i = 0; i < length; ++i)
      CHECK(latest[i] == (source[i] == target[i] ? 0 : std::max(level[source[i]], level[target[i]])));
  }

  const std::vector<u32> apart = iota(graph.vertices);
  std::vector<u64> crossing(words(length));
  launch_flag_crossing(V(), crossing.size(), source.data(), target.data(), length, apart.data(), nullptr,
                       crossing.data());
  for (u64 i = 0; i < length; ++i) CHECK(flagged(crossing, i) == (source[i] != target[i]));

  // A giant of every other vertex. Of several threads, all may tell of the first id outside.
  std::vector<u64> giant(words(graph.vertices), 0), leaving(words(length)), aside(words(length));
  for (u64 i = 0; i < graph.vertices; i += 2) giant[i >> 6] |= 1ull << (i & 63);
  std::vector<u8> inside_giant(graph.vertices, 0);
  for (u64 i = 0; i < graph.vertices; i += 2) inside_giant[i] = 1;
  const std::vector<u32> few(16, ~0u);  // any vertex may be outside
  for (u32 way : {0, 1, 2, 3}) {
    const u8* bytes = way == 2 ? inside_giant.data() : nullptr;
    launch_flag_leaving(V(), leaving.size(), source.data(), target.data(), length, giant.data(), bytes, way == 1,
                        way == 3 ? few.data() : nullptr, way == 3 ? graph.vertices : 0, nullptr, leaving.data(),
                        aside.data());
    for (u64 i = 0; i < length; ++i) {
      CHECK(flagged(leaving, i) == (source[i] % 2 || target[i] % 2));
      CHECK(flagged(aside, i) == (source[i] % 2 && target[i] % 2));
    }
  }
  const u64 inside = *std::max_element(target.begin(), target.end());
  std::vector<u64> checked(leaving.size(), NONE), checked_aside(leaving.size(), NONE);
  u32 outside[2] = {0, 0};
  for (u64 vertices : {(u64)graph.vertices, inside}) {
    launch_find_outside(V(), checked.size(), source.data(), target.data(), length, vertices, &outside[0]);
    launch_flag_leaving_checked(V(), checked.size(), source.data(), target.data(), length, giant.data(),
                                inside_giant.data(), 0, nullptr, 0, nullptr, checked.data(), checked_aside.data(), vertices,
                                &outside[1]);
    if (vertices == graph.vertices) CHECK(checked == leaving && checked_aside == aside);
    CHECK(outside[0] == (vertices == inside) && outside[1] == (vertices == inside));
  }
  launch_drop_joined(V(), leaving.size(), source.data(), target.data(), apart.data(), aside.data(), leaving.data());
  for (u64 i = 0; i < length; ++i)
    CHECK(flagged(leaving, i) == ((source[i] % 2 || target[i] % 2) && source[i] != target[i]));
  const u64 block = 4, blocks = (length + 64 * block - 1) / (64 * block);
  for (const u64* bits : {(const u64*)giant.data(), (const u64*)nullptr}) {
    std::vector<u64> places(blocks + 1, NONE);
    std::vector<u32> position(length), first(length), second(length);
    u32 beyond = 0;
    places[0] = 0;
    launch_take_crossing(V(), blocks, source.data(), target.data(), length, block, bits, nullptr, 0, nullptr, 0, nullptr,
                         graph.vertices, &beyond, apart.data(), places.data(), length, position.data(), first.data(),
                         second.data());
    u64 taken = 0;
    for (u64 i = 0; i < length; ++i) {
      if (bits ? !flagged(leaving, i) : apart[source[i]] == apart[target[i]]) continue;
      CHECK(position[taken] == i && first[taken] == apart[source[i]] && second[taken] == apart[target[i]]);
      ++taken;
    }
    CHECK(places[blocks] == taken && !beyond);
  }
  u64 counted = 0, expected = 0;
  launch_count_crossing(V(), 1, source.data(), target.data(), 1ull << 32, 1, length, nullptr, apart.data(), apart.size(),
                        &counted);
  for (u64 i = 0; i < length; ++i) expected += apart[source[i]] != apart[target[i]];
  CHECK(counted == expected);
}

template <typename W> void weights(const Graph& graph) {
  typedef typename KeyOf<W>::type Key;
  const u64 length = graph.size(), block = 100, blocks = (length + block - 1) / block;
  const std::vector<W> weight(graph.weight.begin(), graph.weight.end());

  std::vector<u64> notes(4);
  launch_survey_edges(W(), blocks, graph.source.data(), graph.target.data(), 1, weight.data(), length, 1, notes.data());
  CHECK(notes[0] < graph.vertices && notes[1] == 0);
  CHECK(notes[2] == key_of(*std::max_element(weight.begin(), weight.end()), 0));
  CHECK(notes[3] == (Key)~key_of(*std::min_element(weight.begin(), weight.end()), 0));

  const std::vector<u32> position = iota(length);
  std::vector<Key> key(length), flipped(length);
  launch_gather_keys(W(), length, weight.data(), 0, position.data(), key.data());
  launch_gather_keys(W(), length, weight.data(), NONE, nullptr, flipped.data());
  for (u64 i = 1; i < length; ++i) {
    CHECK((key[i - 1] < key[i]) == (weight[i - 1] < weight[i]));
    CHECK((flipped[i - 1] < flipped[i]) == (weight[i - 1] > weight[i]));
  }

  std::vector<Key> sampled(length);
  launch_sample_keys(W(), length, weight.data(), 0, 1ull << 32, 1, sampled.data());
  CHECK(sampled == key);
  std::vector<u64> first(length), rank(3);
  launch_place_of_rank(Key(), 1, key.data(), length, length / 3, first.data(), rank.data());
  u64 before = 0;
  for (u64 i = 0; i < length; ++i) before += key[i] < key[rank[0]] || (key[i] == key[rank[0]] && i < rank[0]);
  CHECK(before == length / 3);

  const std::vector<u64> every(length / 64, NONE);
  const std::vector<u32> apart(graph.vertices, 0);
  std::vector<u64> best(1, NONE);
  launch_lightest_flagged(W(), every.size(), graph.source.data(), graph.target.data(), 1, apart.data(), 1,
                          weight.data(), 0, every.data(), best.data());
  CHECK((u32)best[0] == std::min_element(weight.begin(), weight.begin() + 64 * every.size()) - weight.begin());

  std::vector<u32> parent(2);
  std::vector<u64> chosen(words(length)), joined(2);
  const u64 lightest = (u32)best[0];
  best = {NONE, best[0], NONE, NONE};  // between two labels
  launch_scan_pairs(W(), 1, weight.data(), 0, nullptr, 2, best.data(), parent.data(), chosen.data(), joined.data());
  CHECK(joined[0] == 1 && joined[1] == 1 && ones(chosen) == 1 && flagged(chosen, lightest));

  std::vector<Key> taken(length), lowest(blocks), highest(blocks);
  launch_gather_span(W(), blocks, weight.data(), 0, position.data(), length, block, taken.data(), lowest.data(),
                     highest.data());
  CHECK(taken == key);
  for (u64 i = 0; i < blocks; ++i) {
    const auto begin = key.begin() + i * block, end = key.begin() + std::min((i + 1) * block, length);
    CHECK(lowest[i] == *std::min_element(begin, end) && highest[i] == *std::max_element(begin, end));
  }

  std::vector<u32> leading(length);
  u32 lost = 0;
  launch_gather_leading(W(), blocks, weight.data(), 0, position.data(), length, block, 0, 8 * sizeof(W) - 20, 20,
                        leading.data(), &lost);
  for (u64 i = 0; i < length; ++i) CHECK(leading[i] == (u64)key[i] >> (8 * sizeof(W) - 20));

  const u64 middle = length / 2;
  std::vector<u64> light(words(length));
  launch_flag_light(W(), light.size(), weight.data(), 0, length, key[middle], middle, light.data());
  for (u64 i = 0; i < length; ++i)
    CHECK(flagged(light, i) == (key[i] < key[middle] || (key[i] == key[middle] && i <= middle)));
  u32 missing = 0;
  std::vector<u64> checked(light.size(), NONE);
  launch_flag_light_checked(W(), light.size(), weight.data(), 0, length, key[middle], middle, checked.data(), &missing);
  CHECK(checked == light && !missing);

  std::vector<u8> latest(length);
  for (u64 i = 0; i < length; ++i) latest[i] = i % 5 ? 7 : 255;
  const std::vector<u64> limit(256, key[middle]);
  for (u32 ties : {0u, 1u}) {
    launch_flag_unjoined(W(), light.size(), weight.data(), 0, length, latest.data(), limit.data(), ties, light.data());
    for (u64 i = 0; i < length; ++i)
      CHECK(flagged(light, i) == (i % 5 == 0 || key[i] < key[middle] || (ties && key[i] == key[middle])));
  }
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

}  // namespace
