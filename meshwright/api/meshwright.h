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
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace meshwright::api {

// An array on the host: elements in row-major order, little-endian.
struct Tensor {
  std::string name;
  std::string type;  // "f32", "bf16", "s32"
  std::vector<int64_t> dimensions;
  std::string data;
};

// A training step for one device: HLO, as a proto or text, plain or compressed.
class Step {
 public:
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

  struct Impl;
  explicit Step(std::shared_ptr<const Impl> impl) : impl_(std::move(impl)) {}
  const Impl& impl() const { return *impl_; }

 private:
  std::shared_ptr<const Impl> impl_;
};

class Cluster {
 public:
  // A cluster file, or "cpu:8", "h200:8", "h200:64x8" (hosts x devices).
  static absl::StatusOr<Cluster> Parse(const std::string& text);
  int64_t device_count() const;
  std::string ToString() const;

  struct Impl;
  explicit Cluster(std::shared_ptr<const Impl> impl) : impl_(std::move(impl)) {}
  const Impl& impl() const { return *impl_; }

 private:
  std::shared_ptr<const Impl> impl_;
};

// Requirements on a plan; whatever is not set is decided. As `meshwright plan
// --help`.
struct PlanOptions {
  std::string strategy = "auto";
  std::optional<std::string> mesh;  // "data=4,model=2"
  std::optional<int64_t> micro_batches;
  std::optional<int32_t> stages;
  std::optional<std::string> schedule;
  std::string recompute = "auto";
  std::optional<int64_t> memory_bytes;  // Per device.
  std::optional<std::string> forbid;    // "all-gather,all-to-all@data"
  std::string batch_axis;
  std::optional<std::string> pins;  // A sharding file.
  // The contents of one, instead of a path.
  std::optional<std::string> pins_text;
  bool require_rules = false;           // Refuse ops without a sharding rule.
  std::optional<std::string> database;  // Of calibrated rates.
  bool assumed = false;                 // Do not use calibrated rates.
  double time_limit_seconds = 60;
  // Of the run; planning takes no longer than it gains in it.
  std::optional<int64_t> steps;
  uint64_t seed = 1;
  // Called while planning proceeds.
  std::function<void(std::string_view)> report;
};

// How a step runs on a cluster. docs/formats.md describes the file.
class Plan {
 public:
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

  struct Impl;
  explicit Plan(std::shared_ptr<const Impl> impl) : impl_(std::move(impl)) {}
  const Impl& impl() const { return *impl_; }

 private:
  std::shared_ptr<const Impl> impl_;
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
