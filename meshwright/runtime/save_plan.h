// Decides who writes which part of a job's state: every region once, by one of
// the devices that hold it, balanced by bytes.
//
//   w f32[8,4] as [data, -] on data=4,model=2: four regions of two rows, each
//   held by two devices; the one with less to write so far writes it.
//
// The coordinator and all workers compute the same plan.
#ifndef MESHWRIGHT_RUNTIME_SAVE_PLAN_H_
#define MESHWRIGHT_RUNTIME_SAVE_PLAN_H_

#include <cstdint>
#include <vector>

#include "absl/status/status.h"
#include "meshwright/checkpoint/manifest.h"
#include "meshwright/checkpoint/shard_file.h"
#include "meshwright/runtime/job.h"

namespace meshwright {

// The tensors of a step's state, and how the parameters of a job correspond to
// them: whole, or parts of them (loops/split_loops.h).
struct StateMap {
  std::vector<TensorInfo> tensors;
  struct Part {
    int64_t parameter = 0;  // Of the job.
    int64_t tensor = 0;
    std::vector<int64_t> start;  // Within the tensor.
  };
  std::vector<Part> parts;
};

// kInvalidArgument if the parts are not state of the job, or do not fit. For
// maps that were received.
absl::Status CheckStateMap(const StateMap& map, const Job& job);

struct SavePlan {
  // The source of an entry of a file.
  struct Source {
    int64_t parameter = 0;
    int64_t device = 0;  // Of the mesh of its home stage.
    std::vector<int64_t> local_start;
  };
  struct File {
    FilePlan plan;
    std::vector<Source> sources;  // By entry.
    int32_t worker = 0;
  };
  std::vector<File> files;
};

// Requires: the job is placed, and the map fits it.
SavePlan PlanSave(const StateMap& map, const Job& job);

}  // namespace meshwright

#endif  // MESHWRIGHT_RUNTIME_SAVE_PLAN_H_
