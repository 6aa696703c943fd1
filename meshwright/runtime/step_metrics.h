// Metrics of steps: a JSON line per step.
//
//   const JobFacts facts = FactsOf(module, cluster, /*devices=*/8);
//   const StepFigures step = FiguresOf(facts, job, number, report);
//   ToJsonLine(step);
//     // {"job":1,"step":7,"loss":2.31,"seconds":0.081,
//     //  "tokens_per_second":101135.8,"tflops":24.1,"mfu":0.31,"bubble":0.12,
//     //  "communication_seconds":0.011,"communication_bytes":1048576,
//     //  "memory_bytes":73400320}
//
// Unknown figures are null; "position" is present if a dataset feeds the step.
#ifndef MESHWRIGHT_RUNTIME_STEP_METRICS_H_
#define MESHWRIGHT_RUNTIME_STEP_METRICS_H_

#include <cstdint>
#include <optional>
#include <string>

#include "meshwright/hlo/module.h"
#include "meshwright/mesh/cluster.h"
#include "meshwright/runtime/job.h"
#include "meshwright/runtime/job_site.h"

namespace meshwright {

// What is known of a job before it runs.
struct JobFacts {
  int64_t job = 0;
  // Elements of the largest integer data parameter of rank 2 or more, if any;
  // otherwise `samples` is set: the first dimension of the largest data
  // parameter.
  int64_t tokens = 0;
  int64_t samples = 0;
  double flops = 0;  // Per step, as counted (analysis/flops.h).
  // FLOP/s of all its devices together, in the type that most contractions
  // have; 0: unknown.
  double peak_flops = 0;
};
// Of a step that runs on `devices` devices of a cluster. Requires: the module
// passed Verify.
JobFacts FactsOf(const Module& module, const Cluster& cluster, int64_t devices);

struct StepFigures {
  int64_t job = 0;
  int64_t step = 0;
  std::optional<double> loss;
  double seconds = 0;
  std::optional<double> tokens_per_second;
  std::optional<double> samples_per_second;
  double tflops = 0;
  std::optional<double> mfu;
  std::optional<double> bubble;  // Of a pipeline: part of its ranks' time.
  // The longest time that a worker waited for others; bytes between workers.
  std::optional<double> communication_seconds;
  std::optional<int64_t> communication_bytes;
  std::optional<int64_t> memory_bytes;  // Of programs, per device.
  std::optional<int64_t> position;      // Of the dataset that feeds it.
};
StepFigures FiguresOf(const JobFacts& facts, const Job& job, int64_t number,
                      const StepReport& report);

// Without a newline.
std::string ToJsonLine(const StepFigures& figures);

}  // namespace meshwright

#endif  // MESHWRIGHT_RUNTIME_STEP_METRICS_H_
