#include <algorithm>
#include <filesystem>
#include <map>
#include <memory>
#include <system_error>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "meshwright/base/random_access_file.h"
#include "meshwright/base/status_macros.h"
#include "meshwright/checkpoint/safetensors_set.h"
#include "meshwright/checkpoint/save_folder.h"
#include "meshwright/checkpoint/shard_file.h"
#include "meshwright/state/tensor_index.h"

namespace meshwright {
namespace {

namespace fs = std::filesystem;

// An open file of tensors, and their positions.
struct Source {
  std::unique_ptr<RandomAccessFile> file;
  std::vector<PlacedTensor> tensors;
};

absl::StatusOr<Source> Open(const std::string& path) {
  Source source;
  MW_ASSIGN_OR_RETURN(source.file, RandomAccessFile::Open(path));
  MW_ASSIGN_OR_RETURN(source.tensors, IndexTensors(*source.file));
  return source;
}

int64_t BytesOf(const Tensor& tensor) {
  return *CheckedBytes(tensor.dimensions, HostBytes(tensor.type));
}

// The file itself, or the files of a folder.
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
  data->resize(BytesOf(at.tensor));
  MW_RETURN_IF_ERROR(source.file->Read(at.offset, data->data(), data->size()));
  if (at.tensor.type == ElementType::kPred) {
    for (char& value : *data) value = value != 0;
  }
  return HostBox{.data = data->data(),
                 .box = {at.tensor.dimensions,
                         std::vector<int64_t>(at.tensor.dimensions.size(), 0)},
                 .owner = data};
}

}  // namespace

absl::StatusOr<std::string> ImportSet(const ImportOptions& options) {
  MW_ASSIGN_OR_RETURN(const std::vector<std::string> paths,
                      FilesOf(options.source));
  std::vector<Source> sources;
  std::vector<TensorInfo> tensors;
  std::vector<FilePlan> plans;
  std::map<std::string, std::string> seen;  // By name of a tensor: its file.
  for (const std::string& path : paths) {
    MW_ASSIGN_OR_RETURN(sources.emplace_back(), Open(path));
    FilePlan& plan = plans.emplace_back();
    plan.name = ShardFileName(std::ssize(plans) - 1);
    for (const PlacedTensor& at : sources.back().tensors) {
      const auto [other, is_new] = seen.emplace(at.tensor.name, path);
      if (!is_new) {
        return absl::InvalidArgumentError(absl::StrCat(
            path, ": ", at.tensor.name, " is in ", other->second, ", too"));
      }
      if (BytesOf(at.tensor) > 0) {
        plan.entries.push_back(
            {.tensor = std::ssize(tensors),
             .region = TensorRegion::Whole(at.tensor.dimensions)});
      }
      tensors.push_back({.name = absl::StrCat(options.prefix, at.tensor.name),
                         .type = at.tensor.type,
                         .dimensions = at.tensor.dimensions});
    }
  }
  MW_ASSIGN_OR_RETURN(const std::unique_ptr<SaveFolder> folder,
                      SaveFolder::Create(options.directory, options.step));
  std::vector<WrittenFile> written;
  int64_t first = 0;  // The file's first tensor.
  for (size_t i = 0; i < plans.size(); ++i) {
    const Source& source = sources[i];
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
