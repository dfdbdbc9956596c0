// A driver (libcuda.so.1) and the runtime's entry points for a GPU whose memory is the host's.
//
// redirect.py lets CuPy's runtime jump to the functions `fake_cuda*`. Launches, allocations and modules are reported to
// Python. Work is done at once: streams and events only exist. Fresh and freed memory are filled, so that nothing reads
// either by chance.
#define _GNU_SOURCE
#include <cuda_runtime_api.h>
#include <stdlib.h>
#include <string.h>
#include <stdio.h>
#include <stdint.h>
#include <time.h>
typedef void (*launch_t)(const char* name, uint64_t module, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by, unsigned bz, unsigned shared, void* stream, void** params, int cooperative);
static launch_t on_launch;
typedef void (*alloc_t)(uint64_t ptr, uint64_t size);  // size 0: freed
static alloc_t on_alloc;
void fake_set(launch_t l, alloc_t a) { on_launch = l; on_alloc = a; }
static int fill = 0xA5; void fake_fill(int f) { fill = f; }
static __thread int current = 0;
static int devices = 1;
static unsigned granted = 2 * 768;  // threads of a cooperative launch
void fake_grant(unsigned threads) { granted = threads; }
static size_t total = 8ull << 30, used = 0;
static __thread int last_error = 0;
typedef struct Block { void* p; size_t n; int device; struct Block* next; } Block;
static Block* blocks;
void fake_limits(int d, size_t t) { devices = d; total = t; }
size_t fake_used(void) { return used; }
// ---- runtime
cudaError_t fake_cudaGetDeviceCount(int* n) { *n = devices; return 0; }
cudaError_t fake_cudaGetDevice(int* d) { *d = current; return 0; }
cudaError_t fake_cudaSetDevice(int d) { if (d < 0 || d >= devices) return 101; current = d; return 0; }
cudaError_t fake_cudaGetLastError(void) { int e = last_error; last_error = 0; return e; }
cudaError_t fake_cudaDriverGetVersion(int* v) { *v = 13000; return 0; }
cudaError_t fake_cudaRuntimeGetVersion(int* v) { *v = 13000; return 0; }
cudaError_t fake_cudaDeviceGetAttribute(int* v, enum cudaDeviceAttr a, int d) {
  switch (a) {
    case cudaDevAttrComputeCapabilityMajor: *v = 9; break;
    case cudaDevAttrComputeCapabilityMinor: *v = 0; break;
    case cudaDevAttrMultiProcessorCount: *v = 2; break;
    case cudaDevAttrMaxThreadsPerMultiProcessor: *v = 2048; break;
    case cudaDevAttrMaxThreadsPerBlock: *v = 1024; break;
    case cudaDevAttrWarpSize: *v = 32; break;
    case cudaDevAttrCooperativeLaunch: *v = 1; break;
    case cudaDevAttrMaxSharedMemoryPerBlock: *v = 49152; break;
    case cudaDevAttrMaxGridDimX: *v = 2147483647; break;
    case cudaDevAttrMemoryPoolsSupported: *v = 1; break;
    case cudaDevAttrPageableMemoryAccess: *v = 0; break;
    case cudaDevAttrPageableMemoryAccessUsesHostPageTables: *v = 0; break;
    default: *v = 0;
  }
  return 0;
}
cudaError_t fake_cudaGetDeviceProperties(struct cudaDeviceProp* p, int d) {
  memset(p, 0, sizeof *p); strcpy(p->name, "NVIDIA Fake 1"); p->major = 9; p->warpSize = 32; p->maxThreadsPerBlock = 1024; p->sharedMemPerBlock = 49152; p->maxThreadsPerMultiProcessor = 2048; p->multiProcessorCount = 2; p->totalGlobalMem = total; p->l2CacheSize = 1 << 20; return 0;
}
cudaError_t fake_cudaMemGetInfo(size_t* f, size_t* t) { *f = total - used; *t = total; return 0; }
cudaError_t fake_cudaMalloc(void** p, size_t n) {
  if (used + n > total) { *p = 0; return cudaErrorMemoryAllocation; }
  size_t m = (n + 511) / 512 * 512; if (!m) m = 512;
  *p = aligned_alloc(512, m); memset(*p, fill, m);
  Block* b = malloc(sizeof *b); b->p = *p; b->n = n; b->device = current; b->next = blocks; blocks = b; used += n;
  if (on_alloc) on_alloc((uint64_t)*p, m);
  return 0;
}
cudaError_t fake_cudaFree(void* p) {
  if (!p) return 0;
  for (Block** b = &blocks; *b; b = &(*b)->next) if ((*b)->p == p) { Block* d = *b; *b = d->next; used -= d->n; if (on_alloc) on_alloc((uint64_t)p, 0); memset(p, 0x5A, d->n); free(p); free(d); return 0; }
  fprintf(stderr, "fake: free of unknown %p\n", p); return 1;
}
cudaError_t fake_cudaMallocAsync(void** p, size_t n, cudaStream_t s) { return fake_cudaMalloc(p, n); }
cudaError_t fake_cudaFreeAsync(void* p, cudaStream_t s) { return fake_cudaFree(p); }
cudaError_t fake_cudaHostAlloc(void** p, size_t n, unsigned f) { *p = aligned_alloc(4096, (n + 4095) / 4096 * 4096); return 0; }
cudaError_t fake_cudaFreeHost(void* p) { free(p); return 0; }
cudaError_t fake_cudaMemcpy(void* d, const void* s, size_t n, enum cudaMemcpyKind k) { memcpy(d, s, n); return 0; }
cudaError_t fake_cudaMemcpyAsync(void* d, const void* s, size_t n, enum cudaMemcpyKind k, cudaStream_t st) { memmove(d, s, n); return 0; }
cudaError_t fake_cudaMemset(void* d, int v, size_t n) { memset(d, v, n); return 0; }
cudaError_t fake_cudaMemsetAsync(void* d, int v, size_t n, cudaStream_t st) { memset(d, v, n); return 0; }
cudaError_t fake_cudaStreamSynchronize(cudaStream_t s) { return 0; }
cudaError_t fake_cudaDeviceSynchronize(void) { return 0; }
cudaError_t fake_cudaStreamQuery(cudaStream_t s) { return 0; }
cudaError_t fake_cudaStreamIsCapturing(cudaStream_t s, enum cudaStreamCaptureStatus* c) { *c = 0; return 0; }
cudaError_t fake_cudaStreamCreateWithPriority(cudaStream_t* s, unsigned f, int p) { unsigned* w = malloc(16); w[0] = f; *s = (cudaStream_t)w; return 0; }
cudaError_t fake_cudaStreamCreateWithFlags(cudaStream_t* s, unsigned f) { return fake_cudaStreamCreateWithPriority(s, f, 0); }
cudaError_t fake_cudaStreamCreate(cudaStream_t* s) { return fake_cudaStreamCreateWithPriority(s, 0, 0); }
cudaError_t fake_cudaStreamDestroy(cudaStream_t s) { free(s); return 0; }
cudaError_t fake_cudaStreamGetFlags(cudaStream_t s, unsigned* f) { *f = (uintptr_t)s > 2 ? *(unsigned*)s : 0; return 0; }
cudaError_t fake_cudaStreamGetPriority(cudaStream_t s, int* p) { *p = 0; return 0; }
cudaError_t fake_cudaStreamWaitEvent(cudaStream_t s, cudaEvent_t e, unsigned f) { return 0; }
cudaError_t fake_cudaEventCreateWithFlags(cudaEvent_t* e, unsigned f) { *e = calloc(1, 16); return 0; }
cudaError_t fake_cudaEventCreate(cudaEvent_t* e) { return fake_cudaEventCreateWithFlags(e, 0); }
cudaError_t fake_cudaEventRecord(cudaEvent_t e, cudaStream_t s) { struct timespec t; clock_gettime(CLOCK_MONOTONIC, &t); *(double*)e = t.tv_sec * 1e3 + t.tv_nsec * 1e-6; return 0; }
cudaError_t fake_cudaEventSynchronize(cudaEvent_t e) { return 0; }
cudaError_t fake_cudaEventQuery(cudaEvent_t e) { return 0; }
cudaError_t fake_cudaEventDestroy(cudaEvent_t e) { free(e); return 0; }
cudaError_t fake_cudaEventElapsedTime(float* ms, cudaEvent_t a, cudaEvent_t b) { *ms = *(double*)b - *(double*)a; return 0; }
cudaError_t fake_cudaDeviceCanAccessPeer(int* c, int a, int b) { *c = 0; return 0; }
cudaError_t fake_cudaPointerGetAttributes(struct cudaPointerAttributes* a, const void* p) {
  memset(a, 0, sizeof *a); a->type = cudaMemoryTypeUnregistered; a->device = -1;
  for (Block* b = blocks; b; b = b->next) if ((char*)p >= (char*)b->p && (char*)p < (char*)b->p + b->n) { a->type = cudaMemoryTypeDevice; a->device = b->device; a->devicePointer = (void*)p; }
  return 0;
}
const char* fake_cudaGetErrorName(cudaError_t e) { return e == 2 ? "cudaErrorMemoryAllocation" : "cudaErrorFake"; }
const char* fake_cudaGetErrorString(cudaError_t e) { return e == 2 ? "out of memory" : "fake error"; }
// ---- driver (libcuda.so.1)
typedef struct { uint64_t module; int device; char name[256]; } Function;  // the device that was current when it was loaded
typedef void (*module_t)(uint64_t module, const void* image);
static module_t on_module;
static uint64_t modules;
void fake_set_module(module_t m) { on_module = m; }
int cuGetErrorName(int e, const char** s) { *s = e == 720 ? "CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE" : e == 500 ? "CUDA_ERROR_NOT_FOUND" : "CUDA_ERROR_FAKE"; return 0; }
int cuGetErrorString(int e, const char** s) { *s = "fake"; return 0; }
int cuInit(unsigned f) { return 0; }
int cuDriverGetVersion(int* v) { *v = 13000; return 0; }
int cuDevicePrimaryCtxRelease_v2(int d) { return 0; }
int cuCtxGetCurrent(void** c) { *c = (void*)1; return 0; }
int cuCtxSetCurrent(void* c) { return 0; }
int cuCtxCreate_v2(void** c, unsigned f, int d) { *c = (void*)1; return 0; }
int cuCtxDestroy_v2(void* c) { return 0; }
int cuCtxGetDevice(int* d) { *d = current; return 0; }
int cuLinkCreate_v2() { return 1; }
int cuLinkAddData_v2() { return 1; }
int cuLinkAddFile_v2() { return 1; }
int cuLinkComplete() { return 1; }
int cuLinkDestroy() { return 1; }
int cuModuleLoad(void** m, const char* f) { return 1; }
int cuModuleLoadData(void** m, const void* image) { uint64_t id = ++modules; *m = (void*)id; if (on_module) on_module(id, image); return 0; }
int cuModuleUnload(void* m) { return 0; }
int cuModuleGetFunction(void** f, void* m, const char* name) { Function* w = malloc(sizeof *w); w->module = (uint64_t)m; w->device = current; snprintf(w->name, 256, "%s", name); *f = w; return 0; }
int cuModuleGetGlobal_v2(void** p, size_t* n, void* m, const char* name) { return 1; }
int cuLaunchKernel(void* f, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by, unsigned bz, unsigned sh, void* st, void** params, void** extra) {
  Function* w = f; if (w->device != current) return 400; if (on_launch) on_launch(w->name, w->module, gx, gy, gz, bx, by, bz, sh, st, params, 0); return 0;
}
int cuLaunchCooperativeKernel(void* f, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by, unsigned bz, unsigned sh, void* st, void** params) {
  Function* w = f; if (w->device != current) return 400; if (gx * bx > granted) return 720; if (on_launch) on_launch(w->name, w->module, gx, gy, gz, bx, by, bz, sh, st, params, 1); return 0;
}
int cuFuncGetAttribute(int* v, int a, void* f) { *v = a == 0 ? 1024 : 32; return 0; }
int cuFuncSetAttribute(void* f, int a, int v) { return 0; }
int cuOccupancyMaxActiveBlocksPerMultiprocessor(int* n, void* f, int b, size_t s) { *n = 768 / b; return 0; }
int cuOccupancyMaxPotentialBlockSize(int* g, int* b, void* f, void* s, size_t d, int l) { *g = 2; *b = 256; return 0; }
int cuStreamGetCtx(void* s, void** c) { *c = (void*)1; return 0; }
int cuGetExportTable(const void** table, const void* id) { *table = 0; return 500; }
int cuGetProcAddress_v2(const char* s, void** p, int v, uint64_t f, void* q) { *p = 0; return 500; }
