// Data for later steps that are on the devices of a worker already.
//
//   staged.Add({.at = &at, .buffers = ...});            // While steps run.
//   MW_ASSIGN_OR_RETURN(auto batch, staged.Take(7));    // Between them.
//
// Thread-safe.
#ifndef MESHWRIGHT_RUNTIME_STAGED_BATCHES_H_
#define MESHWRIGHT_RUNTIME_STAGED_BATCHES_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <mutex>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "meshwright/engine/buffer.h"
#include "meshwright/runtime/data_feed.h"
#include "meshwright/runtime/job_site.h"

namespace meshwright {

class StagedBatches {
 public:
  struct Shard {
    const ParameterShard* at = nullptr;
    std::vector<std::pair<int32_t, BufferPtr>> buffers = {};  // By own device.
    int64_t micro_batches = 1;
    size_t devices = 0;  // Of the stage, on this worker.
  };
  void Add(Shard shard);
  // Returns what went wrong with one, which is the error of who takes it, too.
  absl::Status Fail(int64_t batch, absl::Status why);
  // What is here of this one, if anything. It and those before it are dropped.
  absl::StatusOr<DataFeed::Batch> Take(int64_t batch);

 private:
  struct Batch {
    DataFeed::Batch arrays;
    absl::Status failure;
  };

  std::mutex mutex_;
  std::map<int64_t, Batch> batches_;
};

}  // namespace meshwright

#endif  // MESHWRIGHT_RUNTIME_STAGED_BATCHES_H_
