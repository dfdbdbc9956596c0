// Every kernel file once, for one TYPE.
namespace JOIN(unit_, TYPE) {
typedef TYPE V, W, K;
#include "../adjacency.cuh"
#include "../blocks.cuh"
#include "../boruvka.cuh"
#include "../bsp.cuh"
#include "../columns.cuh"
#include "../cycle.cuh"
#include "../filter_boruvka.cuh"
#include "../flags.cuh"
#include "../generate.cuh"
#include "../ids.cuh"
#include "../kd_tree.cuh"
#include "../kruskal.cuh"
#include "../kruskal_tree.cuh"
#include "../mastiff.cuh"
#include "../match.cuh"
#include "../nearest.cuh"
#include "../partial_prim.cuh"
#include "../point_rounds.cuh"
#include "../prim.cuh"
#include "../prim_reduction.cuh"
#include "../ranges.cuh"
#include "../sets.cuh"
#include "../short.cuh"
#include "../sort.cuh"
}
#undef TYPE
