// Meshwright as a library: plans a training step for a cluster, and runs it.
//
//   namespace mw = meshwright::api;
//   MW_ASSIGN_OR_RETURN(mw::Step step, mw::Step::Load("step.hlo.pb"));
//   MW_ASSIGN_OR_RETURN(mw::Cluster cluster, mw::Cluster::Parse("h200:8"));
//   MW_ASSIGN_OR_RETURN(mw::Plan plan, mw::MakePlan(step, cluster));
//   MW_ASSIGN_OR_RETURN(mw::Job job, mw::Job::Create(step, plan));
//   job.Set(tensors);   // weights and a batch, by the names of parameters
//   job.Step();         // {.seconds = 0.081, .loss = 2.31}
//   job.Fetch("state/params/w");
//
// Everything owns what it needs; copies of a Step, Cluster or Plan share it and
// are cheap. Errors are one line that names the culprit and what to do:
// kInvalidArgument for what is impossible, kResourceExhausted if nothing fits.
#ifndef MESHWRIGHT_API_MESHWRIGHT_H_
#define MESHWRIGHT_API_MESHWRIGHT_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "meshwright/api/plan_options.h"
#include "meshwright/api/shared_value.h"
#include "meshwright/api/tensor.h"

namespace meshwright::api {

// A training step for one device: HLO, as a proto or text, plain or compressed.
class Step : public SharedValue<struct StepImpl> {
 public:
  using SharedValue::SharedValue;
  struct Options {
    std::optional<std::string> rules;  // A file with sharding rules of kernels.
    bool require_rules = false;        // Refuse ops without a sharding rule.
  };
  static absl::StatusOr<Step> Load(const std::string& path,
                                   const Options& options);
  static absl::StatusOr<Step> Load(const std::string& path);
  static absl::StatusOr<Step> Parse(std::string_view bytes);

  std::vector<Tensor> parameters() const;  // Without their data.
  std::vector<Tensor> outputs() const;
};

class Cluster : public SharedValue<struct ClusterImpl> {
 public:
  using SharedValue::SharedValue;
  // A cluster file, or "cpu:8", "h200:8", "h200:64x8" (hosts x devices).
  static absl::StatusOr<Cluster> Parse(const std::string& text);
  int64_t device_count() const;
  std::string ToString() const;
};

// How a step runs on a cluster. docs/formats.md describes the file.
class Plan : public SharedValue<struct PlanImpl> {
 public:
  using SharedValue::SharedValue;
  static absl::StatusOr<Plan> Load(const std::string& path);
  static absl::StatusOr<Plan> Parse(std::string_view json);
  absl::Status Save(const std::string& path) const;
  std::string ToJson() const;
  // Several lines: what was decided, its predictions, and the alternatives.
  absl::StatusOr<std::string> Explain() const;

  int64_t device_count() const;
  double step_seconds() const;  // Predicted.
  int64_t peak_bytes() const;   // Per device, predicted.
  double gap() const;  // At most this part above the best plan on its mesh.
};

absl::StatusOr<Plan> MakePlan(const Step& step, const Cluster& cluster,
                              const PlanOptions& options = {});

struct StepResult {
  double seconds = 0;
  std::optional<double> loss;
};

// A step that runs repeatedly on devices of this machine, which hold its state.
class Job {
 public:
  // On `platform`, a prefix of a plug-in's name, "cpu", "cuda", "tpu"; empty:
  // the platform that the plan is for.
  static absl::StatusOr<Job> Create(const api::Step& step, const Plan& plan,
                                    const std::string& platform = "");

  // Sets parameters by name. Tensors are whole, and are sharded as the plan
  // says.
  absl::Status Set(std::vector<Tensor> tensors);
  // Gives every parameter a synthetic value.
  absl::Status FillSynthetic(uint64_t seed);
  // From the next step on, the parameters that a dataset (JSON,
  // docs/formats.md) names are its consecutive batches; `position`: samples
  // consumed before. An empty dataset ends this.
  absl::Status Feed(const std::string& dataset, int64_t position = 0);
  // Samples consumed; nullopt without a dataset.
  std::optional<int64_t> position() const;
  absl::StatusOr<StepResult> Step();
  // A state parameter's present value or an output of the last step, whole.
  absl::StatusOr<Tensor> Fetch(const std::string& name) const;
  absl::StatusOr<std::vector<Tensor>> FetchState() const;

  Job(Job&&) noexcept;
  Job& operator=(Job&&) noexcept;
  ~Job();

 private:
  struct Impl;
  explicit Job(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace meshwright::api

#endif  // MESHWRIGHT_API_MESHWRIGHT_H_
