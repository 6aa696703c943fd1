// custom-call: by the rule that is recorded in it (rule_text.h), or by target
// (call_table.h for those of which nothing else is known).
// What has neither computes on every device.
#include <algorithm>
#include <array>
#include <charconv>

#include "absl/strings/match.h"
#include "absl/strings/string_view.h"
#include "absl/strings/strip.h"
#include "meshwright/hlo/kernel_calls.h"
#include "meshwright/hlo/scaled_dot_numbers.h"
#include "meshwright/rules/call_table.h"
#include "meshwright/rules/families.h"
#include "meshwright/rules/fused_attention.h"
#include "meshwright/rules/gemm_calls.h"
#include "meshwright/rules/grouped_gemm.h"
#include "meshwright/rules/island.h"
#include "meshwright/rules/library_gemm.h"
#include "meshwright/rules/open_island.h"
#include "meshwright/rules/recorded_flops.h"
#include "meshwright/rules/rule_text.h"

namespace meshwright {
namespace {

enum class Target {
  kUnknown,
  kIdentity,       // A hint to a compiler that partitions; dropped.
  kElementwise,    // All operands and results of the same dimensions.
  kTopK,           // As the opcode; k is the result's size.
  kFixedTopK,      // k is also in the configuration.
  kPartialReduce,  // (arrays..., starts...) reduced along one dimension.
  kAttention,      // cuDNN's, in its variants.
  kScaledDot,      // As the opcode.
  kGemm,           // Transformer Engine's.
  kGroupedGemm,    // The same of groups of rows.
};

struct TargetEntry {
  absl::string_view name;
  Target target;
};

constexpr std::array kTargets = std::to_array<TargetEntry>({
    {"Sharding", Target::kIdentity},
    {"LayoutConstraint", Target::kIdentity},
    {"xla.sdy.FuncResultSharding", Target::kIdentity},
    {"xla.sdy.PropagationBarrier", Target::kIdentity},
    {"xla.sdy.Sharding", Target::kIdentity},
    {"MoveToDevice", Target::kElementwise},
    {"MoveToHost", Target::kElementwise},
    {"PinToDevice", Target::kElementwise},
    {"PinToDeviceSram", Target::kElementwise},
    {"X64Combine", Target::kElementwise},
    {"X64SplitHigh", Target::kElementwise},
    {"X64SplitLow", Target::kElementwise},
    {"annotate_device_placement", Target::kElementwise},
    {"cu_threefry2x32_ffi", Target::kElementwise},
    {"hip_threefry2x32_ffi", Target::kElementwise},
    {"mhlo.acos", Target::kElementwise},
    {"mhlo.acosh", Target::kElementwise},
    {"mhlo.asin", Target::kElementwise},
    {"mhlo.asinh", Target::kElementwise},
    {"mhlo.atanh", Target::kElementwise},
    {"mhlo.cosh", Target::kElementwise},
    {"mhlo.erf", Target::kElementwise},
    {"mhlo.sinh", Target::kElementwise},
    {"mhlo.tan", Target::kElementwise},
    {"TopK", Target::kTopK},
    {"mhlo.topk", Target::kFixedTopK},
    {"ApproxTopK", Target::kPartialReduce},
    {"PartialReduce", Target::kPartialReduce},
});

Target TargetOf(const Instruction& instruction) {
  if (IsKernel(instruction)) return Target::kUnknown;  // A name of the user's.
  for (const TargetEntry& entry : kTargets) {
    if (entry.name == instruction.attributes->custom_call_target) {
      return entry.target;
    }
  }
  if (IsBlockScaledDot(instruction)) return Target::kScaledDot;
  if (IsLibraryGemm(instruction)) return Target::kGemm;
  if (IsGroupedGemm(instruction)) return Target::kGroupedGemm;
  return IsFusedAttention(instruction) ? Target::kAttention : Target::kUnknown;
}

// The rule that the call brings, in place of its target's.
std::optional<Rule> BroughtRule(const Instruction& instruction) {
  const std::string* text = RecordedRule(instruction);
  if (text == nullptr) return std::nullopt;
  absl::StatusOr<Rule> rule = ParseRule(*text, instruction);
  if (!rule.ok()) return std::nullopt;
  rule->variants = KernelVariants(instruction);
  return *std::move(rule);
}

std::optional<Rule> PointwiseRuleOf(const Instruction& instruction) {
  const std::vector<const Shape*> results = Leaves(instruction.shape);
  if (results.empty() || instruction.operands.empty()) return std::nullopt;
  const std::vector<int64_t>& dimensions = results[0]->dimensions;
  for (const Shape* result : results) {
    if (!result->IsArray() || result->dimensions != dimensions) {
      return std::nullopt;
    }
  }
  for (const Instruction* operand : instruction.operands) {
    if (!operand->shape.IsArray() || operand->shape.dimensions != dimensions) {
      return std::nullopt;
    }
  }
  return PointwiseRule(dimensions,
                       static_cast<int32_t>(instruction.operands.size()),
                       static_cast<int32_t>(results.size()));
}

// The number behind "key": in a JSON object.
std::optional<int64_t> FindNumber(absl::string_view json,
                                  absl::string_view key) {
  const size_t found = json.find(key);
  if (found == absl::string_view::npos) return std::nullopt;
  json.remove_prefix(found + key.size());
  if (!absl::ConsumePrefix(&json, "\"")) return std::nullopt;
  json = absl::StripLeadingAsciiWhitespace(json);
  if (!absl::ConsumePrefix(&json, ":")) return std::nullopt;
  json = absl::StripLeadingAsciiWhitespace(json);
  int64_t number = 0;
  const auto parsed =
      std::from_chars(json.data(), json.data() + json.size(), number);
  if (parsed.ec != std::errc()) return std::nullopt;
  return number;
}

// The reduced dimension is whole, the others are kept.
std::optional<Rule> PartialReduceFactors(const Instruction& instruction) {
  const std::optional<int64_t> reduced =
      FindNumber(instruction.attributes->backend_config, "\"reduction_dim");
  const std::vector<const Shape*> results = Leaves(instruction.shape);
  const size_t arrays = results.size();
  if (!reduced.has_value() || instruction.operands.size() != 2 * arrays ||
      arrays == 0) {
    return std::nullopt;
  }
  const Shape& input = instruction.operand_shape(0);
  if (!input.IsArray() || *reduced < 0 || *reduced >= input.rank()) {
    return std::nullopt;
  }
  Rule rule = PointwiseRule(input.dimensions, static_cast<int32_t>(arrays),
                            static_cast<int32_t>(arrays));
  rule.factors[*reduced] = {.size = input.dimensions[*reduced],
                            .kind = FactorKind::kWhole};
  for (size_t i = 0; i < arrays; ++i) {
    std::vector<int64_t> expected = input.dimensions;
    if (instruction.operand_shape(i).dimensions != expected ||
        !instruction.operand_shape(arrays + i).IsScalar() ||
        results[i]->rank() != input.rank()) {
      return std::nullopt;
    }
    const int64_t size = results[i]->dimensions[*reduced];
    expected[*reduced] = size;
    if (results[i]->dimensions != expected) return std::nullopt;
    rule.results[i][*reduced] = {rule.AddFactor(size, FactorKind::kWhole)};
  }
  rule.operands.resize(2 * arrays);  // The start values are scalars.
  return rule;
}

// Layouts stay, sizes become local. Operands are arrays.
Attributes LocalAttributes(const LocalOp& op) {
  Attributes attributes = *op.instruction.attributes;
  std::vector<Shape>& shapes = attributes.operand_shapes_with_layout;
  if (shapes.size() == op.operands.size()) {
    for (size_t i = 0; i < shapes.size(); ++i) {
      shapes[i].dimensions = op.operands[i]->shape.dimensions;
    }
  }
  return attributes;
}

}  // namespace

bool IsPartitionerHint(const Instruction& instruction) {
  return instruction.opcode == Opcode::kCustomCall &&
         TargetOf(instruction) == Target::kIdentity &&
         instruction.operands.size() == 1 &&
         Compatible(instruction.shape, instruction.operand_shape(0));
}

std::optional<Rule> CustomCallFactors(const Instruction& instruction) {
  if (IsIsland(instruction)) return IslandFactors(instruction);
  if (EntersOpenIsland(instruction) || LeavesOpenIsland(instruction)) {
    return RegionEdgeFactors(instruction);
  }
  if (instruction.attributes->custom_call_has_side_effect) return std::nullopt;
  std::optional<Rule> rule = BroughtRule(instruction);
  if (rule.has_value()) return rule;
  switch (TargetOf(instruction)) {
    case Target::kUnknown:
      rule = IsKernel(instruction) ? std::nullopt : TableRule(instruction);
      break;
    case Target::kScaledDot:
      rule = ScaledDotFactors(instruction);
      break;
    case Target::kIdentity:
      rule = PointwiseRuleOf(instruction);
      if (instruction.operands.size() != 1 || !instruction.shape.IsArray()) {
        return std::nullopt;
      }
      if (rule.has_value()) rule->linear = {{std::nullopt, {0}}};
      break;
    case Target::kElementwise:
      rule = PointwiseRuleOf(instruction);
      break;
    case Target::kTopK:
      rule = TopKFactors(instruction);
      break;
    case Target::kFixedTopK:
      rule = TopKFactors(instruction);
      if (rule.has_value()) {
        rule->factors[rule->operands[0].back()[0]].kind = FactorKind::kWhole;
      }
      break;
    case Target::kPartialReduce:
      rule = PartialReduceFactors(instruction);
      break;
    case Target::kAttention:
      rule = AttentionFactors(instruction);
      break;
    case Target::kGemm:
      rule = LibraryGemmFactors(instruction);
      break;
    case Target::kGroupedGemm:
      rule = GroupedGemmFactors(instruction);
      break;
  }
  return rule;
}

LocalValues LowerCustomCall(const LocalOp& op, LocalBuilder& builder) {
  if (IsIsland(op.instruction)) return LowerIsland(op, builder);
  const Target target = BroughtRule(op.instruction).has_value()
                            ? Target::kUnknown
                            : TargetOf(op.instruction);
  switch (target) {
    case Target::kAttention:
      return LowerAttention(op, builder);
    case Target::kIdentity:
      return op.operands;
    case Target::kTopK:
      return LowerTopK(op, builder);
    case Target::kGroupedGemm:
      return LowerGroupedGemm(op, builder);
    default:
      break;
  }
  Instruction local = op.instruction;
  for (const char* key : kRuleAttributes) {
    const auto text = local.frontend_attributes.find(key);
    if (text == local.frontend_attributes.end()) continue;
    text->second = LocalRuleText(text->second, op.instruction, op.rule,
                                 op.strategy, builder.mesh());
    break;  // The first is what counts.
  }
  ScaleRecordedFlops(op, builder.mesh(), local);
  const LocalValues operands =
      target == Target::kGemm ? LocalGemmOperands(op, builder) : op.operands;
  const LocalOp local_op{local, op.rule, op.strategy, operands};
  if (IsKernel(local)) return LowerKernel(local_op, builder);
  return LowerWith(local_op, LocalAttributes(local_op), operands, builder);
}

}  // namespace meshwright
