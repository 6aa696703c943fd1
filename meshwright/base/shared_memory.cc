#include "meshwright/base/shared_memory.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <functional>
#include <iterator>
#include <map>
#include <mutex>
#include <utility>

#include "absl/cleanup/cleanup.h"
#include "absl/strings/str_cat.h"

namespace meshwright {
namespace {

// What is mapped, by where it begins: as the address space, one for the
// process.
struct Mapped {
  std::mutex mutex;
  std::map<const std::byte*, std::weak_ptr<const SharedMemory>, std::less<>>
      memories;
};

Mapped& AllMapped() {
  static Mapped* const mapped = new Mapped;
  return *mapped;
}

}  // namespace

absl::StatusOr<std::shared_ptr<const SharedMemory>> SharedMemory::Open(
    int fd, std::string address) {
  const absl::Cleanup close = [fd] { ::close(fd); };
  struct stat file = {};
  // Only what has seals answers; only of memory are these all that matters.
  const int seals = ::fcntl(fd, F_GET_SEALS);
  if (seals < 0 || (seals & F_SEAL_SHRINK) == 0 || ::fstat(fd, &file) != 0 ||
      file.st_uid != ::geteuid() || file.st_size <= 0) {
    return absl::InvalidArgumentError(absl::StrCat(
        "file descriptor ", fd,
        " is no memory of this user that is sealed against shrinking"));
  }
  void* const begin = ::mmap(nullptr, file.st_size, PROT_READ | PROT_WRITE,
                             MAP_SHARED | MAP_NORESERVE, fd, 0);
  if (begin == MAP_FAILED) {
    return absl::ResourceExhaustedError(absl::StrCat(
        file.st_size,
        " bytes of shared memory cannot be mapped: ", std::strerror(errno)));
  }
  ::madvise(begin, file.st_size, MADV_DONTDUMP);
  const std::shared_ptr<const SharedMemory> memory(new SharedMemory(
      static_cast<std::byte*>(begin), file.st_size, std::move(address)));
  const std::lock_guard lock(AllMapped().mutex);
  AllMapped().memories[memory->begin_] = memory;
  return memory;
}

SharedMemory::~SharedMemory() {
  {
    const std::lock_guard lock(AllMapped().mutex);
    AllMapped().memories.erase(begin_);
  }
  ::munmap(begin_, size_);
}

std::shared_ptr<const SharedMemory> SharedMemory::Around(
    absl::Span<const std::byte> bytes) {
  if (bytes.empty()) return nullptr;
  std::shared_ptr<const SharedMemory> memory;
  const std::lock_guard lock(AllMapped().mutex);
  const auto& memories = AllMapped().memories;
  auto next = memories.upper_bound(bytes.data());
  if (next == memories.begin()) return nullptr;
  memory = std::prev(next)->second.lock();
  const bool is_in =
      memory != nullptr && memory->OffsetOf(bytes) <= memory->size() &&
      std::ssize(bytes) <= memory->size() - memory->OffsetOf(bytes);
  return is_in ? memory : nullptr;
}

absl::StatusOr<absl::Span<std::byte>> SharedMemory::Find(int64_t offset,
                                                         int64_t size) const {
  if (offset < 0 || size < 0 || size > size_ || offset > size_ - size) {
    return absl::InvalidArgumentError(absl::StrCat("shared memory has ", size_,
                                                   " bytes, not ", size,
                                                   " from byte ", offset));
  }
  return absl::Span<std::byte>(begin_ + offset, size);
}

}  // namespace meshwright
