#include "meshwright/api/scaling.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "absl/strings/str_cat.h"
#include "meshwright/analysis/roles.h"
#include "meshwright/api/plan_step.h"
#include "meshwright/base/status_macros.h"
#include "meshwright/mesh/sub_cluster.h"
#include "meshwright/runtime/step_metrics.h"

namespace meshwright {
namespace {

constexpr int64_t kTimesAsMany = 4;

double StateBytes(const Module& module) {
  const ModuleRoles roles = AnalyzeRoles(module);
  double bytes = 0;
  for (const Instruction* parameter : module.entry()->Parameters()) {
    const int64_t number = parameter->attributes->parameter_number;
    if (roles.parameters[number].role == ParameterRole::kState) {
      bytes += static_cast<double>(ByteSize(parameter->shape));
    }
  }
  return bytes;
}

// Without knowledge of batches the first.
size_t StepFor(int64_t devices, int64_t first_devices,
               absl::Span<const int64_t> samples) {
  const double wanted = static_cast<double>(samples[0]) *
                        static_cast<double>(devices) /
                        static_cast<double>(first_devices);
  const auto distance = [&](int64_t count) {
    return std::abs(std::log(static_cast<double>(std::max<int64_t>(count, 1)) /
                             std::max(wanted, 1.0)));
  };
  return static_cast<size_t>(std::ranges::min_element(samples, {}, distance) -
                             samples.begin());
}

class Predictor {
 public:
  Predictor(absl::Span<const Module* const> steps, const ScaleSetting& setting)
      : steps_(steps), setting_(setting) {
    for (const Module* step : steps) state_bytes_.push_back(StateBytes(*step));
  }

  absl::StatusOr<ScalePoint> At(const Cluster& cluster, size_t step) const {
    const Module& module = *steps_[step];
    const int64_t devices = cluster.device_count();
    const JobFacts facts = FactsOf(module, cluster, devices);
    ScalePoint point{.devices = devices,
                     .step = step,
                     .samples = facts.samples,
                     .tokens = facts.tokens};
    MW_ASSIGN_OR_RETURN(PlanRequest request, RequestFrom(setting_.options));
    request.report = setting_.report;
    const absl::StatusOr<PlanChoice> choice =
        PlanStep(module, cluster, setting_.options, std::move(request),
                 /*with_finalists=*/false);
    if (absl::IsResourceExhausted(choice.status())) {
      point.why_not = std::string(choice.status().message());
      return point;
    }
    MW_RETURN_IF_ERROR(choice.status());
    Fill(choice->plan, facts, point);
    AddFailures(cluster, state_bytes_[step], point);
    if (setting_.keep) MW_RETURN_IF_ERROR(setting_.keep(point, choice->plan));
    return point;
  }

 private:
  static void Fill(const Plan& plan, const JobFacts& facts, ScalePoint& point) {
    const Prediction& predicted = plan.predicted;
    const double seconds = predicted.step_seconds;
    point.mesh = plan.mesh().ToString();
    point.stages = plan.stages();
    point.micro_batches = plan.micro_batches;
    point.recompute = plan.recompute;
    point.notes = plan.notes;
    point.step_seconds = seconds;
    point.peak_bytes = predicted.peak_bytes;
    if (plan.memory_bytes > 0) {
      point.memory_share = static_cast<double>(plan.NeededBytes()) /
                           static_cast<double>(plan.memory_bytes);
    }
    point.gap = plan.gap;
    if (seconds <= 0) return;
    const int64_t items = facts.tokens > 0 ? facts.tokens : facts.samples;
    point.throughput_per_device = static_cast<double>(items) / seconds /
                                  static_cast<double>(point.devices);
    if (facts.peak_flops > 0) {
      point.mfu = facts.flops / seconds / facts.peak_flops;
    }
    point.bubble_share = predicted.bubble_seconds / seconds;
    point.comm_share = predicted.exposed_comm_seconds / seconds;
  }

  void AddFailures(const Cluster& cluster, double state_bytes,
                   ScalePoint& point) const {
    const FailureSetting& failures = setting_.failures;
    point.save_seconds =
        state_bytes / (failures.save_bytes_per_second *
                       static_cast<double>(cluster.hosts.size()));
    point.goodput = ExpectedGoodput(
        {.devices = point.devices,
         .device_mtbf_seconds = 3600 * failures.device_mtbf_hours,
         .save_seconds = point.save_seconds,
         // The state is read again.
         .restart_seconds = failures.restart_seconds + point.save_seconds,
         .interval_seconds = failures.interval_seconds});
  }

  const absl::Span<const Module* const> steps_;
  const ScaleSetting& setting_;
  std::vector<double> state_bytes_;
};

}  // namespace

std::vector<int64_t> UsualSizes(const Cluster& cluster) {
  const int64_t all = cluster.device_count();
  std::vector<int64_t> sizes;
  int64_t size = cluster.hosts.size() > 1 ? cluster.devices_per_host() : 1;
  for (; size < all; size *= kTimesAsMany) {
    if (FirstDevices(cluster, size).ok()) sizes.push_back(size);
  }
  sizes.push_back(all);
  return sizes;
}

absl::StatusOr<std::vector<ScalePoint>> PredictScaling(
    absl::Span<const Module* const> steps, const Cluster& cluster,
    absl::Span<const int64_t> sizes, const ScaleSetting& setting) {
  std::vector<Cluster> parts;
  for (const int64_t size : sizes) {
    MW_ASSIGN_OR_RETURN(parts.emplace_back(), FirstDevices(cluster, size));
  }
  std::vector<int64_t> samples;
  for (const Module* step : steps) {
    samples.push_back(FactsOf(*step, cluster, 1).samples);
  }
  const Predictor predictor(steps, setting);
  std::vector<ScalePoint> points;
  for (size_t i = 0; i < sizes.size(); ++i) {
    if (setting.begin) setting.begin(sizes[i]);
    MW_ASSIGN_OR_RETURN(
        points.emplace_back(),
        predictor.At(parts[i], StepFor(sizes[i], sizes[0], samples)));
  }
  if (std::ranges::none_of(points, [](const ScalePoint& point) {
        return point.why_not.empty();
      })) {
    return absl::ResourceExhaustedError(
        absl::StrCat("on ", points.back().devices,
                     " devices, the most: ", points.back().why_not));
  }
  return points;
}

}  // namespace meshwright
