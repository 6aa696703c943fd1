#include "meshwright/solve/mip.h"

#include <algorithm>
#include <cmath>
#include <memory>
#include <utility>

#include "absl/strings/str_cat.h"
#include "meshwright/base/check.h"
#include "meshwright/base/status_macros.h"
#include "meshwright/solve/highs_api.h"

namespace meshwright {
namespace {

// The tolerances of HiGHS (mip_feasibility_tolerance and others) change a bound
// by about this part of the sum of its costs.
constexpr double kMargin = 1e-6;

// Passed to HiGHS, which asks at fixed points of its work whether to go on.
struct Watch {
  const HighsApi* api = nullptr;
  const std::function<bool()>* stop = nullptr;
  int64_t iteration_limit = 0;
  int64_t iterations = 0;
};

void OnInterrupt(int kind, const char* /*message*/, const void* out, void* in,
                 void* data) {
  auto* const watch = static_cast<Watch*>(data);
  if (kind != HighsApi::kMipInterrupt || in == nullptr) return;
  const void* count =
      watch->api->GetCallbackItem(out, "mip_total_lp_iterations");
  if (count == nullptr) return;
  watch->iterations =
      std::max(watch->iterations, *static_cast<const int64_t*>(count));
  if (watch->iterations >= watch->iteration_limit ||
      (*watch->stop != nullptr && (*watch->stop)())) {
    *static_cast<int*>(in) = 1;
  }
}

// The matrix in the row-wise format of HiGHS.
struct Matrix {
  std::vector<double> row_lower, row_upper, values;
  std::vector<int32_t> starts, indices;
};

Matrix MatrixOf(const Mip& mip) {
  Matrix matrix;
  for (const MipRow& row : mip.rows) {
    matrix.starts.push_back(static_cast<int32_t>(matrix.values.size()));
    matrix.row_lower.push_back(row.lower);
    matrix.row_upper.push_back(row.upper);
    for (const MipTerm& term : row.terms) {
      matrix.indices.push_back(term.variable);
      matrix.values.push_back(term.factor);
    }
  }
  return matrix;
}

absl::Status Pass(const HighsApi& api, void* model, const Mip& mip) {
  std::vector<double> costs, lower, upper;
  std::vector<int32_t> integrality;
  for (const MipVariable& variable : mip.variables) {
    costs.push_back(variable.cost);
    lower.push_back(variable.lower);
    upper.push_back(variable.upper);
    integrality.push_back(variable.integer ? 1 : 0);
  }
  const Matrix matrix = MatrixOf(mip);
  if (api.PassMip(model, static_cast<int32_t>(costs.size()),
                  static_cast<int32_t>(mip.rows.size()),
                  static_cast<int32_t>(matrix.values.size()),
                  HighsApi::kRowwise, HighsApi::kMinimise, 0, costs.data(),
                  lower.data(), upper.data(), matrix.row_lower.data(),
                  matrix.row_upper.data(), matrix.starts.data(),
                  matrix.indices.data(), matrix.values.data(),
                  integrality.data()) == HighsApi::kError) {
    return absl::InvalidArgumentError("HiGHS refuses the programme");
  }
  return absl::OkStatus();
}

void SetOptions(const HighsApi& api, void* model, const MipOptions& options) {
  const auto limited = [](int64_t limit) {
    return static_cast<int32_t>(std::min<int64_t>(limit, INT32_MAX));
  };
  // One thread and a fixed seed: the result depends on the MIP only.
  const bool known =
      api.SetBool(model, "output_flag", 0) == 0 &&
      api.SetInt(model, "threads", 1) == 0 &&
      api.SetString(model, "parallel", "off") == 0 &&
      api.SetInt(model, "random_seed", options.seed) == 0 &&
      api.SetDouble(model, "mip_rel_gap", options.gap) == 0 &&
      api.SetDouble(model, "mip_abs_gap", 0) == 0 &&
      api.SetInt(model, "mip_max_nodes", limited(options.node_limit)) == 0;
  MW_CHECK(known) << "HiGHS does not know an option of its version";
}

double CostOf(const Mip& mip, const std::vector<double>& values) {
  double cost = 0;
  for (size_t i = 0; i < values.size(); ++i) {
    cost += mip.variables[i].cost * values[i];
  }
  return cost;
}

void Read(const HighsApi& api, const void* model, const Mip& mip,
          MipAnswer& answer) {
  const int32_t status = api.GetModelStatus(model);
  if (status == HighsApi::kInfeasible) {
    answer.end = MipEnd::kInfeasible;
    answer.bound = kMipInfinity;
    return;
  }
  if (status == HighsApi::kOptimal) answer.end = MipEnd::kOptimal;
  int32_t primal = 0;
  constexpr int32_t kFeasible = 2;
  if (api.GetIntInfo(model, "primal_solution_status", &primal) == 0 &&
      primal == kFeasible) {
    answer.values.resize(mip.variables.size());
    std::vector<double> rows(mip.rows.size());
    if (api.GetSolution(model, answer.values.data(), nullptr, rows.data(),
                        nullptr) != 0) {
      answer.values.clear();
    }
  }
  for (size_t i = 0; i < answer.values.size(); ++i) {
    if (mip.variables[i].integer) {
      answer.values[i] = std::round(answer.values[i]);
    }
  }
  if (!answer.values.empty()) answer.cost = CostOf(mip, answer.values);
  api.GetInt64Info(model, "mip_node_count", &answer.nodes);
  double bound = -kMipInfinity;
  if (api.GetDoubleInfo(model, "mip_dual_bound", &bound) == 0 &&
      std::isfinite(bound)) {
    answer.bound = bound - kMargin * std::max(1.0, std::abs(bound));
  }
}

}  // namespace

int32_t Mip::AddVariable(const MipVariable& variable) {
  variables.push_back(variable);
  return static_cast<int32_t>(variables.size()) - 1;
}

void Mip::AddRow(MipRow row) { rows.push_back(std::move(row)); }

absl::StatusOr<MipAnswer> SolveMip(const Mip& mip, const MipOptions& options) {
  MW_CHECK(options.initial.empty() ||
           options.initial.size() == mip.variables.size());
  MW_RETURN_IF_ERROR(Highs().status());
  const HighsApi& api = *Highs();
  const std::unique_ptr<void, void (*)(void*)> model(api.Create(), api.Destroy);
  if (model == nullptr) return absl::UnavailableError("HiGHS does not start");
  SetOptions(api, model.get(), options);
  MW_RETURN_IF_ERROR(Pass(api, model.get(), mip));
  if (!options.initial.empty()) {
    api.SetSolution(model.get(), options.initial.data(), nullptr, nullptr,
                    nullptr);
  }
  Watch watch{.api = &api,
              .stop = &options.stop,
              .iteration_limit = options.iteration_limit};
  api.SetCallback(model.get(), OnInterrupt, &watch);
  api.StartCallback(model.get(), HighsApi::kMipInterrupt);
  if (api.Run(model.get()) == HighsApi::kError) {
    return absl::InternalError("HiGHS fails on the programme");
  }
  MipAnswer answer;
  Read(api, model.get(), mip, answer);
  answer.iterations = watch.iterations;
  return answer;
}

absl::StatusOr<std::string> DescribeMipSolver() {
  MW_RETURN_IF_ERROR(Highs().status());
  return absl::StrCat("HiGHS ", Highs()->Version(), " (", Highs()->path, ")");
}

}  // namespace meshwright
