// embed STEP CLUSTER: plans a training step for the cluster and trains ten
// steps.
#include <iostream>

#include "meshwright/api/meshwright.h"

namespace mw = meshwright::api;

absl::Status Train(const std::string& path, const std::string& where) {
  const absl::StatusOr<mw::Step> step = mw::Step::Load(path);
  if (!step.ok()) return step.status();
  const absl::StatusOr<mw::Cluster> cluster = mw::Cluster::Parse(where);
  if (!cluster.ok()) return cluster.status();
  const absl::StatusOr<mw::Plan> plan = mw::MakePlan(*step, *cluster);
  if (!plan.ok()) return plan.status();
  std::cout << plan->Explain().value_or("") << "\n";

  absl::StatusOr<mw::Job> job = mw::Job::Create(*step, *plan);
  if (!job.ok()) return job.status();
  if (absl::Status filled = job->FillSynthetic(/*seed=*/0); !filled.ok()) {
    return filled;
  }
  for (int i = 0; i < 10; ++i) {
    const absl::StatusOr<mw::StepResult> result = job->Step();
    if (!result.ok()) return result.status();
    std::cout << "step " << i << " loss " << result->loss.value_or(0) << "\n";
  }
  return absl::OkStatus();
}

int main(int argc, char** argv) {
  if (argc != 3) {
    std::cerr << "usage: embed STEP CLUSTER\n";
    return 2;
  }
  const absl::Status status = Train(argv[1], argv[2]);
  if (!status.ok()) std::cerr << "embed: " << status.message() << "\n";
  return status.ok() ? 0 : 2;
}
