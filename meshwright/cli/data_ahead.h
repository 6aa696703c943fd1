// Data of steps, by turns: those of a step are transferred while the one before
// runs.
//
//   DataAhead ahead(data, first, steps, runner);
//   MW_RETURN_IF_ERROR(ahead.Give(step));
//   MW_ASSIGN_OR_RETURN(auto results, ahead.Run(count, step + count));
#ifndef MESHWRIGHT_CLI_DATA_AHEAD_H_
#define MESHWRIGHT_CLI_DATA_AHEAD_H_

#include <cstdint>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "meshwright/runtime/runner.h"
#include "meshwright/state/tensor.h"

namespace meshwright {

class DataAhead {
 public:
  // Step n gets element n modulo their number, if there are any. What is
  // pointed to must outlive it.
  DataAhead(const std::vector<std::vector<Tensor>>& data, int64_t first,
            int64_t steps, Runner* runner);

  // Sets the data of a step, or takes what was transferred.
  absl::Status Give(int64_t step);
  // Runs steps, and begins to transfer the data of `next`.
  absl::StatusOr<std::vector<StepResult>> Run(int64_t count, int64_t next);

 private:
  absl::Status Stage(int64_t step);
  // Under which they are staged.
  int64_t NumberOf(int64_t step) const { return step - first_; }

  const std::vector<std::vector<Tensor>>& data_;
  const int64_t first_;
  const int64_t steps_;
  Runner& runner_;
  bool can_stage_ = false;
  int64_t staged_ = -1;  // Step.
};

}  // namespace meshwright

#endif  // MESHWRIGHT_CLI_DATA_AHEAD_H_
