#include "meshwright/wire/shm_segment.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <random>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "meshwright/base/status_macros.h"

namespace meshwright {
namespace {

constexpr size_t kPage = 4096;

constexpr size_t RoundUp(size_t bytes) {
  return (bytes + kPage - 1) / kPage * kPage;
}

// The size of the segment up to the messages; `Head` begins it.
template <typename Head>
constexpr size_t SizeOf() {
  return RoundUp(sizeof(Head)) +
         ShmSegment::kBufferBytes * ShmSegment::kChannels * 2 +
         RoundUp(sizeof(ShmRing)) * ShmSegment::kRings;
}

size_t HalfOfMemory() {
  return RoundUp(static_cast<size_t>(sysconf(_SC_PHYS_PAGES)) / 2 *
                 static_cast<size_t>(sysconf(_SC_PAGESIZE)));
}

uint64_t RandomMark() {
  std::random_device random;
  return static_cast<uint64_t>(random()) << 32 | random();
}

}  // namespace

absl::StatusOr<std::unique_ptr<ShmSegment>> ShmSegment::Create() {
  auto segment = Create(HalfOfMemory());
  // Where addresses are limited, messages are not shared.
  return segment.ok() ? std::move(segment) : Create(0);
}

absl::StatusOr<std::unique_ptr<ShmSegment>> ShmSegment::Create(
    size_t message_bytes) {
  const int file = memfd_create("meshwright-wire", MFD_CLOEXEC);
  if (file < 0) return absl::ErrnoToStatus(errno, "memfd_create");
  // Pages that are never touched use no memory.
  const size_t size = SizeOf<Head>() + message_bytes;
  if (ftruncate(file, static_cast<off_t>(size)) != 0) {
    const absl::Status failed = absl::ErrnoToStatus(errno, "ftruncate");
    close(file);
    return failed;
  }
  MW_ASSIGN_OR_RETURN(std::unique_ptr<ShmSegment> segment, Map(file));
  segment->head_->mark = RandomMark();
  return segment;
}

absl::StatusOr<std::unique_ptr<ShmSegment>> ShmSegment::Open(
    const std::string& path) {
  const std::vector<std::string> parts = absl::StrSplit(path, ' ');
  uint64_t mark = 0;
  if (parts.size() != 2 || !absl::SimpleAtoi(parts[1], &mark)) {
    return absl::InvalidArgumentError(absl::StrCat("no path: ", path));
  }
  const int file = open(parts[0].c_str(), O_RDWR | O_CLOEXEC);
  if (file < 0) return absl::ErrnoToStatus(errno, parts[0]);
  MW_ASSIGN_OR_RETURN(std::unique_ptr<ShmSegment> segment, Map(file));
  if (segment->head_->mark != mark) {
    return absl::NotFoundError(absl::StrCat(parts[0], " is another file now"));
  }
  return segment;
}

absl::StatusOr<std::unique_ptr<ShmSegment>> ShmSegment::Map(int file) {
  const size_t size = SizeOf<Head>();
  struct stat status = {};
  void* memory = MAP_FAILED;
  size_t whole = 0;
  if (fstat(file, &status) == 0 &&
      static_cast<size_t>(status.st_size) >= size) {
    whole = static_cast<size_t>(status.st_size);
    memory = mmap(nullptr, whole, PROT_READ | PROT_WRITE,
                  MAP_SHARED | MAP_NORESERVE, file, 0);
  }
  if (memory == MAP_FAILED) {
    close(file);
    return absl::UnavailableError("shared memory cannot be mapped");
  }
  return std::unique_ptr<ShmSegment>(
      new ShmSegment(file, static_cast<Head*>(memory), whole - size));
}

ShmSegment::~ShmSegment() {
  munmap(head_, SizeOf<Head>() + message_bytes_);
  close(file_);
}

std::string ShmSegment::path() const {
  return absl::StrCat("/proc/", getpid(), "/fd/", file_, " ", head_->mark);
}

ShmRing& ShmSegment::ring(int to) {
  std::byte* const first =
      messages() - RoundUp(sizeof(ShmRing)) * ShmSegment::kRings;
  return *reinterpret_cast<ShmRing*>(first + RoundUp(sizeof(ShmRing)) *
                                                 static_cast<size_t>(to));
}

std::byte* ShmSegment::messages() {
  return reinterpret_cast<std::byte*>(head_) + SizeOf<Head>();
}

std::byte* ShmSegment::buffer(int channel, uint32_t round) {
  return reinterpret_cast<std::byte*>(head_) + RoundUp(sizeof(Head)) +
         kBufferBytes * (2 * static_cast<size_t>(channel) + round % 2);
}

}  // namespace meshwright
