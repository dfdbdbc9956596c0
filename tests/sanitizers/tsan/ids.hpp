// The table of ids: integers and texts, all of a graph's sources and then its targets.
#pragma once
#include "harness.hpp"

namespace {

const u64 LOW = 0x9e3779b97f4a7c15ull, HIGH = 0xd6e8feb86659fd93ull;  // keys of the hashes

// Numbers in the order of first occurrence.
std::vector<u32> numbered(const std::vector<u32>& ids) {
  std::map<u32, u32> numbers;
  std::vector<u32> expected;
  for (u32 id : ids) expected.push_back(numbers.emplace(id, (u32)numbers.size()).first->second);
  return expected;
}

// The steps of IdTable._encode_block for unknown ids; returns how many there are.
u32 number_new(const std::vector<u64>& word, const std::vector<u64>& claimed, u32 begin, std::vector<u64>& table,
               u64* known, std::vector<u32>& number, std::vector<u32>& first) {
  std::vector<u32> position;
  for (u32 i = 0; i < number.size(); ++i)
    if (number[i] == ~0u) position.push_back(i);
  std::vector<u64> flags(words(position.size()));
  launch_flag_first(flags.size(), position.data(), claimed.data(), table.data(), position.size(), flags.data());
  first.clear();
  for (u64 i = 0; i < position.size(); ++i)
    if (flagged(flags, i)) first.push_back(position[i]);
  launch_number_ids(first.size(), first.data(), word.data(), claimed.data(), begin, table.data(), known);
  launch_read_numbers(position.size(), position.data(), claimed.data(), table.data(), number.data());
  return (u32)first.size();
}

std::vector<u32> ends_of(const Graph& graph) {
  std::vector<u32> ends = graph.source;
  ends.insert(ends.end(), graph.target.begin(), graph.target.end());
  return ends;
}

void integer_ids(const Graph& graph) {
  const std::vector<u32> ends = ends_of(graph), expected = numbered(ends);
  const u64 slots = 2 * graph.vertices + 3, half = ends.size() / 2;
  std::vector<u64> table(slots, NONE), known(graph.vertices), claimed(half);
  std::vector<u32> all, number(half), first;
  const u64* const no_offset = nullptr;
  const u8* const no_text = nullptr;
  u32 count = 0;
  u64 crowded = 0;
  for (u64 begin : {(u64)0, half}) {
    std::vector<u64> word(ends.begin() + begin, ends.begin() + begin + half);
    for (u64& id : word) id *= 0x9e3779b97f4a7c15ull;
    launch_claim_ids((half + 63) / 64, word.data(), no_offset, no_text, half, 64, LOW, HIGH, known.data(), no_text,
                     table.data(), slots, &crowded, claimed.data(), number.data());
    count += number_new(word, claimed, count, table, known.data(), number, first);
    all.insert(all.end(), number.begin(), number.end());
  }
  CHECK(all == expected && !crowded);
  std::vector<u64> larger(3 * slots, NONE);
  launch_place_ids(count, known.data(), 0, LOW, HIGH, larger.data(), larger.size(), &crowded);
  std::vector<u32> again(count);
  launch_claim_ids((count + 2) / 3, known.data(), no_offset, no_text, count, 3, LOW, HIGH, known.data(), no_text,
                   larger.data(), larger.size(), &crowded, claimed.data(), again.data());
  CHECK(again == iota(count));
  std::vector<u64> wide(ends.begin(), ends.end()), few(2 * ends.size() + 1, 0);
  std::vector<u32> positions(ends.size() + 1);
  again.resize(ends.size());
  launch_number_few(u32(), 1, ends.data(), no_text, ends.size(), LOW, HIGH, few.data(), few.size(), again.data(),
                    positions.data());
  CHECK(again == expected && positions.back() == count);
  launch_number_few(u64(), 1, wide.data(), no_text, wide.size(), LOW, HIGH, few.data(), few.size(), again.data(),
                    positions.data());
  CHECK(again == expected && positions.back() == count);
}

// One hash for all: threads find the table crowded while others claim slots.
void crowded_ids() {
  std::vector<u64> word(2000, 7), offset(1, 0), claimed(2000), table(4096, NONE), known(1);
  std::string text;
  for (u32 j = 0; j < 2000; ++j) {
    text += std::to_string(j);
    offset.push_back(text.size());
  }
  const u8* const bytes = (const u8*)text.data();
  std::vector<u32> number(2000);
  u64 crowded = 0;
  launch_claim_ids(250, word.data(), offset.data(), bytes, 2000, 8, LOW, HIGH, known.data(), bytes, table.data(), 4096,
                   &crowded, claimed.data(), number.data());
  CHECK(crowded && number == std::vector<u32>(2000, ~0u));
  std::fill(table.begin(), table.end(), NONE);
  crowded = 0;
  launch_place_ids(2000, word.data(), 0, LOW, HIGH, table.data(), 4096, &crowded);
  CHECK(crowded);
}

void text_ids(const Graph& graph) {
  const std::vector<u32> ends = ends_of(graph), expected = numbered(ends);
  std::string text;
  std::vector<u64> offset{0};
  for (u32 end : ends) {
    text += std::string(end % 7, 'x') + std::to_string(end);
    offset.push_back(text.size());
  }
  const u8* const bytes = (const u8*)text.data();
  const u64 length = ends.size(), slots = 2 * graph.vertices + 3;
  std::vector<u64> word(length), claimed(length), table(slots, NONE), known(1, 0), begins;
  launch_hash_texts(length, offset.data(), bytes, LOW, HIGH, word.data());
  for (u64& hash : word) hash &= 511;  // few hashes: the bytes must decide
  u64 crowded = 0;
  std::vector<u32> number(length), first;
  std::vector<u8> copy(text.size());
  launch_claim_ids((length + 63) / 64, word.data(), offset.data(), bytes, length, 64, LOW, HIGH, known.data(),
                   copy.data(), table.data(), slots, &crowded, claimed.data(), number.data());
  number_new(word, claimed, 0, table, nullptr, number, first);
  CHECK(number == expected);
  for (u32 at : first) {
    begins.push_back(offset[at]);
    known.push_back(known.back() + offset[at + 1] - offset[at]);
  }
  launch_copy_texts(first.size(), begins.data(), bytes, known.data(), copy.data());
  std::vector<u32> again(length);
  launch_claim_ids((length + 63) / 64, word.data(), offset.data(), bytes, length, 64, LOW, HIGH, known.data(),
                   copy.data(), table.data(), slots, &crowded, claimed.data(), again.data());
  CHECK(again == expected);
  std::vector<u64> few(2 * length + 1, 0);
  std::vector<u32> positions(length + 1);
  launch_number_few(u64(), 1, offset.data(), bytes, length, LOW, HIGH, few.data(), few.size(), again.data(),
                    positions.data());
  CHECK(again == expected && positions.back() == first.size());
}

}  // namespace
