// Loop-invariant carried values.
//
//   UnchangedLeaves unchanged;
//   unchanged.Of(loop)[2];  // Whether leaf 2 of its tuple never changes.
//
// Such a leaf needs no buffer of its own: compilers leave it where it is, also
// in nested loops.
#ifndef MESHWRIGHT_COST_UNCHANGED_LEAVES_H_
#define MESHWRIGHT_COST_UNCHANGED_LEAVES_H_

#include <vector>

#include "absl/container/flat_hash_map.h"
#include "meshwright/hlo/module.h"

namespace meshwright {

class UnchangedLeaves {
 public:
  // By leaf of the loop's tuple.
  const std::vector<bool>& Of(const Instruction& loop);

 private:
  std::vector<bool> Find(const Computation& body);

  absl::flat_hash_map<const Computation*, std::vector<bool>> by_body_;
};

}  // namespace meshwright

#endif  // MESHWRIGHT_COST_UNCHANGED_LEAVES_H_
