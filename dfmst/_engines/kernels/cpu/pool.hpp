// A fork-join pool: `parallel_for` splits [0, count) into chunks that the caller and the pool's workers take in turn.
#pragma once

namespace dfmst {

typedef unsigned int u32;
typedef unsigned long long u64;
typedef void (*ChunkFunction)(const void* body, u64 begin, u64 end);

void run_chunks(u64 count, u32 threads, u64 grain, ChunkFunction chunk, const void* body);

template <typename Body> void parallel_for(u64 count, u32 threads, u64 grain, const Body& body) {
  const ChunkFunction chunk = [](const void* opaque, u64 begin, u64 end) {
    // A copy, so that the compiler knows that no store in the loop can change what the body has captured.
    const Body local = *static_cast<const Body*>(opaque);
    for (u64 i = begin; i < end; ++i) local(i);
  };
  if (threads <= 1 || count <= grain) {
    if (count) chunk(&body, 0, count);
    return;
  }
  run_chunks(count, threads, grain, chunk, &body);
}

}  // namespace dfmst
