#include "meshwright/reshard/known_ways.h"

#include <utility>

namespace meshwright {

const std::vector<ReshardWay>& KnownWays::Of(
    const Key& key, absl::FunctionRef<std::vector<ReshardWay>()> find) {
  {
    const std::lock_guard lock(mutex_);
    const auto known = ways_.find(key);
    if (known != ways_.end()) return known->second;
  }
  // Others need not wait while it is looked for.
  std::vector<ReshardWay> found = find();
  const std::lock_guard lock(mutex_);
  return ways_.try_emplace(key, std::move(found)).first->second;
}

size_t KnownWays::size() const {
  const std::lock_guard lock(mutex_);
  return ways_.size();
}

}  // namespace meshwright
