// Memory that another process shares with this one, so that tensors need not be
// sent.
//
//   MW_ASSIGN_OR_RETURN(auto memory, SharedMemory::Open(fd));
//   MW_ASSIGN_OR_RETURN(absl::Span<std::byte> bytes,
//                       memory->Find(/*offset=*/4096, /*size=*/100));
//
// The other process may write to it at any time but cannot shrink it: reading
// a mapped file that has been truncated would end this process by SIGBUS.
#ifndef MESHWRIGHT_BASE_SHARED_MEMORY_H_
#define MESHWRIGHT_BASE_SHARED_MEMORY_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>

#include "absl/status/statusor.h"
#include "absl/types/span.h"

namespace meshwright {

// Thread-safe.
class SharedMemory {
 public:
  // Maps all of a memfd that is sealed against shrinking. Takes ownership of
  // `fd`, also on errors. kInvalidArgument for any other file;
  // kResourceExhausted if the address space has no room for it. `address` is
  // where other processes get it (wire/memory_shares.h); empty: nowhere.
  static absl::StatusOr<std::shared_ptr<const SharedMemory>> Open(
      int fd, std::string address = "");
  // That which has all these bytes; null if none of this process has.
  static std::shared_ptr<const SharedMemory> Around(
      absl::Span<const std::byte> bytes);
  ~SharedMemory();
  SharedMemory(const SharedMemory&) = delete;
  SharedMemory& operator=(const SharedMemory&) = delete;

  int64_t size() const { return size_; }
  const std::string& address() const { return address_; }
  // Requires: it has these bytes.
  int64_t OffsetOf(absl::Span<const std::byte> bytes) const {
    return bytes.data() - begin_;
  }
  // kInvalidArgument if the range is not inside the memory.
  absl::StatusOr<absl::Span<std::byte>> Find(int64_t offset,
                                             int64_t size) const;

 private:
  SharedMemory(std::byte* begin, int64_t size, std::string address)
      : begin_(begin), size_(size), address_(std::move(address)) {}

  std::byte* const begin_;
  const int64_t size_;
  const std::string address_;
};

}  // namespace meshwright

#endif  // MESHWRIGHT_BASE_SHARED_MEMORY_H_
