// Test support: memory as another process shares it.
#ifndef MESHWRIGHT_BASE_MEMFD_FOR_TEST_H_
#define MESHWRIGHT_BASE_MEMFD_FOR_TEST_H_

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstdint>

namespace meshwright {

// -1 when there is none.
inline int MakeMemfdForTest(int64_t bytes, int seals = F_SEAL_SHRINK) {
  const int fd = ::memfd_create("test", MFD_CLOEXEC | MFD_ALLOW_SEALING);
  if (::ftruncate(fd, bytes) != 0 || ::fcntl(fd, F_ADD_SEALS, seals) != 0) {
    ::close(fd);
    return -1;
  }
  return fd;
}

}  // namespace meshwright

#endif  // MESHWRIGHT_BASE_MEMFD_FOR_TEST_H_
