#include "meshwright/checkpoint/save_folder.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstdio>
#include <filesystem>
#include <optional>
#include <system_error>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/strip.h"
#include "meshwright/base/status_macros.h"
#include "meshwright/checkpoint/block_writer.h"

namespace meshwright {
namespace {

namespace fs = std::filesystem;

constexpr absl::string_view kStepPrefix = "step_";
constexpr absl::string_view kTemporaryPrefix = ".saving-";

absl::Status FlushFolder(const std::string& path) {
  const int fd = ::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (fd < 0) return absl::ErrnoToStatus(errno, path);
  // Some file systems cannot flush folders.
  const bool flushed = ::fsync(fd) == 0 || errno == EINVAL;
  const int error = errno;
  ::close(fd);
  return flushed ? absl::OkStatus() : absl::ErrnoToStatus(error, path);
}

// The names in a folder.
absl::StatusOr<std::vector<std::string>> NamesIn(const std::string& folder) {
  std::error_code error;
  std::vector<std::string> names;
  fs::directory_iterator at(folder, error);
  for (; !error && at != fs::directory_iterator(); at.increment(error)) {
    names.push_back(at->path().filename().string());
  }
  if (error) return absl::ErrnoToStatus(error.value(), folder);
  return names;
}

std::string TemporaryName(absl::string_view for_what) {
  static std::atomic<int> number = 0;
  return absl::StrCat(kTemporaryPrefix, for_what, "-", ::getpid(), "-",
                      number++);
}

// The folder, open and locked; nullopt if another process has locked it.
std::optional<int> Lock(const std::string& path) {
  const int fd = ::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (fd < 0) return std::nullopt;
  struct stat locked;
  struct stat there;
  // It may have been removed and created again before it was locked.
  if (::flock(fd, LOCK_EX | LOCK_NB) == 0 && ::fstat(fd, &locked) == 0 &&
      ::stat(path.c_str(), &there) == 0 && locked.st_ino == there.st_ino) {
    return fd;
  }
  ::close(fd);
  return std::nullopt;
}

void Remove(const std::string& folder) {
  std::error_code ignored;  // The next save finds what remains.
  fs::remove_all(folder, ignored);
}

// Removes temporary folders of processes that have ended.
void RemoveLeftovers(const std::string& directory) {
  const absl::StatusOr<std::vector<std::string>> names = NamesIn(directory);
  if (!names.ok()) return;
  for (const std::string& name : *names) {
    if (!absl::StartsWith(name, kTemporaryPrefix)) continue;
    const std::string path = absl::StrCat(directory, "/", name);
    if (const std::optional<int> lock = Lock(path)) {
      Remove(path);
      ::close(*lock);
    }
  }
}

// Renames a folder to a temporary name before removing it, so that no partial
// folder is ever visible.
absl::Status Discard(const std::string& directory, const std::string& name) {
  const std::string from = absl::StrCat(directory, "/", name);
  const std::string to = absl::StrCat(directory, "/", TemporaryName(name));
  if (::rename(from.c_str(), to.c_str()) != 0)
    return absl::ErrnoToStatus(errno, from);
  Remove(to);
  return absl::OkStatus();
}

std::optional<int64_t> StepOf(absl::string_view name) {
  int64_t step = 0;
  if (!absl::ConsumePrefix(&name, kStepPrefix) || name.empty() ||
      !std::ranges::all_of(name, absl::ascii_isdigit) ||
      !absl::SimpleAtoi(name, &step)) {
    return std::nullopt;
  }
  return step;
}

bool IsComplete(const std::string& folder) {
  struct stat info;
  const std::string manifest = absl::StrCat(folder, "/", kManifestName);
  return ::stat(manifest.c_str(), &info) == 0 && S_ISREG(info.st_mode);
}

// By step: the name of its folder.
absl::StatusOr<std::vector<std::pair<int64_t, std::string>>> CompleteIn(
    const std::string& directory) {
  MW_ASSIGN_OR_RETURN(const std::vector<std::string> names, NamesIn(directory));
  std::vector<std::pair<int64_t, std::string>> found;
  for (const std::string& name : names) {
    const std::optional<int64_t> step = StepOf(name);
    if (step.has_value() && IsComplete(absl::StrCat(directory, "/", name))) {
      found.emplace_back(*step, name);
    }
  }
  std::ranges::sort(found);
  return found;
}

absl::Status WriteWhole(const std::string& path, const std::string& text) {
  MW_ASSIGN_OR_RETURN(const std::unique_ptr<BlockWriter> writer,
                      BlockWriter::Create(path));
  MW_RETURN_IF_ERROR(writer->Append(text.data(), text.size()));
  return writer->Finish();
}

// Checks that the files that workers wrote are visible here.
absl::Status CheckFiles(const std::string& folder, const Manifest& manifest) {
  for (const SavedFile& file : manifest.files) {
    const std::string path = absl::StrCat(folder, "/", file.name);
    struct stat info;
    if (::stat(path.c_str(), &info) != 0) {
      return absl::FailedPreconditionError(absl::StrCat(
          path,
          ": is not seen here: workers on other hosts need a folder that "
          "all hosts share"));
    }
    if (info.st_size != file.bytes) {
      return absl::FailedPreconditionError(
          absl::StrCat(path, ": has ", info.st_size, " bytes here, ",
                       file.bytes, " were written"));
    }
  }
  return absl::OkStatus();
}

}  // namespace

std::string StepFolderName(int64_t step) {
  return absl::StrFormat("%s%08d", kStepPrefix, step);
}

absl::StatusOr<std::unique_ptr<SaveFolder>> SaveFolder::Create(
    const std::string& directory, int64_t step) {
  std::error_code error;
  fs::create_directories(directory, error);
  if (error) return absl::ErrnoToStatus(error.value(), directory);
  RemoveLeftovers(directory);
  while (true) {
    std::string path =
        absl::StrCat(directory, "/", TemporaryName(StepFolderName(step)));
    if (::mkdir(path.c_str(), 0777) != 0) {
      if (errno == EEXIST) continue;
      return absl::ErrnoToStatus(errno, path);
    }
    const int fd = ::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0) {
      if (errno == ENOENT) continue;  // Another process took it for a leftover.
      return absl::ErrnoToStatus(errno, path);
    }
    // On file systems without locks, leftovers are not removed.
    ::flock(fd, LOCK_EX);
    struct stat info;
    if (::stat(path.c_str(), &info) != 0) {
      ::close(fd);
      continue;
    }
    return std::unique_ptr<SaveFolder>(
        new SaveFolder(directory, std::move(path), step, fd));
  }
}

SaveFolder::~SaveFolder() {
  // After a commit, this is nothing or the checkpoint that was replaced;
  // otherwise, an incomplete one.
  Remove(path_);
  ::close(lock_);
}

absl::Status SaveFolder::Commit(const Manifest& manifest) {
  MW_RETURN_IF_ERROR(CheckFiles(path_, manifest));
  MW_ASSIGN_OR_RETURN(const std::string text, WriteManifest(manifest));
  MW_RETURN_IF_ERROR(WriteWhole(absl::StrCat(path_, "/", kManifestName), text));
  MW_RETURN_IF_ERROR(FlushFolder(path_));
  const std::string target =
      absl::StrCat(directory_, "/", StepFolderName(step_));
  // An existing checkpoint is exchanged with this one.
  if (::rename(path_.c_str(), target.c_str()) != 0) {
    if (errno != ENOTEMPTY && errno != EEXIST)
      return absl::ErrnoToStatus(errno, target);
    if (::renameat2(AT_FDCWD, path_.c_str(), AT_FDCWD, target.c_str(),
                    RENAME_EXCHANGE) != 0) {
      return absl::ErrnoToStatus(errno, target);
    }
  }
  return FlushFolder(directory_);
}

absl::StatusOr<std::vector<int64_t>> ListSteps(const std::string& directory) {
  MW_ASSIGN_OR_RETURN(const auto found, CompleteIn(directory));
  std::vector<int64_t> steps;
  for (const auto& [step, name] : found) steps.push_back(step);
  return steps;
}

absl::Status KeepLast(const std::string& directory, int64_t count) {
  MW_ASSIGN_OR_RETURN(const auto found, CompleteIn(directory));
  for (int64_t i = 0; i + count < std::ssize(found); ++i) {
    MW_RETURN_IF_ERROR(Discard(directory, found[i].second));
  }
  return absl::OkStatus();
}

absl::StatusOr<std::string> FindCheckpoint(const std::string& path) {
  if (IsComplete(path)) return path;
  MW_ASSIGN_OR_RETURN(const auto found, CompleteIn(path));
  if (found.empty()) {
    return absl::NotFoundError(
        absl::StrCat(path, ": there is no complete checkpoint"));
  }
  return absl::StrCat(path, "/", found.back().second);
}

}  // namespace meshwright
