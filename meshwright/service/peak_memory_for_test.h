// How much memory this process has needed.
#ifndef MESHWRIGHT_SERVICE_PEAK_MEMORY_FOR_TEST_H_
#define MESHWRIGHT_SERVICE_PEAK_MEMORY_FOR_TEST_H_

#include <cstdint>
#include <fstream>
#include <string>

namespace meshwright {

#if defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define MW_SANITIZED
#endif
#endif
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define MW_SANITIZED
#endif

// Sanitizers keep freed memory.
#ifdef MW_SANITIZED
inline constexpr bool kMemoryIsMeasured = false;
#else
inline constexpr bool kMemoryIsMeasured = true;
#endif

// Of a field of /proc/self/status: "VmRSS:", "VmHWM:".
inline int64_t MemoryBytes(const std::string& field) {
  std::ifstream status("/proc/self/status");
  std::string word;
  while (status >> word) {
    if (word != field) continue;
    int64_t kibibytes = 0;
    status >> kibibytes;
    return kibibytes << 10;
  }
  return 0;
}

inline int64_t ThreadCount() {
  std::ifstream status("/proc/self/status");
  std::string word;
  while (status >> word && word != "Threads:") {
  }
  int64_t count = 0;
  status >> count;
  return count;
}

// The most memory that the process has used since construction, beyond what it
// used then.
class PeakMemoryForTest {
 public:
  PeakMemoryForTest() {
    std::ofstream("/proc/self/clear_refs") << "5";  // Forgets the peak so far.
    before_ = MemoryBytes("VmRSS:");
  }
  int64_t bytes() const { return MemoryBytes("VmHWM:") - before_; }

 private:
  int64_t before_ = 0;
};

}  // namespace meshwright

#endif  // MESHWRIGHT_SERVICE_PEAK_MEMORY_FOR_TEST_H_
