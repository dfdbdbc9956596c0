// Included by native.cpp. Whether this processor runs the build for x86-64-v3 that stands beside the plain one.
// Asked of the processor itself: zig's __builtin_cpu_supports knows of no feature at all.
#include "pool.hpp"

#if defined(_WIN32)
#define PROCESSOR_EXPORT extern "C" __declspec(dllexport)
#else
#define PROCESSOR_EXPORT extern "C" __attribute__((visibility("default")))
#endif

#if defined(__x86_64__)
#include <cpuid.h>

static bool has(dfmst::u32 features, dfmst::u32 wanted) { return (features & wanted) == wanted; }

// Whether the system saves the registers of AVX when it switches threads.
static bool system_saves_avx() {
  dfmst::u32 low, high;
  __asm__ volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
  return has(low, 6);
}

PROCESSOR_EXPORT int supports_x86_64_v3() {
  dfmst::u32 a, b, c, d;
  if (!__get_cpuid(1, &a, &b, &c, &d) || !has(c, bit_FMA | bit_OSXSAVE | bit_AVX | bit_POPCNT)) return 0;
  if (!system_saves_avx()) return 0;
  return __get_cpuid_count(7, 0, &a, &b, &c, &d) && has(b, bit_AVX2 | bit_BMI | bit_BMI2);
}
#else
PROCESSOR_EXPORT int supports_x86_64_v3() { return 0; }
#endif
