#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <map>
#include <memory>
#include <system_error>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "meshwright/base/annotate.h"
#include "meshwright/base/status_macros.h"
#include "meshwright/checkpoint/safetensors_set.h"
#include "meshwright/checkpoint/save_folder.h"
#include "meshwright/checkpoint/shard_file.h"
#include "meshwright/state/safetensors.h"

namespace meshwright {
namespace {

namespace fs = std::filesystem;

// A safetensors file, open, and what it holds.
struct Source {
  std::string path;
  int fd = -1;
  std::vector<PlacedTensor> tensors;

  ~Source() {
    if (fd >= 0) ::close(fd);
  }
};

absl::Status ReadAt(const Source& source, int64_t offset, char* bytes,
                    int64_t size) {
  while (size > 0) {
    const ssize_t got = ::pread(source.fd, bytes, size, offset);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return absl::ErrnoToStatus(errno, source.path);
    if (got == 0) {
      return absl::InvalidArgumentError(
          absl::StrCat(source.path, ": is cut short"));
    }
    bytes += got;
    offset += got;
    size -= got;
  }
  return absl::OkStatus();
}

absl::StatusOr<std::unique_ptr<Source>> Open(const std::string& path) {
  auto source = std::make_unique<Source>();
  source->path = path;
  source->fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  struct stat info;
  if (source->fd < 0 || ::fstat(source->fd, &info) != 0) {
    return absl::ErrnoToStatus(errno, path);
  }
  if (!S_ISREG(info.st_mode)) {
    return absl::InvalidArgumentError(absl::StrCat(path, ": is not a file"));
  }
  std::string header(std::min<int64_t>(8, info.st_size), '\0');
  MW_RETURN_IF_ERROR(ReadAt(*source, 0, header.data(), std::ssize(header)));
  const absl::StatusOr<int64_t> size =
      SafetensorsHeaderBytes(header, info.st_size);
  if (!size.ok()) return Annotate(size.status(), path);
  header.resize(*size);
  MW_RETURN_IF_ERROR(ReadAt(*source, 0, header.data(), *size));
  absl::StatusOr<std::vector<PlacedTensor>> tensors =
      ParseSafetensorsHeader(header, info.st_size);
  if (!tensors.ok()) return Annotate(tensors.status(), path);
  source->tensors = *std::move(tensors);
  return source;
}

// The file, or those of a folder.
absl::StatusOr<std::vector<std::string>> FilesOf(const std::string& source) {
  std::error_code error;
  if (!fs::is_directory(source, error)) return std::vector{source};
  std::vector<std::string> files;
  for (fs::directory_iterator at(source, error);
       !error && at != fs::directory_iterator(); at.increment(error)) {
    const std::string path = at->path().string();
    if (absl::EndsWith(path, ".safetensors")) files.push_back(path);
  }
  if (error) return absl::ErrnoToStatus(error.value(), source);
  if (files.empty()) {
    return absl::InvalidArgumentError(
        absl::StrCat(source, ": there is no .safetensors file in it"));
  }
  std::ranges::sort(files);
  return files;
}

absl::StatusOr<HostBox> Fetch(const Source& source, const PlacedTensor& at) {
  const auto data = std::make_shared<std::string>();
  data->resize(at.end - at.begin);
  MW_RETURN_IF_ERROR(ReadAt(source, at.begin, data->data(), at.end - at.begin));
  if (at.entry.type == ElementType::kPred) {
    for (char& value : *data) value = value != 0;
  }
  return HostBox{.data = data->data(),
                 .box = {at.entry.dimensions,
                         std::vector<int64_t>(at.entry.dimensions.size(), 0)},
                 .owner = data};
}

}  // namespace

absl::StatusOr<std::string> ImportSet(const ImportOptions& options) {
  MW_ASSIGN_OR_RETURN(const std::vector<std::string> paths,
                      FilesOf(options.source));
  std::vector<std::unique_ptr<Source>> sources;
  std::vector<TensorInfo> tensors;
  std::vector<FilePlan> plans;
  std::map<std::string, std::string> seen;  // By name: the file.
  for (const std::string& path : paths) {
    MW_ASSIGN_OR_RETURN(sources.emplace_back(), Open(path));
    FilePlan& plan = plans.emplace_back();
    plan.name = ShardFileName(std::ssize(plans) - 1);
    for (const PlacedTensor& at : sources.back()->tensors) {
      const auto [other, is_new] = seen.emplace(at.entry.name, path);
      if (!is_new) {
        return absl::InvalidArgumentError(absl::StrCat(
            path, ": ", at.entry.name, " is in ", other->second, ", too"));
      }
      if (at.end > at.begin) {
        plan.entries.push_back(
            {.tensor = std::ssize(tensors),
             .region = TensorRegion::Whole(at.entry.dimensions)});
      }
      tensors.push_back({.name = absl::StrCat(options.prefix, at.entry.name),
                         .type = at.entry.type,
                         .dimensions = at.entry.dimensions});
    }
  }
  MW_ASSIGN_OR_RETURN(const std::unique_ptr<SaveFolder> folder,
                      SaveFolder::Create(options.directory, options.step));
  std::vector<WrittenFile> written;
  int64_t first = 0;  // Tensor of the file.
  for (size_t i = 0; i < plans.size(); ++i) {
    const Source& source = *sources[i];
    MW_ASSIGN_OR_RETURN(
        written.emplace_back(),
        WriteShardFile(folder->path(), tensors, plans[i],
                       [&](const FilePlan::Entry& entry) {
                         return Fetch(source,
                                      source.tensors[entry.tensor - first]);
                       }));
    first += std::ssize(source.tensors);
  }
  MW_ASSIGN_OR_RETURN(Manifest manifest, MakeManifest(tensors, plans, written));
  manifest.step = options.step;
  MW_RETURN_IF_ERROR(folder->Commit(manifest));
  return absl::StrCat(options.directory, "/", StepFolderName(options.step));
}

}  // namespace meshwright
