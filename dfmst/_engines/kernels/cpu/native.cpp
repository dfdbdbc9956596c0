// The CPU build of every kernel: a unit for each type, and one for the kernels without a type parameter.
#include "pool.cpp"
#include "processor.cpp"

#include "../portable.cuh"
#include "../common.cuh"

#define TYPE none
#include "unit.hpp"
#define TYPE i32
#include "unit.hpp"
#define TYPE u32
#include "unit.hpp"
#define TYPE f32
#include "unit.hpp"
#define TYPE i64
#include "unit.hpp"
#define TYPE u64
#include "unit.hpp"
#define TYPE f64
#include "unit.hpp"
