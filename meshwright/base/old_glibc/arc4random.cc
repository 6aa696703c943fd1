// libstdc++'s std::random_device calls arc4random, which glibc has since 2.36.
// Hidden, so that it is for this program alone and no version of it is asked
// for: the program runs on glibc 2.34.
#include <sys/random.h>

#include <cerrno>
#include <cstdint>
#include <cstdlib>

extern "C" __attribute__((visibility("hidden"))) uint32_t
arc4random() {  // NOLINT: libc's name.
  uint32_t value = 0;
  while (getrandom(&value, sizeof value, 0) != sizeof value) {
    if (errno != EINTR) std::abort();
  }
  return value;
}
