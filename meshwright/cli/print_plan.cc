#include "meshwright/cli/print_plan.h"

#include <algorithm>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "meshwright/base/units.h"
#include "meshwright/mesh/sharding_text.h"

namespace meshwright {
namespace {

constexpr size_t kMaxRows = 8;

std::string Percent(double part) {
  return absl::StrFormat("%.1f %%", part * 100);
}

void PrintTensors(const Plan& plan) {
  // Shardings by the bytes that lie so.
  std::map<std::string, std::pair<double, int64_t>> by_text;
  std::map<std::string, std::string> example;
  for (const PlannedTensor& tensor : plan.parameters) {
    double elements = 1;
    for (const int64_t size : tensor.dimensions) {
      elements *= static_cast<double>(size);
    }
    const std::string text = plan.TextOf(tensor);
    by_text[text].first += elements;
    ++by_text[text].second;
    example.try_emplace(text, tensor.name);
  }
  std::vector<std::pair<std::string, std::pair<double, int64_t>>> rows(
      by_text.begin(), by_text.end());
  std::stable_sort(rows.begin(), rows.end(), [](const auto& a, const auto& b) {
    return a.second.first > b.second.first;
  });
  absl::PrintF("parameters\n");
  for (size_t i = 0; i < rows.size() && i < kMaxRows; ++i) {
    absl::PrintF("  %-28s %5d tensors, %.3g elements, such as %s\n",
                 rows[i].first, rows[i].second.second, rows[i].second.first,
                 example[rows[i].first]);
  }
  if (rows.size() > kMaxRows) {
    absl::PrintF("  and %d other ways\n", rows.size() - kMaxRows);
  }
}

void PrintCollectives(const Plan& plan) {
  std::map<std::pair<std::string, std::string>, std::pair<double, double>> sums;
  for (const PlannedCollective& one : plan.collectives) {
    auto& [count, bytes] = sums[{one.kind, one.axes}];
    count += one.count;
    bytes += one.count * one.wire_bytes;
  }
  if (sums.empty()) {
    absl::PrintF("no communication\n");
    return;
  }
  absl::PrintF("communication, per device and step\n");
  for (const auto& [key, sum] : sums) {
    absl::PrintF("  %-20s along %-16s %6g times, %s\n", key.first, key.second,
                 sum.first, FormatBytes(static_cast<int64_t>(sum.second)));
  }
}

// Of a stage, where not all have the same. (They do not take turns then.)
std::string MeshOf(const Plan& plan, size_t stage) {
  if (plan.layout_count() == 1) return "";
  const int32_t layout = plan.LayoutOf(static_cast<int32_t>(stage));
  return absl::StrCat(plan.layout(layout).mesh.ToString(), ": ");
}

void PrintPipeline(const Plan& plan) {
  const PlannedPipeline& pipeline = *plan.pipeline;
  absl::PrintF("stages, schedule %s, %s of the time idle\n", pipeline.schedule,
               Percent(pipeline.bubble_share));
  const size_t count = pipeline.stages.size();
  for (size_t i = 0; i < count; ++i) {
    // The first ones and the last.
    if (count > kMaxRows && i == kMaxRows - 2) {
      absl::PrintF("  ...\n");
      i = count - 1;
    }
    const PlannedPipeline::Stage& stage = pipeline.stages[i];
    int64_t sent = 0;
    for (const PlannedPipeline::Edge& edge : pipeline.edges) {
      if (edge.from == static_cast<int32_t>(i)) sent += edge.forward_bytes;
      if (edge.to == static_cast<int32_t>(i)) sent += edge.backward_bytes;
    }
    absl::PrintF(
        "  %3d  %sforward %s, backward %s, apply %s; sends %s a micro-batch; "
        "%s\n",
        i, MeshOf(plan, i), FormatSeconds(stage.forward),
        FormatSeconds(stage.input_grad + stage.weight_grad),
        FormatSeconds(stage.apply), FormatBytes(sent),
        FormatBytes(stage.peak_bytes));
  }
}

void PrintMeasured(const Measurement& measured) {
  absl::PrintF("measured: step %s%s\n", FormatSeconds(measured.step_seconds),
               measured.others.empty()
                   ? "; no other plan is near"
                   : absl::StrCat(", taken of ", measured.others.size() + 1,
                                  " plans that were run"));
  for (const Measurement::Other& one : measured.others) {
    absl::PrintF("  %-24s x%-4d %spredicted %s, measured %s\n", one.mesh,
                 one.micro_batches, RecomputeText(one.recompute),
                 FormatSeconds(one.predicted_seconds),
                 FormatSeconds(one.step_seconds));
  }
}

}  // namespace

std::string RecomputeText(const std::string& recompute) {
  return recompute == "none" ? "" : absl::StrCat(recompute, " recomputation, ");
}

std::string MeshText(const Plan& plan) {
  std::string text =
      plan.stages() == 1 ? "" : absl::StrCat(plan.stages(), " stages, ");
  if (plan.layout_count() == 1) {
    return absl::StrCat(text, plan.stages() == 1 ? "" : "each on ", "mesh ",
                        plan.mesh.ToString());
  }
  absl::StrAppend(&text, "on meshes ");
  for (int32_t i = 0; i < plan.layout_count(); ++i) {
    absl::StrAppend(&text, i == 0 ? "" : " and ",
                    plan.layout(i).mesh.ToString());
  }
  return text;
}

void PrintPlan(const Plan& plan, const Cluster& cluster) {
  const Prediction& predicted = plan.predicted;
  absl::PrintF("%s on %s\n", plan.module_name, cluster.ToString());
  absl::PrintF("%s, %d micro-batch%s, %sstrategy %s\n", MeshText(plan),
               plan.micro_batches, plan.micro_batches == 1 ? "" : "es",
               RecomputeText(plan.recompute), plan.strategy);
  absl::PrintF(
      "predicted (%s): step %s = compute %s + communication %s; %s of %s per "
      "device\n",
      predicted.origin, FormatSeconds(predicted.step_seconds),
      FormatSeconds(predicted.compute_seconds),
      FormatSeconds(predicted.exposed_comm_seconds),
      FormatBytes(predicted.peak_bytes), FormatBytes(plan.memory_bytes));
  absl::PrintF("%s\n", plan.gap < 1e-6 ? std::string("proved best on this mesh")
                       : plan.gap >= 1
                           ? "no bound was found in the time given"
                           : absl::StrCat("within ", Percent(plan.gap),
                                          " of the best on this mesh"));
  if (plan.measured.has_value()) PrintMeasured(*plan.measured);
  if (plan.pipeline.has_value()) PrintPipeline(plan);
  PrintTensors(plan);
  PrintCollectives(plan);
  if (plan.alternatives.size() > 1) {
    absl::PrintF("also looked at\n");
    for (size_t i = 0; i < plan.alternatives.size() && i < kMaxRows; ++i) {
      const Alternative& one = plan.alternatives[i];
      absl::PrintF(
          "  %-24s x%-4d %s%s%s\n", one.mesh, one.micro_batches,
          one.stages == 1 ? "" : absl::StrCat(one.stages, " stages, "),
          RecomputeText(one.recompute),
          one.why_not.empty() ? FormatSeconds(one.seconds) : one.why_not);
    }
  }
  for (const std::string& note : plan.notes) absl::PrintF("note: %s\n", note);
  const auto total = plan.seconds.find("total");
  if (total != plan.seconds.end()) {
    absl::PrintF("planned in %s\n", FormatSeconds(total->second));
  }
}

}  // namespace meshwright
