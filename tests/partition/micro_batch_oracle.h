// Test support: does a step split into micro-batches compute what the whole
// step does?
#ifndef MESHWRIGHT_TESTS_PARTITION_MICRO_BATCH_ORACLE_H_
#define MESHWRIGHT_TESTS_PARTITION_MICRO_BATCH_ORACLE_H_

#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "meshwright/hlo/module.h"
#include "meshwright/mesh/mesh.h"
#include "meshwright/microbatch/micro_batches.h"
#include "tests/partition/partition_oracle.h"

namespace meshwright {

// tests/partition/testdata/NAME.hlo.pb.zst, made by make_steps.py there.
absl::StatusOr<Module> ReadStep(const std::string& name);

// Runs as many steps as the oracle did and compares the last one's outputs, as
// PartitionOracle::Check. Every program is partitioned over `mesh`: what is cut
// into micro-batches is split over its first axis, too, and accumulators are
// where `split_accumulators` says so and they divide.
absl::Status CheckMicroBatches(const PartitionOracle& oracle,
                               const MicroBatched& split, const Mesh& mesh,
                               bool split_accumulators = false,
                               double tolerance = 2e-5);

}  // namespace meshwright

#endif  // MESHWRIGHT_TESTS_PARTITION_MICRO_BATCH_ORACLE_H_
