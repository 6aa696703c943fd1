#include "meshwright/engine/seen_cores.h"

#include <sched.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <climits>
#include <cstring>
#include <iterator>

namespace meshwright {
namespace {

thread_local int64_t seen_cores = 0;  // 0: those that there are.

// As glibc's: what the kernel leaves of the set is cleared.
int Affinity(pid_t thread, size_t bytes, cpu_set_t* set) {
  const long written = syscall(SYS_sched_getaffinity, thread, bytes, set);
  if (written < 0) return -1;  // And errno is set.
  std::memset(reinterpret_cast<char*>(set) + written, 0,
              bytes - static_cast<size_t>(written));
  return 0;
}

int Pretended(size_t bytes, cpu_set_t* set) {
  if (bytes * CHAR_BIT < static_cast<size_t>(seen_cores)) {
    errno = EINVAL;  // Callers try again with a larger set.
    return -1;
  }
  CPU_ZERO_S(bytes, set);
  for (int64_t core = 0; core < seen_cores; ++core) {
    CPU_SET_S(static_cast<size_t>(core), bytes, set);
  }
  return 0;
}

}  // namespace

int64_t CoreCount() {
  for (int cores = 1024; cores <= (1 << 20); cores *= 2) {
    const size_t bytes = CPU_ALLOC_SIZE(cores);
    cpu_set_t* set = CPU_ALLOC(cores);
    const bool known = sched_getaffinity(0, bytes, set) == 0;
    const int64_t count = known ? CPU_COUNT_S(bytes, set) : 0;
    CPU_FREE(set);
    if (known) return std::max<int64_t>(count, 1);
  }
  return 1;
}

int64_t CoresToCompileFor(const Client& client) {
  if (client.platform_name() != "cpu") return 0;
  const int64_t cores = CoreCount();
  const int64_t devices = std::ssize(client.devices());
  const int64_t parts = (cores + devices - 1) / devices;
  return std::max(cores, parts * parts);  // At least as many as by itself.
}

SeenCores::SeenCores(int64_t cores) : before_(seen_cores) {
  seen_cores = cores;
}
SeenCores::~SeenCores() { seen_cores = before_; }

}  // namespace meshwright

extern "C" int sched_getaffinity(pid_t thread, size_t bytes,
                                 cpu_set_t* set) noexcept {
  if (meshwright::seen_cores == 0 || thread != 0) {
    return meshwright::Affinity(thread, bytes, set);
  }
  return meshwright::Pretended(bytes, set);
}
