// Gives equal values small numbers, so that tables over them are cheap.
#ifndef MESHWRIGHT_PARTITION_POOL_H_
#define MESHWRIGHT_PARTITION_POOL_H_

#include <cstdint>
#include <memory>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "meshwright/mesh/sharding.h"

namespace meshwright {

template <typename T>
class Pool {
 public:
  int32_t Intern(const T& value) {
    const auto [entry, is_new] =
        ids_.try_emplace(value, static_cast<int32_t>(values_.size()));
    if (is_new) values_.push_back(std::make_unique<T>(value));
    return entry->second;
  }
  const T& operator[](int32_t id) const { return *values_[id]; }
  int32_t size() const { return static_cast<int32_t>(values_.size()); }

 private:
  absl::flat_hash_map<T, int32_t> ids_;
  std::vector<std::unique_ptr<T>> values_;
};

using ShardingId = int32_t;
using ShardingPool = Pool<Sharding>;

}  // namespace meshwright

#endif  // MESHWRIGHT_PARTITION_POOL_H_
