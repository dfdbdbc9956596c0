// Included by native.cpp. Why a pool of our own: ThreadSanitizer sees std::thread, no OpenMP or TBB runtime meets
// another library's, it is safe after fork, and a second caller runs serially instead of oversubscribing the machine.
#include "pool.hpp"

#include <condition_variable>
#include <ctime>
#include <mutex>
#include <thread>
#if !defined(_WIN32)
#include <pthread.h>
#endif
#if defined(__linux__)
#include <sched.h>
#endif

namespace dfmst {
namespace {

struct Interpreter {
  void* (*release)();  // its lock
  void (*acquire)(void* state);
  int (*check_signals)();  // negative: a handler has raised
  u64 main_thread;
};
Interpreter interpreter{};
thread_local Launch* current = nullptr;

#if defined(_WIN32)
extern "C" __declspec(dllimport) unsigned long __stdcall GetCurrentThreadId(void);
u64 this_thread() { return GetCurrentThreadId(); }
#else
u64 this_thread() { return (u64)pthread_self(); }
#endif

const std::chrono::microseconds WATCH(60);  // kernels follow each other sooner: a short watch saves a sleep and a wake-up
const std::chrono::milliseconds ASKING(50);  // from one question for signals to the next
const i64 LATE = 200000, ALONE = 16;         // nanoseconds that are judged, and how many times as long no thread helps

i64 now() { return std::chrono::steady_clock::now().time_since_epoch() / std::chrono::nanoseconds(1); }

// Nanoseconds that processors have worked for this process. If the system does not say, no wait is late.
i64 processor_time() {
#if defined(CLOCK_PROCESS_CPUTIME_ID)
  timespec time;
  if (clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time) == 0) return time.tv_sec * 1000000000ll + time.tv_nsec;
#endif
  return now();
}

// While other programs keep the processors, a thread may wait for milliseconds until the system runs another one again.
// After such a time workers stay away: one thread then takes less time than two.
std::atomic<i64> helpless_until{0};

bool helpers_come() {
#if defined(DFMST_EVERY_THREAD)
  return true;
#endif
  const i64 until = helpless_until.load(std::memory_order_relaxed);
  return until == 0 || now() >= until;
}

// Whether helpers are of use, by the processor time that this process has had since `begun`. (One thread alone, as in a
// long chunk, has all of it.)
void judge_help(i64 begun, i64 worked) {
  const i64 end = now(), taken = end - begun;
  if (taken > LATE && 5 * (processor_time() - worked) < 3 * taken)
    helpless_until.store(end + ALONE * taken, std::memory_order_relaxed);
}

struct Job {
  u64 count, grain;
  ChunkFunction chunk;
  const void* body;
  Launch* launch;
  std::atomic<u64> next{0};

  void work(bool helps = false) {
    for (u64 chunks = 1;; ++chunks) {  // a chunk that was taken is done: other threads may wait for it
      if (launch && (chunks % UNASKED ? launch->stopped() : asked_to_stop())) return;
      if (helps && !helpers_come()) return;
      const u64 begin = next.fetch_add(grain, std::memory_order_relaxed);
      if (begin >= count) return;
      chunk(body, begin, begin + grain < count ? begin + grain : count);
    }
  }
};

// Processors of this process. More threads would only take turns, and those that watch for work would keep those that have
// some from running. (A test of races runs them all.)
u32 processors() {
#if defined(DFMST_EVERY_THREAD)
  return ~0u;
#elif defined(__linux__)
  cpu_set_t set;
  if (sched_getaffinity(0, sizeof set, &set) == 0) return (u32)CPU_COUNT(&set);
#endif
  const u32 known = std::thread::hardware_concurrency();
  return known ? known : ~0u;
}

// A hint that this thread waits, so that another one on the same core runs faster.
inline void pause() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#endif
}

class Pool {
 public:
  // False if another thread uses the pool, or workers would be late; the caller then works alone.
  bool run(Job& job, u32 threads) {
    threads = threads < processors_ ? threads : processors_;
    if (!helpers_come() || busy_.exchange(true, std::memory_order_acquire)) return false;
    if (const i64 time = now(); time > begun_ + LATE) {  // not in each of many short launches: it takes a microsecond
      begun_ = time;
      worked_ = processor_time();
    }
    {
      std::lock_guard<std::mutex> hold(mutex_);
      while (workers_ + 1 < threads && grow()) {
      }
      job_ = &job;
      seats_ = threads - 1;
      generation_.fetch_add(1, std::memory_order_release);
    }
    wake_.notify_all();
    job.work();
    {
      std::lock_guard<std::mutex> hold(mutex_);
      job_ = nullptr;  // nobody can join any more
    }
    for (Wait wait; working_.load(std::memory_order_acquire) != 0;)
      if (!wait.watches()) sleep(job);
    judge_help(begun_, worked_);
    busy_.store(false, std::memory_order_release);
    return true;
  }

 private:
  bool grow() {
    try {
      std::thread(&Pool::serve, this).detach();
    } catch (...) {
      return false;  // no more threads to be had: those at hand will do
    }
    ++workers_;
    return true;
  }

  void serve() {
    u64 seen = 0;
    for (;;) {
      const auto until = std::chrono::steady_clock::now() + WATCH;
      while (generation_.load(std::memory_order_acquire) == seen && std::chrono::steady_clock::now() < until) pause();
      Job* job = nullptr;
      {
        std::unique_lock<std::mutex> hold(mutex_);
        wake_.wait(hold, [&] { return generation_.load(std::memory_order_relaxed) != seen; });
        seen = generation_.load(std::memory_order_relaxed);
        if (job_ && seats_) {
          --seats_;
          job = job_;
          working_.fetch_add(1, std::memory_order_relaxed);
        }
      }
      if (!job) continue;
      current = job->launch;
      job->work(true);
      if (working_.fetch_sub(1) == 1 && sleeps_.load()) {
        std::lock_guard<std::mutex> hold(mutex_);
        done_.notify_one();
      }
    }
  }

  // Until the workers have done their chunks, or it is time to ask for signals.
  void sleep(const Job& job) {
    std::unique_lock<std::mutex> hold(mutex_);
    sleeps_.store(true);
    done_.wait_for(hold, ASKING, [&] { return working_.load() == 0; });
    sleeps_.store(false);
    hold.unlock();
    if (job.launch) asked_to_stop();
  }

  std::mutex mutex_;
  std::condition_variable wake_, done_;
  std::atomic<bool> busy_{false}, sleeps_{false};
  std::atomic<u64> generation_{0};
  std::atomic<u32> working_{0};
  Job* job_ = nullptr;
  u32 seats_ = 0;
  u32 workers_ = 0;
  i64 begun_ = 0, worked_ = 0;  // a time, and the processor time of this process then
  const u32 processors_ = processors();
};

// Never destroyed: detached workers may still wait on it while the process exits.
std::atomic<Pool*> shared_pool{nullptr};

// A forked child has none of its parent's workers and perhaps a locked mutex: it starts afresh.
void renew() { shared_pool.store(new Pool, std::memory_order_release); }

// As the library is loaded, not at first use: a child that is forked beside another thread's first use would wait for
// ever on the half-done std::call_once.
[[maybe_unused]] const bool prepared = [] {
  renew();
#if !defined(_WIN32)
  pthread_atfork(nullptr, nullptr, renew);
#endif
  return true;
}();

}  // namespace

Launch::Launch() : outer_(current), asks_(interpreter.release && this_thread() == interpreter.main_thread) {
  if (interpreter.release) state_ = interpreter.release();
  current = this;
  if (asks_) next_ = std::chrono::steady_clock::now() + ASKING;
}

Launch::~Launch() noexcept(false) {
  current = outer_;
  if (state_) interpreter.acquire(state_);
}

// Called by the thread of the launch, and by its helpers, which do not ask.
bool Launch::asked_to_stop() {
  if (stopped() || !asks_ || this_thread() != interpreter.main_thread) return stopped();
  const auto now = std::chrono::steady_clock::now();
  if (now < next_) return false;
  interpreter.acquire(state_);
  const bool raised = interpreter.check_signals() < 0;
  state_ = interpreter.release();
  if (raised) stopped_.store(true, std::memory_order_relaxed);
  next_ = std::chrono::steady_clock::now() + ASKING;
  return raised;
}

// Watches, then lets others run: the thread that this one waits for may need its processor.
bool Wait::watches() {
  if (begin_ == 0) begin_ = now();
  if (worked_ < 0 && now() < begin_ + WATCH / std::chrono::nanoseconds(1)) {
    pause();
    return true;
  }
  if (worked_ < 0) worked_ = processor_time();
  return false;
}

void Wait::turn() {
  if (!watches()) std::this_thread::sleep_for(WATCH);
}

Wait::~Wait() {
  if (worked_ >= 0) judge_help(begin_, worked_);
}

bool stopped() { return current && current->stopped(); }
bool asked_to_stop() { return current && current->asked_to_stop(); }

void run_chunks(u64 count, u32 threads, u64 grain, ChunkFunction chunk, const void* body) {
  Job job{count, grain ? grain : 1, chunk, body, current};
  const u64 chunks = (count - 1) / job.grain + 1;
  if (chunks < threads) threads = (u32)chunks;  // more would only be woken to find nothing left
  if (threads <= 1 || !shared_pool.load(std::memory_order_acquire)->run(job, threads)) job.work();
}

}  // namespace dfmst

#if defined(_WIN32)
extern "C" __declspec(dllexport)
#else
extern "C" __attribute__((visibility("default")))
#endif
void use_interpreter(void* (*release)(), void (*acquire)(void*), int (*check_signals)(), dfmst::u64 main_thread) {
  dfmst::interpreter = {release, acquire, check_signals, main_thread};
}
