#include "meshwright/runtime/step_metrics.h"

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>

#include "meshwright/analysis/flops.h"
#include "meshwright/analysis/roles.h"
#include "meshwright/base/element_type.h"
#include "meshwright/mesh/device_kind.h"
#include "meshwright/runtime/job_runner.h"

namespace meshwright {
namespace {

using Json = nlohmann::ordered_json;

// The type in which most of the work of contractions is done.
std::optional<ElementType> TypeOfContractions(const Module& module,
                                              const ModuleWork& work) {
  std::map<ElementType, double> flops;
  for (const auto& computation : module.computations()) {
    for (const auto& instruction : computation->instructions()) {
      if (!IsContraction(*instruction)) continue;
      const std::vector<const Shape*> results = Leaves(instruction->shape);
      const Shape& shape = instruction->operands.empty()
                               ? *results.at(0)
                               : instruction->operands[0]->shape;
      if (shape.IsArray()) {
        flops[shape.element_type] += work.Of(*instruction).flops;
      }
    }
  }
  const auto most = std::ranges::max_element(
      flops, {}, [](const auto& one) { return one.second; });
  if (most == flops.end()) return std::nullopt;
  return most->first;
}

template <typename T>
Json OrNull(const std::optional<T>& value) {
  return value.has_value() ? Json(*value) : Json(nullptr);
}

}  // namespace

JobFacts FactsOf(const Module& module, const Cluster& cluster,
                 int64_t devices) {
  JobFacts facts;
  const ModuleRoles roles = AnalyzeRoles(module);
  int64_t largest = 0;
  for (const Instruction* parameter : module.entry()->Parameters()) {
    const int64_t number = parameter->attributes->parameter_number;
    const Shape& shape = parameter->shape;
    if (roles.parameters[number].role != ParameterRole::kData ||
        !shape.IsArray() || shape.rank() == 0) {
      continue;
    }
    const int64_t elements = ElementCount(shape);
    if (IsInteger(shape.element_type) && shape.rank() >= 2) {
      facts.tokens = std::max(facts.tokens, elements);
    }
    if (elements > largest) {
      largest = elements;
      facts.samples = shape.dimensions[0];
    }
  }
  const ModuleWork work(module);
  facts.flops = work.total().flops;
  if (const auto type = TypeOfContractions(module, work)) {
    const double all_equal = MatmulFlops(cluster.device.tflops, *type);
    facts.peak_flops = static_cast<double>(devices) * all_equal;
    if (cluster.models.empty()) return facts;
    facts.peak_flops = 0;
    int64_t left = devices;
    for (const Host& host : cluster.hosts) {
      const int64_t here = std::min(left, host.devices);
      facts.peak_flops += static_cast<double>(here) *
                          MatmulFlops(cluster.ModelOf(host).tflops, *type);
      left -= here;
    }
  }
  return facts;
}

StepFigures FiguresOf(const JobFacts& facts, const Job& job, int64_t number,
                      const StepReport& report) {
  StepFigures figures{.job = facts.job,
                      .step = number,
                      .loss = report.loss,
                      .seconds = report.seconds,
                      .position = report.position};
  const double per_second = report.seconds > 0 ? 1 / report.seconds : 0;
  if (facts.tokens > 0) {
    figures.tokens_per_second = static_cast<double>(facts.tokens) * per_second;
  } else if (facts.samples > 0) {
    figures.samples_per_second =
        static_cast<double>(facts.samples) * per_second;
  }
  figures.tflops = facts.flops * per_second * 1e-12;
  if (facts.peak_flops > 0) {
    figures.mfu = facts.flops * per_second / facts.peak_flops;
  }
  if (job.timetable.ranks() > 1 && !report.ranks.empty()) {
    figures.bubble = ExecutionOf(job, report).bubble_share;
  }
  double waited = 0;
  int64_t memory = report.memory_bytes;
  for (const WorkerRecord& worker : report.workers) {
    waited = std::max(waited, worker.wire_seconds);
    memory = std::max(memory, worker.memory_bytes);
  }
  if (memory > 0) figures.memory_bytes = memory;
  if (report.workers.empty()) return figures;
  figures.communication_seconds = waited;
  figures.communication_bytes = report.wire_bytes;
  return figures;
}

std::string ToJsonLine(const StepFigures& figures) {
  Json line = {{"job", figures.job},
               {"step", figures.step},
               {"loss", OrNull(figures.loss)},
               {"seconds", figures.seconds}};
  if (figures.samples_per_second.has_value()) {
    line["samples_per_second"] = *figures.samples_per_second;
  } else {
    line["tokens_per_second"] = OrNull(figures.tokens_per_second);
  }
  line["tflops"] = figures.tflops;
  line["mfu"] = OrNull(figures.mfu);
  line["bubble"] = OrNull(figures.bubble);
  line["communication_seconds"] = OrNull(figures.communication_seconds);
  line["communication_bytes"] = OrNull(figures.communication_bytes);
  line["memory_bytes"] = OrNull(figures.memory_bytes);
  if (figures.position.has_value()) line["position"] = *figures.position;
  return line.dump();
}

}  // namespace meshwright
