#include "meshwright/reshard/reshard_path_cache.h"

#include <utility>

namespace meshwright {

const std::vector<ReshardPath>& ReshardPathCache::Of(
    const Key& key, absl::FunctionRef<std::vector<ReshardPath>()> find) {
  {
    const std::lock_guard lock(mutex_);
    const auto known = ways_.find(key);
    if (known != ways_.end()) return known->second;
  }
  // Searches without holding the lock, so that others need not wait.
  std::vector<ReshardPath> found = find();
  const std::lock_guard lock(mutex_);
  return ways_.try_emplace(key, std::move(found)).first->second;
}

size_t ReshardPathCache::size() const {
  const std::lock_guard lock(mutex_);
  return ways_.size();
}

}  // namespace meshwright
