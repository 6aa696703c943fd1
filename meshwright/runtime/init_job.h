// The job that initialises the state of another job on its devices: every shard
// on the device that keeps it, with the values of the unsharded function.
//
//   init(key) -> (w, m), for a job where w is [data, -] and m is on stage 1:
//   a job with the same stages and devices, and a program for each stage with
//   state, which computes that stage's state in its sharding.
#ifndef MESHWRIGHT_RUNTIME_INIT_JOB_H_
#define MESHWRIGHT_RUNTIME_INIT_JOB_H_

#include <cstdint>
#include <memory>
#include <vector>

#include "absl/status/statusor.h"
#include "meshwright/analysis/roles.h"
#include "meshwright/hlo/module.h"
#include "meshwright/partition/partition.h"
#include "meshwright/runtime/job.h"

namespace meshwright {

// Parameter `parameter` of a job is output `output` of the init function, or a
// part of it.
struct InitPiece {
  int64_t parameter = 0;
  int64_t output = 0;
  int64_t dimension = 0;
  int64_t begin = 0;
  int64_t end = -1;  // -1: the whole output.
};

// One for each state parameter of `step`: matched by name if the outputs have
// the names of the parameters, otherwise by order. kInvalidArgument, naming the
// first that does not match.
absl::StatusOr<std::vector<InitPiece>> MatchInit(const Module& init,
                                                 const Module& step,
                                                 const ModuleRoles& roles);

struct InitJob {
  // The function with one output for each piece, in order.
  std::unique_ptr<Module> module;
  std::vector<std::unique_ptr<Partitioned>> programs;
  JobSource source;                 // Points into the members above.
  std::vector<int64_t> parameters;  // Of the other job, by output.
};

// Requires: `init` passed Verify and has no calls; `job` is placed. Errors as
// Partition.
absl::StatusOr<InitJob> MakeInitJob(const Module& init,
                                    const std::vector<InitPiece>& pieces,
                                    const Job& job);

}  // namespace meshwright

#endif  // MESHWRIGHT_RUNTIME_INIT_JOB_H_
