// Ways of reshards, remembered for all that ask on one mesh at one set of
// prices. Thread-safe.
#ifndef MESHWRIGHT_RESHARD_KNOWN_WAYS_H_
#define MESHWRIGHT_RESHARD_KNOWN_WAYS_H_

#include <cstddef>
#include <cstdint>
#include <mutex>
#include <vector>

#include "absl/container/inlined_vector.h"
#include "absl/container/node_hash_map.h"
#include "absl/functional/function_ref.h"
#include "meshwright/reshard/reshard_ways.h"

namespace meshwright {

class KnownWays {
 public:
  // Of a problem: tensors that are split alike have the same ways.
  using Key = absl::InlinedVector<int64_t, 48>;

  // What `find` gave when first asked; it may be asked on several threads, and
  // then says the same on each.
  const std::vector<ReshardWay>& Of(
      const Key& key, absl::FunctionRef<std::vector<ReshardWay>()> find);

  size_t size() const;

 private:
  mutable std::mutex mutex_;
  absl::node_hash_map<Key, std::vector<ReshardWay>> ways_;
};

}  // namespace meshwright

#endif  // MESHWRIGHT_RESHARD_KNOWN_WAYS_H_
