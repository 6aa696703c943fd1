#include "meshwright/runtime/staged_batches.h"

#include <iterator>
#include <memory>

#include "meshwright/base/status_macros.h"

namespace meshwright {

void StagedBatches::Add(Shard shard) {
  const std::lock_guard lock(mutex_);
  const ParameterShard& at = *shard.at;
  std::vector<SharedArray>& arrays =
      batches_[at.batch].arrays[{at.parameter, at.stage}];
  arrays.resize(shard.micro_batches);
  SharedArray& array = arrays[at.micro_batch];
  if (array == nullptr) array = std::make_shared<OwnArray>(shard.devices);
  for (auto& [index, buffer] : shard.buffers) {
    (*array)[index] = std::move(buffer);
  }
}

absl::Status StagedBatches::Fail(int64_t batch, absl::Status why) {
  const std::lock_guard lock(mutex_);
  batches_[batch].failure.Update(why);
  return why;
}

absl::StatusOr<DataFeed::Batch> StagedBatches::Take(int64_t batch) {
  std::map<int64_t, Batch> dropped;  // Destroyed after the lock is released.
  const std::lock_guard lock(mutex_);
  Batch taken;
  while (!batches_.empty() && batches_.begin()->first <= batch) {
    auto first = batches_.extract(batches_.begin());
    if (first.key() == batch) {
      taken = std::move(first.mapped());
    } else {
      dropped.insert(std::move(first));
    }
  }
  MW_RETURN_IF_ERROR(taken.failure);
  return std::move(taken.arrays);
}

}  // namespace meshwright
