// The files of a checkpoint that one worker writes, and what it reads of one.
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

// Of the state as it is when this is made, if it is copied: then it may be
// written while steps run. Else the executor outlives it and is left alone.
class StateFiles {
 public:
  // Requires: the map fits the executor's job (CheckStateMap).
  static absl::StatusOr<std::unique_ptr<StateFiles>> Make(
      const Executor* executor, StateMap map, bool copy);

  // Side by side. By number of the file in the plan.
  absl::StatusOr<std::map<int64_t, WrittenFile>> Write(
      const std::string& folder) const;

 private:
  // By parameter and device.
  using Key = std::pair<int64_t, int64_t>;

  StateFiles(const Executor* executor, StateMap map);

  absl::Status Copy();
  absl::StatusOr<HostBox> Fetch(const SavePlan::Source& source) const;

  const Executor* const executor_;
  const StateMap map_;
  const SavePlan plan_;
  std::map<Key, HostBox> copies_;
};

// Gives the executor's devices what they hold of a checkpoint. kInvalidArgument
// naming the file, when that is damaged. Requires what StateFiles does, and
// that the checkpoint has the map's tensors.
absl::Status ReadStateFiles(const std::string& folder, const StateMap& map,
                            Executor& executor);

// kInvalidArgument, naming the tensor, when a checkpoint has not these, or
// others.
absl::Status CheckTensors(const Manifest& manifest, const StateMap& map);

}  // namespace meshwright

#endif  // MESHWRIGHT_RUNTIME_STATE_FILES_H_
