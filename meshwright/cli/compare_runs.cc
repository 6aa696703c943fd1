#include "meshwright/cli/compare_runs.h"

#include <algorithm>
#include <functional>
#include <nlohmann/json.hpp>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "meshwright/analysis/flops.h"
#include "meshwright/analysis/roles.h"
#include "meshwright/base/status_macros.h"
#include "meshwright/base/units.h"
#include "meshwright/hlo/opcode_traits.h"
#include "meshwright/runtime/synthetic_inputs.h"
#include "meshwright/state/nudge.h"

namespace meshwright {
namespace {

using Json = nlohmann::ordered_json;

// Relative error if intermediate values are rounded to 16 bits.
constexpr double kRounded = 2e-2;
constexpr double kExact = 2e-5;
// How often inputs are nudged before a difference counts as an error.
constexpr int kNudges = 5;
// Share of all elements, in tensors that contain only rounding errors.
constexpr double kMostUnclear = 0.01;

// The narrowest floating-point type of a contraction.
ElementType ComputedIn(const Module& module) {
  ElementType narrowest = ElementType::kF64;
  for (const auto& computation : module.computations()) {
    for (const auto& instruction : computation->instructions()) {
      if (!IsContraction(*instruction)) continue;
      const ElementType type = instruction->operand_shape(0).element_type;
      if (IsFloating(type) && BitWidth(type) < BitWidth(narrowest)) {
        narrowest = type;
      }
    }
  }
  return narrowest;
}

// An instruction that draws random numbers without a key; null if there is
// none.
const Instruction* DrawnWithoutKey(const Module& module) {
  for (const auto& computation : module.computations()) {
    for (const auto& instruction : computation->instructions()) {
      if (HasHiddenState(instruction->opcode)) return instruction.get();
    }
  }
  return nullptr;
}

ErrorLimits LimitsOf(const Tensor& tensor, ElementType computed_in,
                     double given) {
  if (given > 0) return {.tolerance = given, .heeds_noise = false};
  // Sums of rounded products differ by this much, whatever the state's type.
  if (BitWidth(computed_in) < 32 || BitWidth(tensor.type) < 32) {
    return {.tolerance = kRounded, .most_rounding = 5 * kRounded};
  }
  return {.tolerance = kExact};
}

absl::StatusOr<std::vector<double>> RunSteps(Runner& runner, int64_t steps,
                                             Progress& progress) {
  progress.Note("running");
  std::vector<double> seconds;
  for (int64_t step = 0; step < steps; ++step) {
    MW_ASSIGN_OR_RETURN(const StepResult result, runner.Step());
    seconds.push_back(result.seconds);
    progress.Advance("running");
  }
  return seconds;
}

// Fills parameters with synthetic values for `module`, modified by `change`:
// the same for all runners, whatever modules they run.
absl::Status Fill(const Module& module, const ComparisonOptions& options,
                  Runner& runner, const std::function<void(Tensor&)>& change) {
  return ForEachSynthetic(module, AnalyzeRoles(module), options.seed,
                          [&](int64_t, Tensor tensor) -> absl::Status {
                            change(tensor);
                            std::vector<Tensor> one;
                            one.push_back(std::move(tensor));
                            return runner.Set(std::move(one));
                          });
}

// Runs steps that give something else only by rounding.
absl::Status AddNoise(const Module& module, const std::vector<Tensor>& want,
                      const ComparisonOptions& options,
                      const std::function<void(Tensor&)>& change, Runner& whole,
                      Progress& progress, std::vector<TensorError>& errors) {
  MW_RETURN_IF_ERROR(Fill(module, options, whole, change));
  MW_RETURN_IF_ERROR(RunSteps(whole, options.steps, progress).status());
  MW_ASSIGN_OR_RETURN(const std::vector<Tensor> changed, whole.ReadOutputs());
  for (size_t i = 0; i < want.size(); ++i) {
    errors[i].AddNoise(want[i], changed[i]);
  }
  return absl::OkStatus();
}

std::string Percent(double part) {
  return absl::StrFormat("%.2g %%", 100 * part);
}

std::string WhyUnclear(const TensorError& error) {
  if (error.nans > 0) {
    return absl::StrCat("on one device ", error.nans, " of the ",
                        error.elements, " elements of ", error.name,
                        " are not numbers");
  }
  return absl::StrCat("last-bit changes of the inputs change ", error.name,
                      " by ", Percent(error.relative_noise()), " of its scale");
}

}  // namespace

const TensorError* RunComparison::worst() const {
  const TensorError* worst = nullptr;
  const auto rank = [](const TensorError& error) {
    return std::pair(error.verdict() != ErrorVerdict::kUnclear,
                     error.relative());
  };
  for (const TensorError& error : tensors) {
    if (worst == nullptr || rank(error) > rank(*worst)) worst = &error;
  }
  return worst;
}

double RunComparison::unclear() const {
  int64_t elements = 0;
  int64_t all = 0;
  for (const TensorError& error : tensors) {
    all += error.elements;
    if (error.verdict() == ErrorVerdict::kUnclear) elements += error.elements;
  }
  return elements == 0
             ? 0
             : static_cast<double>(elements) / static_cast<double>(all);
}

double RunComparison::absolute() const {
  double largest = 0;
  for (const TensorError& error : tensors) {
    largest = std::max(largest, error.absolute);
  }
  return largest;
}

ErrorVerdict RunComparison::verdict() const {
  const bool tolerates_unclear = unclear() <= kMostUnclear;
  ErrorVerdict result = ErrorVerdict::kEqual;
  for (const TensorError& error : tensors) {
    ErrorVerdict one = error.verdict();
    if (one == ErrorVerdict::kUnclear && tolerates_unclear &&
        error.elements > 1) {
      one = ErrorVerdict::kRounding;
    }
    result = std::max(result, one);
  }
  return result;
}

absl::Status RunComparison::status() const {
  if (ok()) return absl::OkStatus();
  const ErrorVerdict found = verdict();
  const auto first = std::ranges::find_if(
      tensors, [&](const auto& error) { return error.verdict() == found; });
  if (found == ErrorVerdict::kWrong) {
    return absl::InternalError(absl::StrCat(first->beyond, remark));
  }
  return absl::InternalError(absl::StrCat(
      "ill-conditioned: ", WhyUnclear(*first),
      ", so that rounding cannot be told from an error; try --steps 1, or "
      "another --seed",
      remark));
}

std::string RunComparison::ToString(const ComparisonOptions& options,
                                    int64_t devices,
                                    absl::string_view how) const {
  const ErrorVerdict found = verdict();
  const TensorError* most = worst();
  const double error = most == nullptr ? 0 : most->relative();
  std::string text = absl::StrFormat(
      "%s after %s on %s (%s): largest error %.2g of a tensor's "
      "scale",
      found == ErrorVerdict::kWrong     ? "NOT EQUAL"
      : found == ErrorVerdict::kUnclear ? "ill-conditioned"
                                        : "equal",
      Counted(options.steps, "step"), Counted(devices, "device"), how, error);
  if (error > 0) {
    absl::StrAppendFormat(&text, " (%s, whose noise floor is %.2g)", most->name,
                          most->relative_noise());
  }
  absl::StrAppend(&text, "\n");
  if (found == ErrorVerdict::kRounding && !most->beyond.empty()) {
    absl::StrAppend(&text,
                    "  more than the tolerance, but not more than last-bit "
                    "changes of the inputs or sums in another order make on "
                    "one device\n");
  }
  const auto first = std::ranges::find_if(tensors, [](const auto& one) {
    return one.verdict() == ErrorVerdict::kUnclear;
  });
  if (found == ErrorVerdict::kRounding && first != tensors.end()) {
    absl::StrAppend(
        &text, "  ", Percent(unclear()),
        " of the elements hold little but rounding, and tell nothing: ",
        WhyUnclear(*first), "\n");
  }
  return text;
}

nlohmann::ordered_json RunComparison::ToJson() const {
  const TensorError* most = worst();
  double floor = 0;
  Json list = Json::array();
  for (const TensorError& error : tensors) {
    floor = std::max(floor, error.relative_noise());
    list.push_back({{"name", error.name},
                    {"error", error.relative()},
                    {"noise", error.relative_noise()},
                    {"verdict", std::string(Name(error.verdict()))}});
  }
  const bool differs = most != nullptr && most->relative() > 0;
  return {{"ok", ok()},
          {"verdict", std::string(Name(verdict()))},
          {"max_abs_error", absolute()},
          {"max_rel_error", differs ? most->relative() : 0},
          {"worst", differs ? most->name : ""},
          {"noise_floor", floor},
          {"unclear", unclear()},
          {"tensors", std::move(list)}};
}

int64_t ComparedSteps(const ComparisonOptions& options) {
  return 3 * options.steps;
}

absl::StatusOr<RunComparison> RunAndCompare(const Module& module, Runner& whole,
                                            Runner& parts,
                                            const ComparisonOptions& options,
                                            Progress& progress,
                                            const OtherOrder& other) {
  RunComparison result;
  const auto as_it_is = [](Tensor&) {};
  MW_RETURN_IF_ERROR(Fill(module, options, whole, as_it_is));
  MW_ASSIGN_OR_RETURN(result.whole_seconds,
                      RunSteps(whole, options.steps, progress));
  MW_ASSIGN_OR_RETURN(const std::vector<Tensor> want, whole.ReadOutputs());
  MW_RETURN_IF_ERROR(Fill(module, options, parts, as_it_is));
  MW_ASSIGN_OR_RETURN(result.seconds, RunSteps(parts, options.steps, progress));
  MW_ASSIGN_OR_RETURN(const std::vector<Tensor> got, parts.ReadOutputs());
  const ElementType computed_in = ComputedIn(module);
  for (size_t i = 0; i < want.size(); ++i) {
    result.tensors.push_back(CompareTensors(
        want[i], got[i], LimitsOf(want[i], computed_in, options.tolerance)));
  }
  for (int nudge = 0; nudge == 0 || (nudge < kNudges && !result.ok());
       ++nudge) {
    const auto last_bits = [&](Tensor& tensor) {
      Nudge(options.seed + static_cast<uint64_t>(nudge), tensor, computed_in);
    };
    MW_RETURN_IF_ERROR(AddNoise(module, want, options, last_bits, whole,
                                progress, result.tensors));
  }
  if (other != nullptr && result.verdict() == ErrorVerdict::kWrong) {
    const auto runner = other();
    if (runner.ok()) {
      MW_RETURN_IF_ERROR(AddNoise(module, want, options, as_it_is, **runner,
                                  progress, result.tensors));
    }
  }
  const Instruction* drawn = DrawnWithoutKey(module);
  if (drawn != nullptr) {
    result.remark = absl::StrCat(
        "; ", drawn->name,
        " draws random numbers without a key, so that two programs "
        "need not draw the same: use rng-bit-generator");
  }
  return result;
}

}  // namespace meshwright
