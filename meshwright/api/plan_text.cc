#include "meshwright/api/plan_text.h"

#include <algorithm>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "meshwright/api/alternatives_text.h"
#include "meshwright/api/traffic_text.h"
#include "meshwright/base/element_type.h"
#include "meshwright/base/fold_names.h"
#include "meshwright/base/units.h"
#include "meshwright/mesh/sharding_text.h"

namespace meshwright {
namespace {

constexpr size_t kMaxRows = 8;
// Of tensors with the same sharding.
constexpr size_t kMaxNames = 3;

std::string Percent(double part) {
  return absl::StrFormat("%.1f %%", part * 100);
}

double BytesOf(const PlannedTensor& tensor) {
  double bytes = static_cast<double>(BitWidth(tensor.type)) / 8;
  for (const int64_t size : tensor.dimensions) {
    bytes *= static_cast<double>(size);
  }
  return bytes;
}

void AppendTensors(const Plan& plan, std::string* text) {
  struct Row {
    std::vector<std::string> names;
    double elements = 0;
    double bytes = 0;
  };
  std::map<std::string, Row> by_sharding;
  for (const PlannedTensor& tensor : plan.tensors.parameters) {
    Row& row = by_sharding[plan.TextOf(tensor)];
    double elements = 1;
    for (const int64_t size : tensor.dimensions) {
      elements *= static_cast<double>(size);
    }
    row.names.push_back(tensor.name);
    row.elements += elements;
    row.bytes += BytesOf(tensor);
  }
  std::vector<std::pair<std::string, Row>> rows(by_sharding.begin(),
                                                by_sharding.end());
  std::stable_sort(rows.begin(), rows.end(), [](const auto& a, const auto& b) {
    return a.second.bytes > b.second.bytes;
  });
  absl::StrAppendFormat(
      text,
      "parameters (of each dimension the axes that split it; - is not "
      "split)\n");
  for (size_t i = 0; i < rows.size() && i < kMaxRows; ++i) {
    const Row& row = rows[i].second;
    absl::StrAppendFormat(
        text, "  %-24s %s, %s element%s, %s: %s\n", rows[i].first,
        Counted(std::ssize(row.names), "tensor"), FormatCount(row.elements),
        row.elements == 1 ? "" : "s",
        FormatBytes(static_cast<int64_t>(row.bytes)),
        FoldedList(row.names, kMaxNames));
  }
  if (rows.size() > kMaxRows) {
    absl::StrAppendFormat(
        text, "  and %s\n",
        Counted(std::ssize(rows) - kMaxRows, "other sharding"));
  }
}

void AppendCollectives(const Plan& plan, std::string* text) {
  Traffic traffic;
  for (const PlannedCollective& one : plan.collectives) {
    traffic.Add(std::string(Name(one.kind)), one.axes, one.count,
                one.wire_bytes);
  }
  absl::StrAppendFormat(text, "%s\n",
                        traffic.empty()
                            ? "no communication"
                            : "communication, sent by a device in a step");
  text->append(traffic.ToString());
}

// Whole ops that take this part of a step longer than if they were split are
// worth lines of their own, the worst of them.
constexpr double kWorthSaying = 0.01;
constexpr size_t kMaxWhole = 4;

void AppendWhole(const Plan& plan, std::string* text) {
  std::vector<std::string> others;
  bool has_rule = false;
  bool are_small = true;
  for (const WholeOpCost& one : plan.whole) {  // Worst first.
    const bool is_small =
        one.LostSeconds() < kWorthSaying * plan.predicted.step_seconds;
    if (is_small || &one >= plan.whole.data() + kMaxWhole) {
      others.push_back(one.target);
      are_small = are_small && is_small;
      continue;
    }
    absl::StrAppendFormat(
        text,
        "whole: %s x %g, which no rule splits: every device computes it for %s "
        "a step (split evenly: %s)",
        one.target, one.count, FormatSeconds(one.seconds),
        FormatSeconds(one.even_seconds));
    if (one.gathered_bytes > 0) {
      absl::StrAppendFormat(
          text, " and sends %s in all-gathers for it, %s",
          FormatBytes(static_cast<int64_t>(one.gathered_bytes)),
          FormatSeconds(one.gather_seconds));
    }
    absl::StrAppendFormat(text, "\n  %s\n", one.advice);
    has_rule = has_rule || !one.rule.empty();
  }
  if (has_rule) {
    absl::StrAppendFormat(
        text,
        "  in JAX, `with set_xla_metadata(**{\"mw.rule\": RULE}):` around the "
        "call says the same\n");
  }
  if (others.empty()) return;
  absl::StrAppendFormat(text, "whole: %s, which no rule splits%s\n",
                        FoldedList(others, kMaxNames),
                        are_small ? "; under 1 % of the step's time" : "");
}

// Of a stage, where not all have the same. (They do not take turns then.)
std::string MeshOf(const Plan& plan, size_t stage) {
  if (plan.layouts.size() == 1) return "";
  const PlannedLayout& layout = plan.LayoutOf(static_cast<int32_t>(stage));
  return absl::StrCat(layout.mesh.ToString(), ": ");
}

// Usable by a stage, per device.
int64_t MemoryOf(const Plan& plan, size_t stage) {
  return plan.MemoryOfRanks()[static_cast<size_t>(
      plan.pipeline->timetable.rank_of_stage[stage])];
}

// What the plan's peak is to be compared with.
int64_t MemoryAtPeak(const Plan& plan) {
  for (int32_t i = 0; plan.pipeline.has_value() && i < plan.stages(); ++i) {
    if (plan.pipeline->stages[i].peak_bytes == plan.predicted.peak_bytes) {
      return MemoryOf(plan, i);
    }
  }
  return plan.memory_bytes;
}

void AppendPipeline(const Plan& plan, std::string* text) {
  const PlannedPipeline& pipeline = *plan.pipeline;
  absl::StrAppendFormat(
      text, "stages, schedule %s, bubbles %s of the ranks' time\n",
      ToString(pipeline.schedule), Percent(pipeline.bubble_share));
  const size_t count = pipeline.stages.size();
  const std::vector<int64_t> memory = plan.MemoryOfRanks();
  const bool is_uneven = std::ranges::min(memory) < std::ranges::max(memory);
  for (size_t i = 0; i < count; ++i) {
    // The first ones and the last.
    if (count > kMaxRows && i == kMaxRows - 2) {
      absl::StrAppendFormat(text, "  ...\n");
      i = count - 1;
    }
    const PlannedPipeline::Stage& stage = pipeline.stages[i];
    int64_t sent = 0;
    for (const PlannedPipeline::Edge& edge : pipeline.edges) {
      if (edge.from == static_cast<int32_t>(i)) sent += edge.forward_bytes;
      if (edge.to == static_cast<int32_t>(i)) sent += edge.backward_bytes;
    }
    absl::StrAppendFormat(
        text,
        "  %3d  %sforward %s, backward %s, apply %s; sends %s a micro-batch; "
        "peak %s%s\n",
        i, MeshOf(plan, i), FormatSeconds(stage.forward),
        FormatSeconds(stage.input_grad + stage.weight_grad),
        FormatSeconds(stage.apply), FormatBytes(sent),
        FormatBytes(stage.peak_bytes),
        is_uneven ? absl::StrCat(" of ", FormatBytes(MemoryOf(plan, i))) : "");
  }
}

void AppendMeasured(const Measurement& measured, std::string* text) {
  absl::StrAppendFormat(
      text, "measured: step %s%s\n", FormatSeconds(measured.step_seconds),
      measured.others.empty()
          ? "; no other plan is near"
          : absl::StrCat(", taken of ", measured.others.size() + 1,
                         " plans that were run"));
  for (const Measurement::Other& one : measured.others) {
    absl::StrAppendFormat(
        text, "  %-24s x%-4d %spredicted %s, measured %s\n", one.mesh,
        one.micro_batches, RecomputeText(one.recompute),
        FormatSeconds(one.predicted_seconds), FormatSeconds(one.step_seconds));
  }
}

}  // namespace

std::string MeshText(const Plan& plan) {
  std::string text =
      plan.stages() == 1 ? "" : absl::StrCat(plan.stages(), " stages, ");
  if (plan.layouts.size() == 1) {
    return absl::StrCat(text, plan.stages() == 1 ? "" : "each on ", "mesh ",
                        plan.mesh().ToString());
  }
  absl::StrAppend(&text, "on meshes ");
  for (size_t i = 0; i < plan.layouts.size(); ++i) {
    absl::StrAppend(&text, i == 0 ? "" : " and ",
                    plan.layouts[i].mesh.ToString());
  }
  return text;
}

std::string StepText(const Prediction& predicted) {
  return FormatSum(predicted.step_seconds,
                   {{"compute", predicted.compute_seconds},
                    {"communication", predicted.exposed_comm_seconds},
                    {"apply", predicted.apply_seconds},
                    {"bubble", predicted.bubble_seconds}});
}

std::string PlanText(const Plan& plan, const Cluster& cluster) {
  std::string text;
  const Prediction& predicted = plan.predicted;
  absl::StrAppendFormat(&text, "%s on %s\n", plan.module_name,
                        cluster.ToString());
  absl::StrAppendFormat(&text, "%s, %s, %sstrategy %s\n", MeshText(plan),
                        Counted(plan.micro_batches, "micro-batch"),
                        RecomputeText(plan.recompute), Name(plan.strategy));
  absl::StrAppendFormat(
      &text, "predicted (%s): step %s%s; peak %s of %s per device\n",
      Name(predicted.origin), StepText(predicted),
      plan.stages() == 1 ? "" : ", of the rank that is busy longest",
      FormatBytes(predicted.peak_bytes), FormatBytes(MemoryAtPeak(plan)));
  absl::StrAppendFormat(
      &text, "%s\n",
      plan.gap < 1e-6 ? std::string("proved best on this mesh")
      : plan.gap >= 1 ? "no bound was found in the time given"
                      : absl::StrCat("within ", Percent(plan.gap),
                                     " of the best on this mesh"));
  if (plan.measured.has_value()) AppendMeasured(*plan.measured, &text);
  if (plan.pipeline.has_value()) AppendPipeline(plan, &text);
  AppendTensors(plan, &text);
  AppendCollectives(plan, &text);
  AppendWhole(plan, &text);
  if (plan.alternatives.size() > 1) text += AlternativesText(plan);
  for (const std::string& note : plan.notes)
    absl::StrAppendFormat(&text, "note: %s\n", note);
  const auto total = plan.seconds.find("total");
  if (total != plan.seconds.end()) {
    absl::StrAppendFormat(&text, "planned in %s\n",
                          FormatSeconds(total->second));
  }
  return text;
}

}  // namespace meshwright
