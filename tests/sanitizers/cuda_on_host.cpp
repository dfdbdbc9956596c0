// Runs what the kernels expand to for CUDA on the host, a thread at a time: the part of portable.cuh that the CPU's
// build never sees. Grids smaller than the count must take every index once, and indices beyond 2^31 and 2^32 must come
// out whole. Memory for those is reserved, and only touched where a thread writes. tests/ptx runs what NVRTC makes of the
// kernels, in warps and in any order, but its arrays are real: none of them has 2^32 entries.
//
//   g++ -std=c++17 -O1 -fsanitize=undefined tests/sanitizers/cuda_on_host.cpp -o cuda_on_host && ./cuda_on_host
#include <sys/mman.h>

#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>

#define __CUDACC_RTC__
#define __global__
#define __device__
#define __forceinline__ inline

struct Place {
  unsigned x;
};
static Place gridDim, blockDim, blockIdx, threadIdx;

template <typename T> T swapped(T* p, T value) {
  const T before = *p;
  *p = value;
  return before;
}
template <typename T> T __ldca(const T* p) { return *p; }
template <typename T> T atomicMin(T* p, T value) { return swapped(p, value < *p ? value : *p); }
template <typename T> T atomicMax(T* p, T value) { return swapped(p, value > *p ? value : *p); }
template <typename T> T atomicOr(T* p, T value) { return swapped(p, (T)(*p | value)); }
template <typename T> T atomicAdd(T* p, T value) { return swapped(p, (T)(*p + value)); }
template <typename T> T atomicCAS(T* p, T expected, T value) { return swapped(p, *p == expected ? value : *p); }
static int __ffsll(long long word) { return __builtin_ffsll(word); }
static int __ffs(int word) { return __builtin_ffs(word); }
static int __popcll(unsigned long long word) { return __builtin_popcountll(word); }
static int __popc(unsigned word) { return __builtin_popcount(word); }
static unsigned long long __umul64hi(unsigned long long a, unsigned long long b) {
  return (unsigned long long)((unsigned __int128)a * b >> 64);
}
template <typename To, typename From> To bits(From x) {
  To found;
  std::memcpy(&found, &x, sizeof found);
  return found;
}
static unsigned __float_as_uint(float x) { return bits<unsigned>(x); }
static long long __double_as_longlong(double x) { return bits<long long>(x); }
static double __longlong_as_double(long long x) { return bits<double>(x); }
// A warp of which one thread has come.
static unsigned __activemask() { return 1u << (threadIdx.x & 31); }
static unsigned __ballot_sync(unsigned here, bool set) { return set ? here : 0; }
template <typename T> T __shfl_sync(unsigned, T value, int) { return value; }
// Nothing here runs a kernel in steps: its threads would wait for each other.
static void __syncthreads() {}
static void __threadfence() {}
static void __nanosleep(unsigned) {}

#include "../../dfmst/_engines/kernels/portable.cuh"
#include "../../dfmst/_engines/kernels/common.cuh"

#define TYPE none
#include "../../dfmst/_engines/kernels/cpu/unit.hpp"
#define TYPE u32
#include "../../dfmst/_engines/kernels/cpu/unit.hpp"
using namespace unit_none;

static void require(bool right, const char* what) {
  if (right) return;
  std::printf("wrong: %s\n", what);
  std::exit(1);
}

// All threads of a grid, one after the other.
template <typename Launch> void grid(unsigned blocks, unsigned threads, const Launch& launch) {
  gridDim.x = blocks;
  blockDim.x = threads;
  for (blockIdx.x = 0; blockIdx.x < blocks; ++blockIdx.x)
    for (threadIdx.x = 0; threadIdx.x < threads; ++threadIdx.x) launch();
}

// One thread of a grid.
template <typename Launch> void thread(unsigned blocks, unsigned threads, u64 number, const Launch& launch) {
  gridDim.x = blocks;
  blockDim.x = threads;
  blockIdx.x = (unsigned)(number / threads);
  threadIdx.x = (unsigned)(number % threads);
  launch();
}

template <typename T> T* reserved(u64 length) {
  void* found = mmap(nullptr, length * sizeof(T), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE,
                     -1, 0);
  require(found != MAP_FAILED, "address space for more than 2^32 entries");
  return (T*)found;
}

static void every_index_once() {
  for (u64 count : {0, 1, 63, 64, 65, 1000, 4097})
    for (unsigned blocks : {1u, 2u, 7u}) {
      std::vector<u64> drawn(count, 0);
      grid(blocks, 32, [&] { draw_below(count, 5, 1000, drawn.data()); });
      for (u64 i = 0; i < count; ++i) require(drawn[i] == below(draw(5, i), 1000), "an index of a small grid");
      std::vector<u32> place(count), taken(count, 0);
      std::vector<u32> next(count);
      for (u64 i = 0; i < count; ++i) place[i] = (u32)i, next[i] = (u32)((i + 1) % count);
      grid(blocks, 32, [&] { count_ends(count, place.data(), next.data(), nullptr, taken.data()); });
      for (u32 times : taken) require(times == (count > 1 ? 2 : 0), "an index taken once");  // a ring, without self-loops
    }
}

// A thread whose first index lies beyond 32 bits, and one that reaches such indices by strides of 2^31.
static void indices_beyond_32_bits() {
  const u64 count = (1ull << 32) + 1000;
  u64* number = reserved<u64>(count);
  for (u64 i : {(1ull << 32) - 1, 1ull << 32, (1ull << 32) + 999}) {
    thread(1u << 25, 256, i, [&] { draw_below(count, 7, ~0u, number); });
    require(number[i] == below(draw(7, i), ~0u), "an index beyond 2^32");
  }
  thread(1u << 23, 256, 5, [&] { draw_below(count, 9, ~0u, number); });
  for (u64 i : {5ull, (1ull << 31) + 5, (1ull << 32) + 5})
    require(number[i] == below(draw(9, i), ~0u), "a stride of 2^31");
  munmap(number, count * sizeof(u64));
}

// Rows beyond 2^31, at word 2^31 / 64 and behind: positions and flags are unsigned.
static void rows_beyond_31_bits() {
  const u64 rows = (1ull << 32) - 2, words = (rows + 63) / 64, word = words - 3;
  u64 *flags = reserved<u64>(words), *kept = reserved<u64>(words), offset = 0;
  u32 *source = reserved<u32>(rows), *target = reserved<u32>(rows);
  const u32 label[4] = {0, 0, 2, 2};
  for (u64 row : {(1ull << 31) + 7, word * 64, rows - 1}) {
    source[row] = 1;
    target[row] = 3;
    thread((unsigned)(words / 256 + 1), 256, row / 64,
           [&] { unit_u32::flag_crossing_u32(words, source, target, rows, label, nullptr, flags); });
    require(flags[row / 64] == 1ull << (row % 64), "an edge in a row beyond 2^31");
    u32 position = 0, first = 0, second = 0;
    // One block of one word, whose positions go to the front.
    thread((unsigned)(words / 256 + 1), 256, row / 64,
           [&] { unit_u32::list_flags_u32(words, flags, words, 1, &offset - row / 64, &position); });
    require(position == row, "a position beyond 2^31");
    thread(1, 32, 0, [&] { unit_u32::gather_labels_u32(1, source, target, &position, label, &first, &second); });
    require(first == 0 && second == 2, "an edge gathered from beyond 2^31");
    thread(1, 32, 0, [&] { set_flags(1, &position, kept); });
    require(kept[row / 64] >> (row % 64) & 1, "a flag beyond 2^31");
  }
  for (u32* column : {source, target}) munmap(column, rows * sizeof(u32));
  for (u64* column : {flags, kept}) munmap(column, words * sizeof(u64));
}

int main() {
  every_index_once();
  indices_beyond_32_bits();
  rows_beyond_31_bits();
  std::puts("every index came out right");
}
