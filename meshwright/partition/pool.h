// Numbers distinct values consecutively (interning), so that tables over them
// are cheap.
#ifndef MESHWRIGHT_PARTITION_POOL_H_
#define MESHWRIGHT_PARTITION_POOL_H_

#include <cstdint>
#include <memory>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "meshwright/base/strong_id.h"
#include "meshwright/mesh/sharding.h"

namespace meshwright {

template <typename T, typename Id>
class Pool {
 public:
  Id Intern(const T& value) {
    const auto [entry, is_new] =
        ids_.try_emplace(value, static_cast<Id>(values_.size()));
    if (is_new) values_.push_back(std::make_unique<T>(value));
    return entry->second;
  }
  const T& operator[](Id id) const { return *values_[id]; }
  int32_t size() const { return static_cast<int32_t>(values_.size()); }

 private:
  absl::flat_hash_map<T, Id> ids_;
  std::vector<std::unique_ptr<T>> values_;
};

using ShardingId = StrongId<struct ShardingIdTag>;
using ShardingPool = Pool<Sharding, ShardingId>;

}  // namespace meshwright

#endif  // MESHWRIGHT_PARTITION_POOL_H_
