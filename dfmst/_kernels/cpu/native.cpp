// The CPU build of every kernel: each family is included once for every type it is made for.
#include "pool.cpp"
#include "processor.cpp"

#include "../portable.cuh"

#define SUFFIX
#include "../select.cuh"
#include "../kruskal.cuh"
#include "../adjacency.cuh"
#include "../statuses.cuh"
#include "../links.cuh"
#include "../generate.cuh"
#include "../worklist.cuh"
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
#include "../filter_boruvka.cuh"
#undef SUFFIX
#undef W
#define W u32
#define SUFFIX _u32
#include "../weights.cuh"
#include "../filter_boruvka.cuh"
#undef SUFFIX
#undef W
#define W f32
#define SUFFIX _f32
#include "../weights.cuh"
#include "../filter_boruvka.cuh"
#undef SUFFIX
#undef W
#define W i64
#define SUFFIX _i64
#include "../weights.cuh"
#include "../filter_boruvka.cuh"
#undef SUFFIX
#undef W
#define W u64
#define SUFFIX _u64
#include "../weights.cuh"
#include "../filter_boruvka.cuh"
#undef SUFFIX
#undef W
#define W f64
#define SUFFIX _f64
#include "../weights.cuh"
#include "../filter_boruvka.cuh"
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
