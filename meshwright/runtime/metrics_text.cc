#include "meshwright/runtime/metrics_text.h"

#include <cmath>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/string_view.h"

namespace meshwright {
namespace {

std::string Number(double value) {
  if (std::isnan(value)) return "NaN";
  if (std::isinf(value)) return value > 0 ? "+Inf" : "-Inf";
  return absl::StrFormat("%.17g", value);
}

void Head(absl::string_view name, absl::string_view type,
          absl::string_view help, std::string& text) {
  absl::StrAppend(&text, "# HELP ", name, " ", help, "\n# TYPE ", name, " ",
                  type, "\n");
}

struct Gauge {
  const char* name;
  const char* help;
  std::optional<double> (*value)(const StepFigures& figures);
};

std::optional<double> AsDouble(std::optional<int64_t> value) {
  if (!value.has_value()) return std::nullopt;
  return static_cast<double>(*value);
}

constexpr Gauge kGauges[] = {
    {"meshwright_step_seconds", "Duration of the last step.",
     [](const StepFigures& one) { return std::optional(one.seconds); }},
    {"meshwright_loss", "Loss of the last step.",
     [](const StepFigures& one) { return one.loss; }},
    {"meshwright_tokens_per_second", "Tokens per second in the last step.",
     [](const StepFigures& one) { return one.tokens_per_second; }},
    {"meshwright_samples_per_second", "Samples per second in the last step.",
     [](const StepFigures& one) { return one.samples_per_second; }},
    {"meshwright_tflops",
     "Counted 10^12 floating-point operations per second in the last step.",
     [](const StepFigures& one) { return std::optional(one.tflops); }},
    {"meshwright_mfu",
     "Model FLOPs utilisation: part of the devices' peak in the last step.",
     [](const StepFigures& one) { return one.mfu; }},
    {"meshwright_bubble",
     "Part of the pipeline's time without work in the last step.",
     [](const StepFigures& one) { return one.bubble; }},
    {"meshwright_communication_seconds",
     "Longest time a worker waited for others in the last step.",
     [](const StepFigures& one) { return one.communication_seconds; }},
    {"meshwright_communication_bytes",
     "Bytes between workers in the last step.",
     [](const StepFigures& one) { return AsDouble(one.communication_bytes); }},
    {"meshwright_memory_bytes", "Bytes that programs take on a device.",
     [](const StepFigures& one) { return AsDouble(one.memory_bytes); }},
};

}  // namespace

void LastFigures::Set(const StepFigures& figures) {
  const std::lock_guard lock(mutex_);
  Entry& entry = jobs_[figures.job];
  entry.last = figures;
  ++entry.steps;
  entry.seconds += figures.seconds;
}

void LastFigures::Forget(int64_t job) {
  const std::lock_guard lock(mutex_);
  jobs_.erase(job);
}

std::string LastFigures::Text(const ServerFigures& server) const {
  std::string text;
  const auto plain = [&](absl::string_view name, absl::string_view help,
                         int64_t value) {
    Head(name, "gauge", help, text);
    absl::StrAppend(&text, name, " ", value, "\n");
  };
  plain("meshwright_workers", "Workers that have joined and live.",
        server.workers);
  plain("meshwright_workers_expected", "Workers that are waited for.",
        server.expected);
  plain("meshwright_devices", "Devices of these workers.", server.devices);
  const std::lock_guard lock(mutex_);
  plain("meshwright_jobs", "Jobs that have run a step and are loaded.",
        static_cast<int64_t>(jobs_.size()));
  const auto by_job =
      [&](const char* name, const char* type, const char* help,
          const std::function<std::optional<double>(const Entry&)>& value) {
        bool is_first = true;
        for (const auto& [job, entry] : jobs_) {
          const std::optional<double> figure = value(entry);
          if (!figure.has_value()) continue;
          if (is_first) Head(name, type, help, text);
          is_first = false;
          absl::StrAppend(&text, name, "{job=\"", job, "\"} ", Number(*figure),
                          "\n");
        }
      };
  by_job("meshwright_steps_total", "counter", "Steps that were run.",
         [](const Entry& one) {
           return std::optional(static_cast<double>(one.steps));
         });
  by_job("meshwright_seconds_total", "counter", "Duration of all steps.",
         [](const Entry& one) { return std::optional(one.seconds); });
  for (const Gauge& gauge : kGauges) {
    by_job(gauge.name, "gauge", gauge.help,
           [&](const Entry& one) { return gauge.value(one.last); });
  }
  return text;
}

}  // namespace meshwright
