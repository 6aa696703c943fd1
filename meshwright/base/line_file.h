// A file to which lines are appended.
//
//   MW_ASSIGN_OR_RETURN(auto file, LineFile::Open("metrics.jsonl"));
//   file->Append(R"({"step": 7})");
#ifndef MESHWRIGHT_BASE_LINE_FILE_H_
#define MESHWRIGHT_BASE_LINE_FILE_H_

#include <memory>
#include <mutex>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace meshwright {

// Thread-safe. Each line is written immediately and atomically.
class LineFile {
 public:
  // Creates the file if it does not exist, and appends otherwise. Errors are
  // one line that begins with the path.
  static absl::StatusOr<std::unique_ptr<LineFile>> Open(
      const std::string& path);
  LineFile(const LineFile&) = delete;
  LineFile& operator=(const LineFile&) = delete;
  ~LineFile();

  // `line` without newline. After a failure nothing more is written.
  void Append(absl::string_view line);
  absl::Status status() const;

 private:
  LineFile(std::string path, int fd) : path_(std::move(path)), fd_(fd) {}

  const std::string path_;
  const int fd_;
  mutable std::mutex mutex_;
  absl::Status status_;
};

}  // namespace meshwright

#endif  // MESHWRIGHT_BASE_LINE_FILE_H_
