#include "meshwright/api/scaling_text.h"

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "meshwright/base/units.h"

namespace meshwright {
namespace {

using Json = nlohmann::ordered_json;

constexpr int kBarWidth = 24;

std::string ShareText(double share) {
  if (share > 0 && share < 0.0005) return "< 0.1 %";
  return absl::StrFormat("%.1f %%", 100 * share);
}

// "3.1 h", "18 min", "45 s"
std::string Duration(double seconds) {
  if (seconds >= 48 * 3600) return absl::StrFormat("%.0f d", seconds / 86400);
  if (seconds >= 2 * 3600) return absl::StrFormat("%.1f h", seconds / 3600);
  if (seconds >= 120) return absl::StrFormat("%.0f min", seconds / 60);
  return absl::StrFormat("%.0f s", seconds);
}

bool InTokens(absl::Span<const ScalePoint> points) {
  return std::ranges::any_of(
      points, [](const ScalePoint& point) { return point.tokens > 0; });
}

const char* Unit(absl::Span<const ScalePoint> points) {
  return InTokens(points) ? "tokens" : "samples";
}

std::string Bar(double share) {
  const int filled =
      static_cast<int>(std::lround(std::clamp(share, 0.0, 1.0) * kBarWidth));
  return std::string(filled, '#') + std::string(kBarWidth - filled, '.');
}

std::string PlanWords(const ScalePoint& point) {
  std::string text = point.mesh;
  if (point.stages > 1) absl::StrAppend(&text, ", ", point.stages, " stages");
  if (point.micro_batches > 1)
    absl::StrAppend(&text, " x", point.micro_batches);
  if (point.recompute != Recompute::kNone) {
    absl::StrAppend(&text, ", recompute ", Name(point.recompute));
  }
  return text;
}

std::string Row(const ScalePoint& point) {
  std::string row = absl::StrFormat("%8d %7d ", point.devices, point.samples);
  if (!point.why_not.empty()) {
    return absl::StrCat(row, " no plan: ", point.why_not, "\n");
  }
  absl::StrAppendFormat(
      &row, "%8s %9s %7s %7s %7s %8s %7s\n", FormatSeconds(point.step_seconds),
      FormatCount(point.throughput_per_device),
      point.mfu > 0 ? ShareText(point.mfu) : "-", ShareText(point.bubble_share),
      ShareText(point.comm_share), FormatBytes(point.peak_bytes),
      ShareText(point.goodput.share));
  return row;
}

// What devices achieve, beside the best.
std::string Chart(absl::Span<const ScalePoint> points) {
  const double best = BestThroughput(points);
  std::string chart = "throughput of a device, and its plan\n";
  for (const ScalePoint& point : points) {
    if (!point.why_not.empty()) continue;
    absl::StrAppendFormat(
        &chart, "%8d %s  %s\n", point.devices,
        Bar(best > 0 ? point.throughput_per_device / best : 0),
        PlanWords(point));
    for (const std::string& note : point.notes) {
      absl::StrAppend(&chart, "         note: ", note, "\n");
    }
  }
  return chart;
}

// About the largest cluster that has a plan.
std::string FailureWords(absl::Span<const ScalePoint> points,
                         const FailureSetting& failures) {
  const ScalePoint* last = nullptr;
  for (const ScalePoint& point : points) {
    if (point.why_not.empty()) last = &point;
  }
  if (last == nullptr) return "";
  const Goodput& goodput = last->goodput;
  std::string text = absl::StrFormat(
      "goodput: a device fails every %g h, one of %d every %s;\n"
      "  a checkpoint takes %s, a restart %s; saved every %s",
      failures.device_mtbf_hours, last->devices, Duration(goodput.mtbf_seconds),
      FormatSeconds(last->save_seconds),
      Duration(failures.restart_seconds + last->save_seconds),
      Duration(goodput.interval_seconds));
  if (failures.interval_seconds.has_value()) {
    absl::StrAppend(&text, " (best: ", Duration(goodput.best_interval_seconds),
                    ")");
  }
  return absl::StrCat(text, ",\n  ", ShareText(goodput.share),
                      " of the time is for steps that last\n");
}

}  // namespace

double BestThroughput(absl::Span<const ScalePoint> points) {
  double best = 0;
  for (const ScalePoint& point : points) {
    best = std::max(best, point.throughput_per_device);
  }
  return best;
}

std::string ScalingTable(absl::Span<const ScalePoint> points,
                         const ScaleText& text) {
  std::string table = absl::StrCat(
      text.title, "\n",
      text.weak ? "weak scaling: steps of several batches, about as many "
                  "samples for each device"
                : "strong scaling: the batch of the one step, on more devices",
      "; predicted\n");
  absl::StrAppendFormat(&table, "%8s %7s %8s %9s %7s %7s %7s %8s %7s\n",
                        "devices", "samples", "step",
                        InTokens(points) ? "tok/s/dev" : "smp/s/dev", "MFU",
                        "bubbles", "comm", "memory", "goodput");
  for (const ScalePoint& point : points) table += Row(point);
  return absl::StrCat(table, Chart(points),
                      FailureWords(points, text.failures));
}

std::string ScalingJson(absl::Span<const ScalePoint> points,
                        const ScaleText& text) {
  Json json = {{"title", text.title},
               {"scaling", text.weak ? "weak" : "strong"},
               {"unit", Unit(points)},
               {"points", Json::array()}};
  for (const ScalePoint& point : points) {
    Json row = {{"devices", point.devices},
                {"step", point.step},
                {"samples", point.samples},
                {"tokens", point.tokens}};
    if (!point.why_not.empty()) {
      row["why_not"] = point.why_not;
      json["points"].push_back(std::move(row));
      continue;
    }
    row["mesh"] = point.mesh;
    row["stages"] = point.stages;
    row["micro_batches"] = point.micro_batches;
    row["recompute"] = std::string(Name(point.recompute));
    row["notes"] = point.notes;
    row["step_seconds"] = point.step_seconds;
    row["throughput_per_device"] = point.throughput_per_device;
    row["mfu"] = point.mfu > 0 ? Json(point.mfu) : Json(nullptr);
    row["bubble_share"] = point.bubble_share;
    row["communication_share"] = point.comm_share;
    row["peak_bytes"] = point.peak_bytes;
    row["memory_share"] = point.memory_share;
    row["gap"] = point.gap;
    row["goodput"] = {
        {"share", point.goodput.share},
        {"mtbf_seconds", point.goodput.mtbf_seconds},
        {"save_seconds", point.save_seconds},
        {"interval_seconds", point.goodput.interval_seconds},
        {"best_interval_seconds", point.goodput.best_interval_seconds}};
    json["points"].push_back(std::move(row));
  }
  json["failures"] = {
      {"device_mtbf_hours", text.failures.device_mtbf_hours},
      {"save_bytes_per_second_of_host", text.failures.save_bytes_per_second},
      {"restart_seconds", text.failures.restart_seconds}};
  return json.dump(2, ' ', false, Json::error_handler_t::replace);
}

}  // namespace meshwright
