// The files of a checkpoint that one worker writes, and what it reads from one.
#ifndef MESHWRIGHT_RUNTIME_STATE_FILES_H_
#define MESHWRIGHT_RUNTIME_STATE_FILES_H_

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "meshwright/checkpoint/shard_file.h"
#include "meshwright/runtime/executor.h"
#include "meshwright/runtime/save_plan.h"

namespace meshwright {

// Of the state at construction, if it is copied: then it may be written while
// steps run. Otherwise the executor must outlive it and not run.
class StateFiles {
 public:
  // Requires: the map fits the executor's job (CheckStateMap).
  static absl::StatusOr<std::unique_ptr<StateFiles>> Make(
      const Executor* executor, StateMap map, bool copy);

  // Writes files concurrently. By number of the file in the plan.
  absl::StatusOr<std::map<int64_t, WrittenFile>> Write(
      const std::string& folder) const;

 private:
  // Parameter and device.
  using Key = std::pair<int64_t, int64_t>;

  StateFiles(const Executor* executor, StateMap map);

  absl::Status Copy();
  absl::StatusOr<HostBox> Fetch(const SavePlan::Source& source) const;

  const Executor* const executor_;
  const StateMap map_;
  const SavePlan plan_;
  std::map<Key, HostBox> copies_;
};

// Loads the devices' parts of a checkpoint. kInvalidArgument, naming the file,
// if that is damaged. Requires: as StateFiles; the checkpoint has the map's
// tensors.
absl::Status ReadStateFiles(const std::string& folder, const StateMap& map,
                            Executor& executor);

// kInvalidArgument, naming the tensor, if a checkpoint lacks one of these, or
// has others.
absl::Status CheckTensors(const Manifest& manifest, const StateMap& map);

}  // namespace meshwright

#endif  // MESHWRIGHT_RUNTIME_STATE_FILES_H_
