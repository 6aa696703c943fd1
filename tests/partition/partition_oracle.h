// Test support: does a partitioned step compute what the whole step does?
//
// The module runs on one virtual CPU device with synthetic inputs, some steps
// in a row; a partitioned form runs on a mesh of them; every element of every
// output on every device must agree. Padding of the inputs is NaN.
#ifndef MESHWRIGHT_TESTS_PARTITION_PARTITION_ORACLE_H_
#define MESHWRIGHT_TESTS_PARTITION_PARTITION_ORACLE_H_

#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "meshwright/analysis/roles.h"
#include "meshwright/base/is_long_for_test.h"
#include "meshwright/hlo/literal.h"
#include "meshwright/hlo/module.h"
#include "meshwright/partition/partition.h"
#include "tests/rules/device_run.h"

namespace meshwright {

// What most tests run: the second starts from what the first has made.
inline const int kStepsCompared = IsLong() ? 3 : 2;

using Literals = std::vector<Literal>;

// testdata/NAME.hlo.pb.zst
absl::StatusOr<Module> ReadZooModule(const std::string& name);

// Compares what `device` holds; returns the largest error relative to the
// tensor's scale, or why it does not fit. See PartitionOracle::Check.
absl::StatusOr<double> CompareScaled(const Literal& shard, const Literal& whole,
                                     const Sharding& sharding, const Mesh& mesh,
                                     int64_t device, double tolerance);

class PartitionOracle {
 public:
  // Runs `module` (which outlives the oracle) whole, `steps` times.
  static absl::StatusOr<std::unique_ptr<PartitionOracle>> Create(
      const Module& module, int steps, uint64_t seed = 0);

  const ModuleRoles& roles() const { return roles_; }
  int steps() const { return steps_; }
  // What goes into the first step and comes out of the last.
  const Literals& inputs() const { return inputs_; }
  const Literals& wanted() const { return wanted_; }

  // Runs the partitioned form as often and compares all outputs of the last
  // step: |a - b| <= tolerance * (|b| + largest |b| of the tensor * 0.1).
  // The collectives in the compiled program must be the reported ones.
  absl::Status Check(const Partitioned& partitioned, double tolerance = 2e-5);

  // The largest error relative to its tensor that the last Check met.
  double max_error() const { return max_error_; }

 private:
  explicit PartitionOracle(const Module& module) : module_(module) {}

  const Module& module_;
  int steps_ = 1;
  ModuleRoles roles_;
  Literals inputs_;
  Literals wanted_;
  double max_error_ = 0;
};

// Kinds, bytes and counts of the collectives in `compiled` against `reported`.
absl::Status CompareCollectives(const Module& compiled,
                                const Partitioned& reported);

}  // namespace meshwright

#endif  // MESHWRIGHT_TESTS_PARTITION_PARTITION_ORACLE_H_
