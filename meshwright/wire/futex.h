// Waits until a number in shared memory changes.
#ifndef MESHWRIGHT_WIRE_FUTEX_H_
#define MESHWRIGHT_WIRE_FUTEX_H_

#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <climits>
#include <cstdint>

#include "absl/time/time.h"

namespace meshwright::internal {

// Returns when woken, if `word` is not `seen`, after `timeout`, or spuriously.
inline void FutexWait(const std::atomic<uint32_t>& word, uint32_t seen,
                      absl::Duration timeout) {
  const timespec limit = absl::ToTimespec(timeout);
  syscall(SYS_futex, &word, FUTEX_WAIT, seen, &limit, nullptr, 0);
}

inline void FutexWakeAll(const std::atomic<uint32_t>& word) {
  syscall(SYS_futex, &word, FUTEX_WAKE, INT_MAX, nullptr, nullptr, 0);
}

}  // namespace meshwright::internal

#endif  // MESHWRIGHT_WIRE_FUTEX_H_
