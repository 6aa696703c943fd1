#include "meshwright/runtime/state_saver.h"

#include <filesystem>
#include <memory>
#include <system_error>
#include <utility>
#include <vector>

#include "meshwright/base/annotate.h"
#include "meshwright/base/status_macros.h"
#include "meshwright/checkpoint/reader.h"
#include "meshwright/checkpoint/save_folder.h"
#include "meshwright/runtime/state_files.h"

namespace meshwright {
namespace {

// The path means the same to workers, which may have another working directory.
std::string Absolute(const std::string& path) {
  std::error_code error;
  const std::filesystem::path absolute = std::filesystem::absolute(path, error);
  return error ? path : absolute.lexically_normal().string();
}

// Commits the folder as a checkpoint once all files are written.
absl::Status Finish(const SaveOptions& options, const std::string& directory,
                    const StateMap& map, const Job& job, StateWrite& write,
                    SaveFolder& folder) {
  MW_ASSIGN_OR_RETURN(const std::vector<WrittenFile> written, write.Await());
  std::vector<FilePlan> files;
  for (SavePlan::File& file : PlanSave(map, job).files) {
    files.push_back(std::move(file.plan));
  }
  MW_ASSIGN_OR_RETURN(Manifest manifest,
                      MakeManifest(map.tensors, files, written));
  manifest.step = options.step;
  manifest.extra = options.extra;
  MW_RETURN_IF_ERROR(folder.Commit(manifest));
  return options.keep_last > 0 ? KeepLast(directory, options.keep_last)
                               : absl::OkStatus();
}

absl::Status CheckOptions(const SaveOptions& options) {
  if (options.directory.empty()) {
    return absl::InvalidArgumentError("no folder to save to");
  }
  if (options.step < 0 || options.keep_last < 0) {
    return absl::InvalidArgumentError(
        "the step and the number of checkpoints to keep are not below 0");
  }
  // Finds values that it cannot hold before anything is written.
  return WriteManifest({.extra = options.extra}).status();
}

}  // namespace

StateSaver::~StateSaver() {
  if (thread_.joinable()) thread_.join();
}

absl::Status StateSaver::AwaitSaved() {
  if (thread_.joinable()) thread_.join();
  return std::exchange(saved_, absl::OkStatus());
}

absl::Status StateSaver::Save(const SaveOptions& options, StateMap map) {
  MW_RETURN_IF_ERROR(AwaitSaved());
  MW_RETURN_IF_ERROR(CheckOptions(options));
  const std::string directory = Absolute(options.directory);
  MW_ASSIGN_OR_RETURN(std::unique_ptr<SaveFolder> folder,
                      SaveFolder::Create(directory, options.step));
  MW_ASSIGN_OR_RETURN(
      std::unique_ptr<StateWrite> write,
      site_.BeginSave(map, folder->path(), options.in_background));
  if (!options.in_background) {
    return Finish(options, directory, map, site_.job(), *write, *folder);
  }
  thread_ = std::thread([this, options, directory, map = std::move(map),
                         write = std::move(write),
                         folder = std::move(folder)]() mutable {
    saved_ = Finish(options, directory, map, site_.job(), *write, *folder);
    folder = nullptr;
    write = nullptr;
  });
  return absl::OkStatus();
}

absl::StatusOr<RestoredState> StateSaver::Restore(const std::string& directory,
                                                  const StateMap& map,
                                                  bool* is_touched) {
  MW_RETURN_IF_ERROR(AwaitSaved());
  MW_ASSIGN_OR_RETURN(const std::unique_ptr<CheckpointReader> reader,
                      CheckpointReader::Open(Absolute(directory)));
  const Manifest& manifest = reader->manifest();
  MW_RETURN_IF_ERROR(Annotate(CheckTensors(manifest, map), reader->folder()));
  *is_touched = true;
  MW_RETURN_IF_ERROR(site_.ReadState(map, reader->folder()));
  site_.NumberStepsFrom(manifest.step);
  return RestoredState{.folder = reader->folder(),
                       .step = manifest.step,
                       .extra = manifest.extra};
}

}  // namespace meshwright
