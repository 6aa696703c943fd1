// Writes a new file sequentially with direct I/O if the file system supports
// it: a checkpoint is not read again soon, and should not evict other data from
// the page cache.
#ifndef MESHWRIGHT_CHECKPOINT_BLOCK_WRITER_H_
#define MESHWRIGHT_CHECKPOINT_BLOCK_WRITER_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace meshwright {

class BlockWriter {
 public:
  // Errors begin with the path, here and below. kAlreadyExists if it exists.
  static absl::StatusOr<std::unique_ptr<BlockWriter>> Create(std::string path);
  // Closes it; an unfinished file is not usable.
  ~BlockWriter();

  // Appends bytes. kResourceExhausted when the disk is full.
  absl::Status Append(const char* data, size_t size);
  // Ensures that everything is on disk.
  absl::Status Finish();

 private:
  struct Free {
    void operator()(char* memory) const;
  };

  BlockWriter(std::string path, int fd, bool is_direct);

  absl::Status WriteOut(const char* data, size_t size);
  absl::Status Failure(int error) const;

  const std::string path_;
  const int fd_;
  bool is_direct_;
  std::unique_ptr<char, Free> buffer_;
  size_t filled_ = 0;
  int64_t written_ = 0;
};

}  // namespace meshwright

#endif  // MESHWRIGHT_CHECKPOINT_BLOCK_WRITER_H_
