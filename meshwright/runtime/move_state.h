// State that passes from one job to another beside it, without leaving the
// devices where both have the same shards of it.
//
//   train: w f32[1024,64] as [data, -] on data=4; eval: the same, x otherwise.
//   MoveState(train, eval, {{.from = "w", .to = "params/w"}}, /*drop=*/false);
//
// Other arrays are read and set whole, one at a time, by this process.
#ifndef MESHWRIGHT_RUNTIME_MOVE_STATE_H_
#define MESHWRIGHT_RUNTIME_MOVE_STATE_H_

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "meshwright/runtime/runner.h"

namespace meshwright {

struct StateMove {
  std::string from;  // State of one job.
  std::string to;    // A parameter of the other.
};

// With `drop`, the former job's parameters have no values afterwards; without,
// values that are shared are those of both until a step of either changes them.
// kNotFound or kInvalidArgument, naming it, if one does not fit.
absl::Status MoveState(Runner& from, Runner& to,
                       const std::vector<StateMove>& moves, bool drop);

}  // namespace meshwright

#endif  // MESHWRIGHT_RUNTIME_MOVE_STATE_H_
