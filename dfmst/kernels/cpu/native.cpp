// The CPU build of every kernel: each family is included once for every type it is made for.
#include "pool.cpp"

#include "../portable.cuh"

// Whether this processor runs the build for x86-64-v3 that stands beside the plain one.
extern "C" EXPORT int supports_x86_64_v3() {
#if defined(__x86_64__)
  __builtin_cpu_init();
  return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("bmi") && __builtin_cpu_supports("bmi2") &&
         __builtin_cpu_supports("fma") && __builtin_cpu_supports("popcnt");
#else
  return 0;
#endif
}

#define SUFFIX
#include "../select.cuh"
#include "../kruskal.cuh"
#include "../adjacency.cuh"
#include "../statuses.cuh"
#include "../links.cuh"
#include "../generate.cuh"
#undef SUFFIX

#define V u32
#define SUFFIX _u32
#include "../vertices.cuh"
#undef SUFFIX
#undef V
#define V u64
#define SUFFIX _u64
#include "../vertices.cuh"
#undef SUFFIX
#undef V

#define W i32
#define SUFFIX _i32
#include "../weights.cuh"
#undef SUFFIX
#undef W
#define W u32
#define SUFFIX _u32
#include "../weights.cuh"
#undef SUFFIX
#undef W
#define W f32
#define SUFFIX _f32
#include "../weights.cuh"
#undef SUFFIX
#undef W
#define W i64
#define SUFFIX _i64
#include "../weights.cuh"
#undef SUFFIX
#undef W
#define W u64
#define SUFFIX _u64
#include "../weights.cuh"
#undef SUFFIX
#undef W
#define W f64
#define SUFFIX _f64
#include "../weights.cuh"
#undef SUFFIX
#undef W

#define K u32
#define KEY_BITS 32
#define SUFFIX _u32
#include "../keys.cuh"
#include "../boruvka.cuh"
#include "../partial_prim.cuh"
#include "../mastiff.cuh"
#include "../strut.cuh"
#include "../certificate.cuh"
#include "../prim.cuh"
#undef SUFFIX
#undef KEY_BITS
#undef K
#define K u64
#define KEY_BITS 64
#define SUFFIX _u64
#include "../keys.cuh"
#include "../boruvka.cuh"
#include "../partial_prim.cuh"
#include "../mastiff.cuh"
#include "../strut.cuh"
#include "../certificate.cuh"
#include "../prim.cuh"
#undef SUFFIX
#undef KEY_BITS
#undef K
