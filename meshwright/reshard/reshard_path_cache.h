// Memoised reshard paths, shared by all searches on one mesh at one set of
// prices. Thread-safe.
#ifndef MESHWRIGHT_RESHARD_RESHARD_PATH_CACHE_H_
#define MESHWRIGHT_RESHARD_RESHARD_PATH_CACHE_H_

#include <cstddef>
#include <cstdint>
#include <mutex>
#include <vector>

#include "absl/container/inlined_vector.h"
#include "absl/container/node_hash_map.h"
#include "absl/functional/function_ref.h"
#include "meshwright/reshard/reshard_paths.h"

namespace meshwright {

class ReshardPathCache {
 public:
  // Of a problem: tensors with the same pair of shardings have the same paths.
  using Key = absl::InlinedVector<int64_t, 48>;

  // The result of `find` when first asked for this key. `find` may run on
  // several threads at once, and must return the same on each.
  const std::vector<ReshardPath>& Of(
      const Key& key, absl::FunctionRef<std::vector<ReshardPath>()> find);

  size_t size() const;

 private:
  mutable std::mutex mutex_;
  absl::node_hash_map<Key, std::vector<ReshardPath>> ways_;
};

}  // namespace meshwright

#endif  // MESHWRIGHT_RESHARD_RESHARD_PATH_CACHE_H_
