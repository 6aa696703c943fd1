#include "meshwright/api/meshwright.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "meshwright/analysis/roles.h"
#include "meshwright/api/load_cluster.h"
#include "meshwright/api/load_plan.h"
#include "meshwright/api/load_step.h"
#include "meshwright/api/plan_step.h"
#include "meshwright/api/plan_text.h"
#include "meshwright/api/planned_runner.h"
#include "meshwright/base/element_type.h"
#include "meshwright/base/file.h"
#include "meshwright/base/status_macros.h"
#include "meshwright/mesh/cluster_file.h"
#include "meshwright/planner/price_whole_ops.h"
#include "meshwright/state/tensor.h"

namespace meshwright::api {
namespace {

absl::string_view AbslView(std::string_view text) {
  return {text.data(), text.size()};
}

Tensor Described(const std::string& name, const Shape& shape) {
  return {.name = name,
          .type = std::string(Name(shape.element_type)),
          .dimensions = shape.dimensions};
}

Tensor ToApi(meshwright::Tensor tensor) {
  return {.name = std::move(tensor.name),
          .type = std::string(Name(tensor.type)),
          .dimensions = std::move(tensor.dimensions),
          .data = std::move(tensor.data)};
}

std::vector<Tensor> ToApi(std::vector<meshwright::Tensor> tensors) {
  std::vector<Tensor> made;
  for (meshwright::Tensor& one : tensors) made.push_back(ToApi(std::move(one)));
  return made;
}

absl::StatusOr<meshwright::Tensor> FromApi(Tensor tensor) {
  const std::optional<ElementType> type = ParseElementType(tensor.type);
  if (!type.has_value()) {
    return absl::InvalidArgumentError(absl::StrCat(
        tensor.name, ": there is no element type '", tensor.type, "'"));
  }
  return meshwright::Tensor{.name = std::move(tensor.name),
                            .type = *type,
                            .dimensions = std::move(tensor.dimensions),
                            .data = std::move(tensor.data)};
}

}  // namespace

struct StepImpl {
  explicit StepImpl(Module made)
      : module(std::move(made)), roles(AnalyzeRoles(module)) {}

  Module module;
  ModuleRoles roles;
};

struct ClusterImpl {
  meshwright::Cluster cluster;
};

struct PlanImpl {
  meshwright::Plan plan;
};

absl::StatusOr<Step> Step::Load(const std::string& path,
                                const Options& options) {
  MW_ASSIGN_OR_RETURN(
      Module module,
      LoadStep(path, StepOptions{.rules = options.rules,
                                 .require_rules = options.require_rules}));
  return Step(std::make_shared<const StepImpl>(std::move(module)));
}

absl::StatusOr<Step> Step::Load(const std::string& path) {
  return Load(path, Options());
}

absl::StatusOr<Step> Step::Parse(std::string_view bytes) {
  const std::string name = "step";
  MW_ASSIGN_OR_RETURN(Module module, ParseModule(AbslView(bytes), name));
  MW_ASSIGN_OR_RETURN(module, PrepareStep(std::move(module), name, {}));
  return Step(std::make_shared<const StepImpl>(std::move(module)));
}

std::vector<Tensor> Step::parameters() const {
  std::vector<Tensor> made;
  for (const Instruction* one : impl().module.entry()->Parameters()) {
    made.push_back(
        Described(impl().roles.parameters[made.size()].name, one->shape));
  }
  return made;
}

std::vector<Tensor> Step::outputs() const {
  std::vector<Tensor> made;
  for (const Shape* leaf : Leaves(impl().module.entry()->root()->shape)) {
    made.push_back(Described(impl().roles.outputs[made.size()].name, *leaf));
  }
  return made;
}

absl::StatusOr<Cluster> Cluster::Parse(const std::string& text) {
  MW_ASSIGN_OR_RETURN(meshwright::Cluster cluster, LoadCluster(text));
  return Cluster(std::make_shared<const ClusterImpl>(std::move(cluster)));
}

int64_t Cluster::device_count() const { return impl().cluster.device_count(); }

std::string Cluster::ToString() const { return impl().cluster.ToString(); }

absl::StatusOr<Plan> Plan::Load(const std::string& path) {
  MW_ASSIGN_OR_RETURN(meshwright::Plan plan, LoadPlan(path));
  return Plan(std::make_shared<const PlanImpl>(std::move(plan)));
}

absl::StatusOr<Plan> Plan::Parse(std::string_view json) {
  MW_ASSIGN_OR_RETURN(meshwright::Plan plan, ParsePlan(AbslView(json)));
  return Plan(std::make_shared<const PlanImpl>(std::move(plan)));
}

absl::Status Plan::Save(const std::string& path) const {
  return WriteFileAtomically(path, absl::StrCat(ToJson(), "\n"));
}

std::string Plan::ToJson() const { return meshwright::ToJson(impl().plan); }

absl::StatusOr<std::string> Plan::Explain() const {
  return PlanText(impl().plan, impl().plan.cluster);
}

int64_t Plan::device_count() const { return impl().plan.device_count(); }

double Plan::step_seconds() const { return impl().plan.predicted.step_seconds; }

int64_t Plan::peak_bytes() const { return impl().plan.predicted.peak_bytes; }

double Plan::gap() const { return impl().plan.gap; }

absl::StatusOr<Plan> MakePlan(const Step& step, const Cluster& cluster,
                              const PlanOptions& options) {
  const Module& module = step.impl().module;
  MW_ASSIGN_OR_RETURN(PlanRequest request, RequestFrom(options));
  MW_ASSIGN_OR_RETURN(
      PlanChoice choice,
      PlanStep(module, cluster.impl().cluster, options, std::move(request),
               /*with_finalists=*/false));
  meshwright::Plan& plan = choice.plan;
  MW_ASSIGN_OR_RETURN(plan.whole, PriceWholeOps(module, plan));
  return Plan(std::make_shared<const PlanImpl>(std::move(plan)));
}

// The order of destruction: the runner goes first, the step last.
struct Job::Impl {
  explicit Impl(api::Step of) : step(std::move(of)) {}

  api::Step step;
  std::unique_ptr<const LoweredPlan> lowered;
  std::unique_ptr<Client> client;
  std::unique_ptr<Runner> runner;
};

Job::Job(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Job::Job(Job&&) noexcept = default;
Job& Job::operator=(Job&&) noexcept = default;
Job::~Job() = default;

absl::StatusOr<Job> Job::Create(const api::Step& step, const Plan& plan,
                                const std::string& platform) {
  const meshwright::Plan& planned = plan.impl().plan;
  auto impl = std::make_unique<Impl>(step);
  const Module& module = impl->step.impl().module;
  MW_ASSIGN_OR_RETURN(impl->lowered, LowerPlan(module, planned));
  const std::string name = platform.empty() ? PlatformFor(planned) : platform;
  MW_ASSIGN_OR_RETURN(impl->client,
                      MakeClientFor(name, planned.device_count()));
  MW_ASSIGN_OR_RETURN(PlannedRunner made,
                      MakeRunner(module, *impl->lowered, impl->client.get()));
  impl->runner = std::move(made.runner);
  return Job(std::move(impl));
}

absl::Status Job::Set(std::vector<Tensor> tensors) {
  std::vector<meshwright::Tensor> given;
  for (Tensor& one : tensors) {
    MW_ASSIGN_OR_RETURN(meshwright::Tensor tensor, FromApi(std::move(one)));
    given.push_back(std::move(tensor));
  }
  return impl_->runner->Set(std::move(given));
}

absl::Status Job::FillSynthetic(uint64_t seed) {
  return impl_->runner->FillSynthetic(seed);
}

absl::Status Job::Feed(const std::string& dataset, int64_t position) {
  return impl_->runner->Feed(dataset, position);
}

std::optional<int64_t> Job::position() const {
  return impl_->runner->position();
}

absl::StatusOr<StepResult> Job::Step() {
  MW_ASSIGN_OR_RETURN(const meshwright::StepResult result,
                      impl_->runner->Step());
  return StepResult{.seconds = result.seconds, .loss = result.loss};
}

absl::StatusOr<std::vector<Tensor>> Job::FetchState() const {
  MW_ASSIGN_OR_RETURN(std::vector<meshwright::Tensor> state,
                      impl_->runner->ReadState());
  return ToApi(std::move(state));
}

absl::StatusOr<Tensor> Job::Fetch(const std::string& name) const {
  MW_ASSIGN_OR_RETURN(meshwright::Tensor tensor, impl_->runner->Read(name));
  return ToApi(std::move(tensor));
}

}  // namespace meshwright::api
