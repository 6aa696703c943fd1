#include "meshwright/checkpoint/reader.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <utility>

#include "absl/strings/str_cat.h"
#include "meshwright/base/annotate.h"
#include "meshwright/base/file.h"
#include "meshwright/base/side_by_side.h"
#include "meshwright/base/status_macros.h"
#include "meshwright/checkpoint/crc32c.h"
#include "meshwright/checkpoint/save_folder.h"

namespace meshwright {
namespace {

constexpr int64_t kMaxManifestBytes = int64_t{1} << 31;
// Maximum number of open files.
constexpr size_t kMaxOpen = 200;
// Bytes that one thread reads at a time.
constexpr int64_t kTaskBytes = int64_t{8} << 20;
// The kernel is told of this many tasks before they are read.
constexpr int kTasksAhead = 8;

// Reads exactly as many bytes as requested.
absl::Status ReadAt(int fd, const std::string& path, int64_t offset,
                    char* bytes, int64_t size) {
  while (size > 0) {
    const ssize_t got = ::pread(fd, bytes, size, offset);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return absl::ErrnoToStatus(errno, path);
    if (got == 0) {
      return absl::InvalidArgumentError(absl::StrCat(path, ": is cut short"));
    }
    bytes += got;
    offset += got;
    size -= got;
  }
  return absl::OkStatus();
}

}  // namespace

struct CheckpointReader::OpenFile {
  std::string path;
  int fd = -1;

  ~OpenFile() {
    if (fd >= 0) ::close(fd);
  }
};

// Some blocks of a saved region, and the targets that need them.
struct CheckpointReader::Task {
  struct Target {
    char* data = nullptr;
    // The runs that copy the region to the data.
    std::shared_ptr<const BoxRuns> runs;
  };

  const SavedTensor* tensor = nullptr;
  const SavedRegion* saved = nullptr;
  int64_t first_block = 0;
  int64_t end_block = 0;
  std::vector<Target> targets;
};

CheckpointReader::CheckpointReader(std::string folder, Manifest manifest)
    : folder_(std::move(folder)), manifest_(std::move(manifest)) {}

CheckpointReader::~CheckpointReader() = default;

absl::StatusOr<std::unique_ptr<CheckpointReader>> CheckpointReader::Open(
    const std::string& path) {
  MW_ASSIGN_OR_RETURN(std::string folder, FindCheckpoint(path));
  const std::string file = absl::StrCat(folder, "/", kManifestName);
  MW_ASSIGN_OR_RETURN(const std::string text,
                      ReadFile(file, kMaxManifestBytes));
  absl::StatusOr<Manifest> manifest = ParseManifest(text);
  if (!manifest.ok()) return Annotate(manifest.status(), file);
  return std::unique_ptr<CheckpointReader>(
      new CheckpointReader(std::move(folder), *std::move(manifest)));
}

absl::StatusOr<std::shared_ptr<const CheckpointReader::OpenFile>>
CheckpointReader::FileOf(int64_t number) {
  const std::lock_guard lock(mutex_);
  if (const auto found = open_.find(number); found != open_.end()) {
    return found->second;
  }
  const SavedFile& saved = manifest_.files[number];
  auto file = std::make_shared<OpenFile>();
  file->path = absl::StrCat(folder_, "/", saved.name);
  file->fd = ::open(file->path.c_str(), O_RDONLY | O_CLOEXEC);
  if (file->fd < 0) return absl::ErrnoToStatus(errno, file->path);
  struct stat info;
  if (::fstat(file->fd, &info) != 0)
    return absl::ErrnoToStatus(errno, file->path);
  if (!S_ISREG(info.st_mode)) {
    return absl::InvalidArgumentError(
        absl::StrCat(file->path, ": is not a file"));
  }
  if (info.st_size != saved.bytes) {
    return absl::InvalidArgumentError(
        absl::StrCat(file->path, ": has ", info.st_size, " bytes, ",
                     saved.bytes, " were written"));
  }
  std::string header(saved.header_bytes, '\0');
  MW_RETURN_IF_ERROR(
      ReadAt(file->fd, file->path, 0, header.data(), saved.header_bytes));
  if (Crc32c(header.data(), header.size()) != saved.header_crc) {
    return absl::InvalidArgumentError(absl::StrCat(
        file->path, ": is damaged: the checksum of its header is another"));
  }
  if (open_.size() >= kMaxOpen) open_.clear();
  open_[number] = file;
  return file;
}

bool CheckpointReader::IsWanted(const Task& task) const {
  const int64_t begin = task.first_block * manifest_.block_bytes;
  const int64_t end = task.end_block * manifest_.block_bytes;
  return std::ranges::any_of(task.targets, [&](const Task::Target& target) {
    const int64_t first = target.runs->FirstAfter(begin);
    return first < target.runs->count() && target.runs->at(first).from < end;
  });
}

absl::Status CheckpointReader::Run(const Task& task) {
  const SavedRegion& saved = *task.saved;
  const int64_t block_bytes = manifest_.block_bytes;
  const int64_t bytes =
      saved.region.element_count() * HostBytes(task.tensor->info.type);
  MW_ASSIGN_OR_RETURN(const std::shared_ptr<const OpenFile> file,
                      FileOf(saved.file));
  std::string buffer;
  for (int64_t block = task.first_block; block < task.end_block; ++block) {
    const int64_t begin = block * block_bytes;
    const int64_t end = std::min(bytes, begin + block_bytes);
    char* at = nullptr;  // Where the block is read to.
    bool is_wanted = task.targets.empty();
    for (const Task::Target& target : task.targets) {
      const int64_t first = target.runs->FirstAfter(begin);
      if (first == target.runs->count()) continue;
      const BoxRuns::Run run = target.runs->at(first);
      if (run.from >= end) continue;
      is_wanted = true;
      if (run.from <= begin && run.from + run.bytes >= end) {
        at = target.data + run.to + (begin - run.from);
        break;
      }
    }
    if (!is_wanted) continue;
    if (at == nullptr) {
      buffer.resize(block_bytes);
      at = buffer.data();
    }
    MW_RETURN_IF_ERROR(
        ReadAt(file->fd, file->path, saved.offset + begin, at, end - begin));
    if (Crc32c(at, end - begin) != saved.crcs[block]) {
      return absl::InvalidArgumentError(
          absl::StrCat(file->path, ": is damaged: the checksum of ",
                       task.tensor->info.name, saved.region.ToString(),
                       " is another at byte ", saved.offset + begin));
    }
    for (const Task::Target& target : task.targets) {
      target.runs->ForEach(
          target.runs->FirstAfter(begin), [&](const BoxRuns::Run& run) {
            const int64_t low = std::max(begin, run.from);
            const int64_t high = std::min(end, run.from + run.bytes);
            if (low >= high) return false;
            char* const to = target.data + run.to + (low - run.from);
            const char* const from = at + (low - begin);
            if (to != from) std::copy_n(from, high - low, to);
            return true;
          });
    }
  }
  return absl::OkStatus();
}

void CheckpointReader::Announce(const Task& task) {
  const auto file = FileOf(task.saved->file);
  if (!file.ok()) return;  // The task that reads the file reports the error.
  const int64_t bytes =
      (task.end_block - task.first_block) * manifest_.block_bytes;
  ::posix_fadvise((*file)->fd,
                  task.saved->offset + task.first_block * manifest_.block_bytes,
                  bytes, POSIX_FADV_WILLNEED);
}

absl::Status CheckpointReader::RunAll(std::vector<Task> tasks) {
  std::mutex mutex;
  absl::Status status;
  std::atomic<bool> is_over = false;
  const int count = static_cast<int>(tasks.size());
  for (int i = 0; i < std::min(kTasksAhead, count); ++i) Announce(tasks[i]);
  SideBySide(count, [&](int i) {
    if (is_over) return;
    if (i + kTasksAhead < count) Announce(tasks[i + kTasksAhead]);
    const absl::Status own = Run(tasks[i]);
    if (own.ok()) return;
    is_over = true;
    const std::lock_guard lock(mutex);
    status.Update(own);
  });
  return status;
}

void CheckpointReader::AddTasks(Task task, std::vector<Task>& tasks) const {
  const int64_t blocks = std::ssize(task.saved->crcs);
  const int64_t at_once =
      std::max<int64_t>(1, kTaskBytes / manifest_.block_bytes);
  for (int64_t block = 0; block < blocks; block += at_once) {
    task.first_block = block;
    task.end_block = std::min(blocks, block + at_once);
    if (task.targets.empty() || IsWanted(task)) tasks.push_back(task);
  }
}

std::vector<CheckpointReader::Task> CheckpointReader::TasksOf(
    absl::Span<const WantedRegion> wanted) const {
  std::map<const SavedTensor*, std::vector<const WantedRegion*>> by_tensor;
  for (const WantedRegion& want : wanted) {
    by_tensor[want.tensor].push_back(&want);
  }
  std::vector<Task> tasks;
  for (const auto& [tensor, wants] : by_tensor) {
    const int64_t element_bytes = HostBytes(tensor->info.type);
    for (const SavedRegion& saved : tensor->regions) {
      Task task{.tensor = tensor, .saved = &saved};
      const std::vector<int64_t> dimensions = saved.region.dimensions();
      for (const WantedRegion* want : wants) {
        const std::optional<TensorRegion> both =
            Intersect(saved.region, want->region);
        if (!both.has_value()) continue;
        BoxInArray from{dimensions, both->start};
        BoxInArray to{want->box.dimensions, both->start};
        for (size_t d = 0; d < dimensions.size(); ++d) {
          from.start[d] -= saved.region.start[d];
          to.start[d] += want->box.start[d] - want->region.start[d];
        }
        task.targets.push_back(
            {want->data, std::make_shared<const BoxRuns>(
                             both->dimensions(), from, to, element_bytes)});
      }
      if (task.targets.empty()) continue;
      AddTasks(std::move(task), tasks);
    }
  }
  std::ranges::stable_sort(tasks, {}, [](const Task& task) {
    return std::pair(task.saved->file, task.saved->offset);
  });
  return tasks;
}

absl::Status CheckpointReader::Read(absl::Span<const WantedRegion> wanted) {
  return RunAll(TasksOf(wanted));
}

void CheckpointReader::ReadAhead(absl::Span<const WantedRegion> wanted) {
  for (const Task& task : TasksOf(wanted)) Announce(task);
}

absl::StatusOr<Tensor> CheckpointReader::ReadTensor(const SavedTensor& saved) {
  Tensor tensor{.name = saved.info.name,
                .type = saved.info.type,
                .dimensions = saved.info.dimensions};
  tensor.data.resize(saved.info.bytes());
  MW_RETURN_IF_ERROR(
      Read({{.tensor = &saved,
             .region = TensorRegion::Whole(saved.info.dimensions),
             .data = tensor.data.data(),
             .box = {saved.info.dimensions,
                     std::vector<int64_t>(saved.info.dimensions.size(), 0)}}}));
  return tensor;
}

absl::Status CheckpointReader::Verify() {
  for (int64_t file = 0; file < std::ssize(manifest_.files); ++file) {
    MW_RETURN_IF_ERROR(FileOf(file).status());
  }
  std::vector<Task> tasks;
  for (const SavedTensor& tensor : manifest_.tensors) {
    for (const SavedRegion& saved : tensor.regions) {
      AddTasks({.tensor = &tensor, .saved = &saved}, tasks);
    }
  }
  return RunAll(std::move(tasks));
}

}  // namespace meshwright
