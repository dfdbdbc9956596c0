// One kernel text for two targets: C++17 threads (native.cpp) and CUDA (NVRTC, which has no standard headers).
//
//   KERNEL(name, (parameters)) { body of index i } END          one function, `name`
//   KERNEL_OF(K, name, (parameters)) { body of index i } END    one for each type of K: `name_u32`, `name_u64`
//   FORK(length, grain, body);                                  within a kernel of one index: body(0) to body(length - 1)
//   STOPPED, STOPPED_AT(j)                                      whether a signal ended the kernel, which must return; the
//                                                               second one looks for one in each 1,024th turn of a loop
//   HOST_KERNEL, HOST_KERNEL_OF                                 the same, of a CPU alone
//   STEPS(name, (u32* met, parameters)) { steps }               as KERNEL, in steps
//   STEPS_OF(K, name, (u32* met, parameters)) { steps }         as KERNEL_OF, in steps
//
// A kernel is flat: one index `i` below `count`, no barriers, no shared memory, relaxed atomics only.
//
// A kernel in steps is a sequence of flat ones in one launch: `Team team = TEAM;`, then `team.each(length, body)`
// for each step, which ends when all threads have ended it. Between the steps every thread runs the same text with the
// same values. A thread of a CPU takes `grain` indices of a step at a time: those of the launch, unless the step has its
// own, `team.each(length, body, grain)`. `met`, a word that is 0 before the first launch, counts the threads of a GPU that have come to the end of
// a step; all of them must be in flight at once (a cooperative launch).
#pragma once

typedef unsigned char u8;
typedef unsigned short u16;
typedef int i32;
typedef unsigned int u32;
typedef long long i64;
typedef unsigned long long u64;
typedef float f32;
typedef double f64;

#define EXPAND(...) __VA_ARGS__
#define JOIN_(a, b) a##b
#define JOIN(a, b) JOIN_(a, b)
#define SECOND_(first, second, ...) second
#define SECOND(...) SECOND_(__VA_ARGS__)

// The types of each parameter: V of vertices, W of weights, K of keys. A unit compiles the kernels of one TYPE; `none` is
// that of kernels without a parameter.
struct none;
#define UNIT_none_none ~, EXPORTED
#define UNIT_V_u32 ~, EXPORTED
#define UNIT_V_u64 ~, EXPORTED
#define UNIT_W_i32 ~, EXPORTED
#define UNIT_W_u32 ~, EXPORTED
#define UNIT_W_f32 ~, EXPORTED
#define UNIT_W_i64 ~, EXPORTED
#define UNIT_W_u64 ~, EXPORTED
#define UNIT_W_f64 ~, EXPORTED
#define UNIT_K_u32 ~, EXPORTED
#define UNIT_K_u64 ~, EXPORTED

// Any other kernel is a template that nothing calls: UNIT_V_f32, say, is no macro, and SECOND then picks `template ...`.
#define LINKAGE(P) SECOND(JOIN(JOIN(UNIT_, P), JOIN(_, TYPE)), template <typename P> DEVICE, )
#define KERNEL(name, parameters) FUNCTION(LINKAGE(none), name, parameters)
#define KERNEL_OF(P, name, parameters) FUNCTION(LINKAGE(P), JOIN(name, JOIN(_, TYPE)), parameters)
#define STEPS(name, parameters) HEAD(LINKAGE(none), name, parameters)
#define STEPS_OF(P, name, parameters) HEAD(LINKAGE(P), JOIN(name, JOIN(_, TYPE)), parameters)

#ifdef __CUDACC_RTC__

#define DEVICE [[maybe_unused]] static __device__ __forceinline__
#define DEVICE_METHOD __device__ __forceinline__
#define FETCHER DEVICE
#define EXPORTED extern "C" __global__
// Templates that nothing calls: read by the compiler, which makes nothing of them.
#define HOST_KERNEL(name, parameters) FUNCTION(template <typename> DEVICE, name, parameters)
#define HOST_KERNEL_OF(P, name, parameters) FUNCTION(template <typename P> DEVICE, JOIN(name, JOIN(_, TYPE)), parameters)
// A grid may be smaller than `count`: each thread then strides through the indices, in 64 bits.
#define FUNCTION(linkage, name, parameters)                                                           \
  linkage void name(u64 count, EXPAND parameters) {                                                   \
    const u64 threads_ = (u64)gridDim.x * blockDim.x;                                                 \
    for (u64 index_ = (u64)blockIdx.x * blockDim.x + threadIdx.x; index_ < count; index_ += threads_) \
      [&](const u64 i) {
#define END \
  }(index_);  \
  }
#define HEAD(linkage, name, parameters) linkage void name(u64 count, EXPAND parameters)
#define TEAM ((void)count, Team{met})
#define PREFETCH(address) ((void)(address))
#define PREFETCH_WRITE(address) ((void)(address))
#define UNROLL _Pragma("unroll")
#define STOPPED false
#define STOPPED_AT(j) ((void)(j), false)
// One thread of a device runs a fork alone.
#define FORK(length, grain, body) \
  for (u64 fork_ = 0; fork_ < (u64)(length); ++fork_) (body)(fork_)

template <typename T> DEVICE T load(const T* p) { return *(const volatile T*)p; }
// A value that the word has had since the step began, from the first-level cache if that holds it.
template <typename T> DEVICE T load_cached(const T* p) { return __ldca(p); }
template <typename T> DEVICE void store(T* p, T value) { *(volatile T*)p = value; }
template <typename T> DEVICE void atomic_min(T* p, T value) { atomicMin(p, value); }
template <typename T> DEVICE T fetch_min(T* p, T value) { return atomicMin(p, value); }
template <typename T> DEVICE void atomic_max(T* p, T value) { atomicMax(p, value); }
template <typename T> DEVICE void atomic_or(T* p, T value) { atomicOr(p, value); }
template <typename T> DEVICE T atomic_add(T* p, T value) { return atomicAdd(p, value); }
// The value before; it equals `expected` where the swap took place.
template <typename T> DEVICE T compare_swap(T* p, T expected, T value) { return atomicCAS(p, expected, value); }

// The threads of a cooperative launch. One of each block adds to `met` and waits for its highest bit to turn: the first
// block adds what the others leave of 2^31, so that the other bits are 0 again (as in CUDA's cooperative groups). Its
// fences make what the block has written visible to all, and drop what the first-level cache holds of others' words.
struct Team {
  u32* met;
  DEVICE_METHOD u64 size() const { return (u64)gridDim.x * blockDim.x; }
  template <typename Body> DEVICE_METHOD void each(u64 length, Body body, u64 = 0) const {
    const u64 threads = (u64)gridDim.x * blockDim.x;
    for (u64 i = (u64)blockIdx.x * blockDim.x + threadIdx.x; i < length; i += threads) body(i);
    __syncthreads();
    if (threadIdx.x == 0) {
      __threadfence();
      const u32 before = atomicAdd(met, blockIdx.x ? 1u : 0x80000001u - gridDim.x);
      while (!((before ^ load(met)) >> 31)) __nanosleep(20);
      __threadfence();
    }
    __syncthreads();
  }
};

enum : u64 {
  TILE = 32,            // threads side by side, which take edges side by side
  ONE_STEP_MINIMUM = 1  // a minimum is one instruction
};
DEVICE u32 lowest_bit(u64 word) { return __ffsll((i64)word) - 1; }
DEVICE u32 count_ones(u64 word) { return __popcll(word); }
DEVICE u64 high_half(u64 a, u64 b) { return __umul64hi(a, b); }
DEVICE u32 bits_of(f32 x) { return __float_as_uint(x); }
DEVICE u64 bits_of(f64 x) { return (u64)__double_as_longlong(x); }
DEVICE f64 real_of(u64 bits) { return __longlong_as_double((i64)bits); }
DEVICE f64 square_root(f64 x) { return sqrt(x); }
DEVICE u64 nanoseconds() { return 0; }  // steps are timed on a CPU only
// The value of the thread of this warp whose number differs in the bit `step`.
template <typename T> DEVICE T exchange(T value, u32 step) { return __shfl_sync(~0u, value, (threadIdx.x & 31) ^ step); }
struct Wait { DEVICE_METHOD void turn() {} };  // threads wait for each other on a CPU only

// Places at the end of a list, for the threads of a warp that came to `reserve` together: threads side by side write side
// by side. All of them ask for the next place at once, whether they want one or not.
struct Places {
  u32 together, next_place;
  u64 end;
  DEVICE_METHOD u32 next(bool wanted) {
    const u32 asking = __ballot_sync(together, wanted);
    const u32 place = next_place + __popc(asking & ((1u << (threadIdx.x & 31)) - 1));
    next_place += __popc(asking);
    return place;
  }
};

// Room for `wanted` (of BITS bits) entries of each thread. A warp takes one atomic: all of a grid would otherwise queue
// for one word.
template <u32 BITS = 4> DEVICE Places reserve(u32* length, u32 wanted) {
  const u32 together = __activemask(), leader = __ffs(together) - 1;
  u32 total = 0, begin = 0;
  for (u32 bit = 0; bit < BITS; ++bit) total += __popc(__ballot_sync(together, wanted >> bit & 1)) << bit;
  if (total == 0) return {together, 0, 0};
  if ((threadIdx.x & 31) == leader) begin = atomicAdd(length, total);
  begin = __shfl_sync(together, begin, leader);
  return {together, begin, (u64)begin + total};
}

// Raises a word to a value, unless it is higher. The threads of a whole warp first find the highest of theirs.
DEVICE void raise(u64* word, u64 value) {
  if (__activemask() == ~0u) {
    const u32 lane = threadIdx.x & 31;
    for (u32 reach = 16; reach; reach >>= 1) {
      const u64 other = __shfl_sync(~0u, value, lane ^ reach);
      if (other > value) value = other;
    }
    if (lane) return;
  }
  if (value > load(word)) atomic_max(word, value);
}

#else

#include <chrono>
#include <cstring>
#include <thread>
#if defined(__AVX2__)
#include <immintrin.h>
#endif
#include "cpu/pool.hpp"

#if defined(_WIN32)
#define EXPORTED extern "C" __declspec(dllexport)
#else
#define EXPORTED extern "C" __attribute__((visibility("default")))
#endif
#define DEVICE static inline
// A function that does nothing but prefetch: GCC takes a call of it for one without effects, and drops it.
#define FETCHER static inline __attribute__((always_inline))
#define HOST_KERNEL KERNEL
#define HOST_KERNEL_OF KERNEL_OF
#define FUNCTION(linkage, name, parameters)                                \
  linkage void name(u64 count, u32 threads, u64 grain, EXPAND parameters) { \
    dfmst::Launch launch_;                                                 \
    dfmst::parallel_for(count, threads, grain, [=](u64 i) {
#define END \
  });       \
  }
#define HEAD(linkage, name, parameters) linkage void name(u64 count, u32 threads, u64 grain, EXPAND parameters)
#define TEAM ((void)count, (void)met, Team{threads, grain, {}})
#define PREFETCH(address) __builtin_prefetch(address)
#define PREFETCH_WRITE(address) __builtin_prefetch(address, 1)
#define UNROLL
#define STOPPED dfmst::stopped()
#define STOPPED_AT(j) (((j) & 1023) == 0 && dfmst::asked_to_stop())
// By the threads of the kernel's launch, each `grain` indices at a time; they see what came before, and end before what
// follows. A stopped kernel skips it.
#define FORK(length, grain_of_fork, body) \
  ((void)(STOPPED || (dfmst::parallel_for(length, threads, grain_of_fork, body), true)))

struct Team {
  u32 threads;
  u64 grain;
  dfmst::Launch launch;
  u64 size() const { return threads; }
  template <typename Body> void each(u64 length, const Body& body, u64 of_step = 0) {
    if (!launch.stopped()) dfmst::parallel_for(length, threads, of_step ? of_step : grain, body);
  }
};

template <typename T> DEVICE T load(const T* p) { return __atomic_load_n(p, __ATOMIC_RELAXED); }
template <typename T> DEVICE T load_cached(const T* p) { return load(p); }
template <typename T> DEVICE void store(T* p, T value) { __atomic_store_n(p, value, __ATOMIC_RELAXED); }
template <typename T> DEVICE T compare_swap(T* p, T expected, T value) {
  __atomic_compare_exchange_n(p, &expected, value, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED);
  return expected;
}
template <typename T> DEVICE void atomic_min(T* p, T value) {
  for (T seen = load(p); value < seen;) {
    const T found = compare_swap(p, seen, value);
    if (found == seen) return;
    seen = found;
  }
}
template <typename T> DEVICE T fetch_min(T* p, T value) {
  T seen = load(p);
  for (T found; value < seen && (found = compare_swap(p, seen, value)) != seen;) seen = found;
  return seen;
}
template <typename T> DEVICE void atomic_max(T* p, T value) {
  for (T seen = load(p); value > seen;) {
    const T found = compare_swap(p, seen, value);
    if (found == seen) return;
    seen = found;
  }
}
template <typename T> DEVICE void atomic_or(T* p, T value) { __atomic_fetch_or(p, value, __ATOMIC_RELAXED); }
template <typename T> DEVICE T atomic_add(T* p, T value) { return __atomic_fetch_add(p, value, __ATOMIC_RELAXED); }
enum : u64 {
  TILE = 1,             // a thread takes neighbors, which share lines of its cache
  ONE_STEP_MINIMUM = 0  // a minimum swaps until it holds
};
DEVICE u32 lowest_bit(u64 word) { return (u32)__builtin_ctzll(word); }
DEVICE u32 count_ones(u64 word) { return (u32)__builtin_popcountll(word); }
DEVICE u64 high_half(u64 a, u64 b) { return (u64)((unsigned __int128)a * b >> 64); }  // of the product
DEVICE u32 bits_of(f32 x) { u32 bits; std::memcpy(&bits, &x, sizeof bits); return bits; }
DEVICE u64 bits_of(f64 x) { u64 bits; std::memcpy(&bits, &x, sizeof bits); return bits; }
DEVICE f64 real_of(u64 bits) { f64 x; std::memcpy(&x, &bits, sizeof x); return x; }
DEVICE f64 square_root(f64 x) { return __builtin_sqrt(x); }
struct Places {
  u64 next_place, end;
  u64 next(bool wanted) { return wanted ? next_place++ : next_place; }
};
template <u32 BITS = 4> DEVICE Places reserve(u32* length, u32 wanted) {
  const u64 begin = wanted ? atomic_add(length, wanted) : 0;
  return {begin, begin + wanted};
}
DEVICE void raise(u64* word, u64 value) {
  if (value > load(word)) atomic_max(word, value);
}
template <typename T> DEVICE T exchange(T value, u32) { return value; }  // a thread is alone
using dfmst::Wait;
DEVICE u64 nanoseconds() {
  const auto now = std::chrono::steady_clock::now().time_since_epoch();
  return (u64)std::chrono::duration_cast<std::chrono::nanoseconds>(now).count();
}

#endif
