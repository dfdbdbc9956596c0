// Boruvka's rounds inside ranges of vertices.
#pragma once
#include "harness.hpp"

namespace {

// A third of the edges end in vertex 0, so that most of them are cut; the others get near ends. V: the type of ids,
// W: of weights; `whole`: whether edges whose leading bits agree compare by whole keys.
template <typename V, typename W> void ranges(const Graph& drawn, u32 width, bool whole) {
  Graph graph = drawn;
  for (u64 i = 0; i < graph.size(); ++i)
    if (i % 3) graph.target[i] = std::min(graph.source[i] + graph.target[i] % 9, graph.vertices - 1);
  const Forest forest(graph);
  const u64 length = graph.size(), block = 64, blocks = (length + block - 1) / block;
  const u64 count = (graph.vertices + (1ull << width) - 1) >> width;
  const std::vector<V> source(graph.source.begin(), graph.source.end());
  const std::vector<V> target(graph.target.begin(), graph.target.end());
  const std::vector<W> weight(graph.weight.begin(), graph.weight.end());
  u64 inside = NONE;
  launch_count_inside(V(), 1, source.data(), target.data(), 1ull << 32, 1, length, width, &inside);
  std::vector<u8> bucket(length), marks(length);
  std::vector<u64> places((count + 1) * blocks), starts(count + 2), largest(blocks);
  launch_count_ranges(V(), blocks, source.data(), target.data(), length, block, width, count, bucket.data(),
                      places.data(), blocks, largest.data());
  CHECK(*std::max_element(largest.begin(), largest.end()) < graph.vertices);
  launch_place_buckets(1, places.data(), count + 1, blocks, starts.data());
  CHECK(starts[count] == inside);

  std::vector<u32> leading(length), narrow(length), position(length), limit(graph.vertices, ~0u);
  const u64 words_of_room = 2 * length + ((width <= 16 ? 3ull : 5ull) << width);
  std::vector<u64> wide(length), key(length), room(THREADS * words_of_room), components(count + 1);
  for (u64 i = 0; i < length; ++i) key[i] = key_of(weight[i], 0);
  const auto [least, greatest] = std::minmax_element(key.begin(), key.end());
  u32 spread = 0;
  while (spread < 63 && (*greatest - *least) >> spread) ++spread;
  const u32 shift = whole && spread ? spread - 1 : 0;  // one leading bit tells edges apart, and all else their keys
  u32* const two_bytes = width <= 16 ? narrow.data() : nullptr;
  u64* const four_bytes = width <= 16 ? nullptr : wide.data();
  u32 missing = 0, cut_off = 0;
  launch_scatter_ranges(W(), blocks, (const u32*)source.data(), (const u32*)target.data(), sizeof(V) / 4,
                        weight.data(), 0, whole ? *least : 0, shift, bucket.data(), length, block, width, count,
                        places.data(), blocks, leading.data(), two_bytes, four_bytes,
                        whole ? position.data() : nullptr, &missing, &cut_off);
  CHECK(!missing && !cut_off);
  const u64 cut = starts[count];
  launch_limit_ends(V(), length - cut, source.data(), target.data(), leading.data() + cut,
                    two_bytes ? two_bytes + cut : nullptr, four_bytes ? four_bytes + cut : nullptr, limit.data(),
                    marks.data() + cut);
  u32 next = 0;
  launch_solve_ranges(THREADS, starts.data(), count, graph.vertices, width, whole ? key.data() : nullptr, 0, 0,
                      whole ? position.data() : nullptr, leading.data(), two_bytes, four_bytes, length, room.data(),
                      limit.data(), marks.data(), components.data(), &next);

  std::vector<u64> after(places.size()), offsets(blocks + 1), chosen(words(length));
  launch_count_put_off(blocks, marks.data(), length, count, places.data(), blocks, after.data());
  launch_place_put_off(1, after.data(), starts.data(), count, blocks, offsets.data(), components.data());
  const std::vector<u32> row = iota(length);
  Graph rest{(u32)components[count], std::vector<u32>(offsets[blocks]), std::vector<u32>(offsets[blocks]), {}};
  std::vector<u32> from(offsets[blocks]), later_keys(offsets[blocks]);
  launch_take_put_off(V(), blocks, source.data(), target.data(), bucket.data(), length, block, width, count,
                      places.data(), blocks, marks.data(), two_bytes, four_bytes, after.data(), limit.data(),
                      components.data(), row.data(), chosen.data(), offsets.data(), leading.data(), from.data(),
                      rest.source.data(), rest.target.data(), later_keys.data());
  for (u64 j = 0; j < from.size(); ++j) {
    CHECK(whole || later_keys[j] == (u32)key[from[j]]);
    rest.weight.push_back(graph.weight[from[j]]);
  }
  for (u32 edge : Forest(rest).rows) set_flag(chosen.data(), from[edge]);  // joins what the ranges have left apart
  CHECK(forest.equals(chosen));
}

}  // namespace
