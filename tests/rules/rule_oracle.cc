#include "tests/rules/rule_oracle.h"

#include <algorithm>
#include <memory>
#include <utility>

#include "absl/strings/str_cat.h"
#include "meshwright/base/check.h"
#include "meshwright/base/status_macros.h"
#include "meshwright/hlo/print_module.h"
#include "meshwright/rules/divide.h"
#include "meshwright/rules/lowering.h"
#include "tests/rules/device_run.h"
#include "tests/rules/host_values.h"

namespace meshwright {
namespace {

constexpr double kTolerance = 1e-5;

// The per-device forms of one instruction under several strategies.
class LocalForms {
 public:
  LocalForms(const BuiltOp& op, const Rule& rule, const Mesh& mesh)
      : op_(op),
        rule_(rule),
        program_("local", mesh),
        entry_(nullptr),
        arguments_(mesh.device_count()) {}

  absl::Status Build(absl::Span<const Strategy> strategies,
                     const Values& inputs) {
    Computation* entry =
        program_.module.AddComputation(program_.UniqueName("entry"));
    program_.module.set_entry(entry);
    entry_ = entry;
    LocalBuilder builder(&program_, entry);
    std::vector<Instruction*> outputs;
    for (const Strategy& strategy : strategies) {
      MW_RETURN_IF_ERROR(AddForm(strategy, inputs, builder, outputs));
    }
    entry->set_root(builder.Tuple(std::move(outputs)));
    program_.module.Finish();
    return absl::OkStatus();
  }

  const Module& module() const { return program_.module; }
  const std::vector<Values>& arguments() const { return arguments_; }

 private:
  absl::Status AddForm(const Strategy& strategy, const Values& inputs,
                       LocalBuilder& builder,
                       std::vector<Instruction*>& outputs) {
    const Mesh& mesh = program_.mesh;
    LocalOp local{*op_.instruction, rule_, strategy, {}};
    for (int32_t i = 0; i < static_cast<int32_t>(inputs.size()); ++i) {
      local.operands.push_back(AddOperand(
          i, OperandSharding(rule_, strategy, i, mesh), inputs[i], builder));
    }
    const std::vector<Instruction*> results = Lower(local, builder);
    if (results.size() != op_.result_leaves.size()) {
      return absl::InternalError(
          absl::StrCat("the lowering gave ", results.size(), " results"));
    }
    for (size_t i = 0; i < results.size(); ++i) {
      const Sharding sharding =
          ResultSharding(rule_, strategy, static_cast<int32_t>(i), mesh);
      if (results[i]->shape.dimensions != LocalDimensions(sharding, mesh) ||
          results[i]->shape.element_type != op_.result_leaves[i].element_type) {
        return absl::InternalError(absl::StrCat("result ", i,
                                                " has the local shape ",
                                                results[i]->shape.ToString()));
      }
      outputs.push_back(
          builder.AllReduce(results[i], sharding.reduction, sharding.pending));
    }
    return absl::OkStatus();
  }

  Instruction* AddOperand(int32_t leaf, const Sharding& sharding,
                          const Literal& whole, LocalBuilder& builder) {
    const Mesh& mesh = program_.mesh;
    if (op_.IsConstant(leaf)) {
      return builder.Constant(whole.shape.element_type,
                              op_.spec.constants.at(leaf));
    }
    for (int64_t device = 0; device < mesh.device_count(); ++device) {
      arguments_[device].push_back(
          ShardOf(whole, sharding, mesh, device,
                  static_cast<uint64_t>(arguments_[device].size()) + 1));
    }
    return entry_->AddParameter(arguments_[0].back().shape,
                                program_.UniqueName("parameter"));
  }

  const BuiltOp& op_;
  const Rule& rule_;
  LocalProgram program_;
  Computation* entry_;
  std::vector<Values> arguments_;  // By device.
};

bool SumsUp(const Rule& rule, const Strategy& strategy) {
  if (!strategy.pending.empty()) return true;
  for (size_t i = 0; i < rule.factors.size(); ++i) {
    if (!strategy.factor_axes[i].empty() &&
        rule.factors[i].kind != FactorKind::kKept) {
      return true;
    }
  }
  return false;
}

absl::Status CheckTogether(const BuiltOp& op, const Rule& rule,
                           absl::Span<const Strategy> strategies,
                           const Mesh& mesh, const Values& inputs,
                           const Values& wanted, std::string* text) {
  LocalForms forms(op, rule, mesh);
  MW_RETURN_IF_ERROR(forms.Build(strategies, inputs));
  if (text != nullptr) *text = ToString(forms.module());
  MW_ASSIGN_OR_RETURN(const std::vector<Values> got,
                      RunOnDevices(forms.module(), forms.arguments()));
  for (size_t i = 0; i < strategies.size(); ++i) {
    const bool exact =
        op.spec.exact && (op.spec.exact_sums || !SumsUp(rule, strategies[i]));
    for (size_t leaf = 0; leaf < wanted.size(); ++leaf) {
      if (op.spec.workspaces.contains(static_cast<int32_t>(leaf))) continue;
      const Sharding sharding =
          ResultSharding(rule, strategies[i], static_cast<int32_t>(leaf), mesh);
      for (int64_t device = 0; device < mesh.device_count(); ++device) {
        MW_RETURN_IF_ERROR(CompareShard(got[device][i * wanted.size() + leaf],
                                        wanted[leaf], sharding, mesh, device,
                                        exact ? 0 : kTolerance));
      }
    }
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<Values> RunWhole(const BuiltOp& op, const Values& inputs) {
  Values parameters;
  for (size_t i = 0; i < inputs.size(); ++i) {
    if (!op.IsConstant(static_cast<int32_t>(i))) {
      parameters.push_back(inputs[i]);
    }
  }
  MW_ASSIGN_OR_RETURN(std::vector<Values> outputs,
                      RunOnDevices(*op.module, {std::move(parameters)}));
  return std::move(outputs[0]);
}

absl::Status CheckStrategies(const BuiltOp& op, const Rule& rule,
                             absl::Span<const Strategy> strategies,
                             const Mesh& mesh, const Values& inputs,
                             const Values& wanted) {
  if (strategies.empty() ||
      CheckTogether(op, rule, strategies, mesh, inputs, wanted, nullptr).ok()) {
    return absl::OkStatus();
  }
  // Find the one at fault.
  for (const Strategy& strategy : strategies) {
    std::string text;
    const absl::Status status =
        CheckTogether(op, rule, {strategy}, mesh, inputs, wanted, &text);
    if (status.ok()) continue;
    return absl::InternalError(
        absl::StrCat(status.message(), "\nmesh ", mesh.ToString(), ", ",
                     ToString(rule, strategy, mesh), "\nrule ", ToString(rule),
                     "\n", ToString(*op.module), "\n", text));
  }
  return absl::InternalError("strategies fail together, but not alone");
}

absl::Status CheckStrategy(const OneOp& op, const Strategy& strategy,
                           const Mesh& mesh, uint64_t seed) {
  const BuiltOp built = Build(op);
  const Rule rule = RuleFor(*built.instruction);
  if (!IsValid(rule, strategy, mesh)) {
    return absl::InvalidArgumentError("the strategy is not valid");
  }
  Random random(seed);
  const Values inputs = DrawInputs(built, random);
  MW_ASSIGN_OR_RETURN(const Values wanted, RunWhole(built, inputs));
  return CheckStrategies(built, rule, {strategy}, mesh, inputs, wanted);
}

namespace {

// A sharding that splits a random dimension of a tensor in strides of a random
// divisor, if one has any.
std::optional<Sharding> RandomStrides(const std::vector<int64_t>& dimensions,
                                      const Mesh& mesh, Random& random) {
  Sharding sharding = Sharding::Replicated(dimensions);
  std::vector<std::pair<size_t, int64_t>> ways;
  for (size_t i = 0; i < dimensions.size(); ++i) {
    for (int64_t major = 2; major < dimensions[i]; ++major) {
      if (dimensions[i] % (2 * major) == 0) ways.push_back({i, major});
    }
  }
  if (ways.empty()) return std::nullopt;
  const auto [dimension, major] = ways[random() % ways.size()];
  sharding.dims[dimension] =
      Normalised({{major, {}}, {dimensions[dimension] / major, {0}}}, mesh);
  return sharding;
}

// The same with factors divided as some strided tensor asks for.
absl::Status CheckDivided(const BuiltOp& op, const Rule& rule,
                          const CheckOptions& options, const Values& inputs,
                          const Values& wanted, Random& random) {
  MW_ASSIGN_OR_RETURN(const Mesh mesh, Mesh::Parse("a=2,b=2"));
  std::vector<Shape> leaves = op.operand_leaves;
  leaves.insert(leaves.end(), op.result_leaves.begin(), op.result_leaves.end());
  for (int32_t i = 0; i < static_cast<int32_t>(leaves.size()); ++i) {
    const std::optional<Sharding> sharding =
        RandomStrides(leaves[i].dimensions, mesh, random);
    if (!sharding.has_value()) continue;
    const std::optional<Rule> divided = Divided(rule, i, *sharding);
    if (!divided.has_value()) continue;
    return CheckStrategies(
        op, *divided,
        SampleStrategies(op, *divided, mesh, random, options.count), mesh,
        inputs, wanted);
  }
  return absl::OkStatus();
}

}  // namespace

absl::Status CheckRule(const OneOp& op, const CheckOptions& options) {
  const BuiltOp built = Build(op);
  const Rule rule = RuleFor(*built.instruction);
  if (rule.is_fallback != options.fallback) {
    return absl::InternalError(
        absl::StrCat(options.fallback ? "expected" : "got", " the fallback:\n",
                     ToString(*built.module)));
  }
  if (rule.operands.size() != built.operand_leaves.size() ||
      rule.results.size() != built.result_leaves.size()) {
    return absl::InternalError(absl::StrCat("the rule has other tensors:\n",
                                            ToString(rule), "\n",
                                            ToString(*built.module)));
  }
  Random random(options.seed);
  const Values inputs = DrawInputs(built, random);
  MW_ASSIGN_OR_RETURN(const Values wanted, RunWhole(built, inputs));
  std::vector<Rule> rules = {rule};
  if (std::optional<Rule> other = OtherRuleFor(*built.instruction)) {
    rules.push_back(*std::move(other));
  }
  for (const std::string& text : options.meshes) {
    MW_ASSIGN_OR_RETURN(const Mesh mesh, Mesh::Parse(text));
    MW_CHECK(mesh.device_count() <= kOracleDevices);
    for (const Rule& one : rules) {
      MW_RETURN_IF_ERROR(CheckStrategies(
          built, one, SampleStrategies(built, one, mesh, random, options.count),
          mesh, inputs, wanted));
    }
  }
  return CheckDivided(built, rule, options, inputs, wanted, random);
}

}  // namespace meshwright
