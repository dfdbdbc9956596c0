// A fork-join pool: `parallel_for` splits [0, count) into chunks that the caller and the pool's workers take in turn.
//
// Python calls a kernel with the interpreter's lock (ctypes.PyDLL), which its Launch gives back until the kernel ends. The
// main thread asks Python for signals every twentieth of a second. If a handler raises, all threads end their chunks, the
// kernel returns, and Python raises what the handler raised. No other kernel reads the columns after that.
#pragma once
#include <atomic>
#include <chrono>

namespace dfmst {

typedef unsigned int u32;
typedef unsigned long long u64;
typedef long long i64;
typedef void (*ChunkFunction)(const void* body, u64 begin, u64 end);

const u64 UNASKED = 4;  // chunks from one look at the clock to the next

class Launch {
 public:
  Launch();
  ~Launch() noexcept(false);  // Python ends other threads here when it exits
  Launch(const Launch&) = delete;
  bool stopped() const { return stopped_.load(std::memory_order_relaxed); }
  bool asked_to_stop();

 private:
  void* state_ = nullptr;
  Launch* outer_;  // whose signal handler makes this launch
  bool asks_;
  std::atomic<bool> stopped_{false};
  std::chrono::steady_clock::time_point next_;
};

// Whether this thread's kernel has to end; the second one asks.
bool stopped();
bool asked_to_stop();

// A wait of a thread for another one.
class Wait {
 public:
  bool watches();  // for microseconds; then it is time to sleep
  void turn();     // watches or sleeps for a moment
  ~Wait();

 private:
  i64 begin_ = 0, worked_ = -1;  // processor time of the process when the watch ended
};

void run_chunks(u64 count, u32 threads, u64 grain, ChunkFunction chunk, const void* body);

template <typename Body> void parallel_for(u64 count, u32 threads, u64 grain, const Body& body) {
  const ChunkFunction chunk = [](const void* opaque, u64 begin, u64 end) {
    // A copy, so that the compiler knows that no store in the loop can change what the body has captured.
    const Body local = *static_cast<const Body*>(opaque);
    for (u64 i = begin; i < end; ++i) local(i);
  };
  if (count <= grain || (threads <= 1 && count <= UNASKED * grain)) {
    if (count) chunk(&body, 0, count);
    return;
  }
  run_chunks(count, threads, grain, chunk, &body);
}

}  // namespace dfmst
