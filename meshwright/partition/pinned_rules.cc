#include "meshwright/partition/pinned_rules.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "meshwright/partition/assignment.h"
#include "meshwright/rules/divide.h"

namespace meshwright {
namespace {

using OpPinList = std::vector<TensorPin>;

const TensorFactors& FactorsOfTensor(const Rule& rule, int32_t tensor) {
  const auto operands = static_cast<int32_t>(rule.operands.size());
  return tensor < operands ? rule.operands[tensor]
                           : rule.results[tensor - operands];
}

bool CanGiveAll(const Rule& rule, const OpPinList& pins, const Mesh& mesh) {
  return std::ranges::all_of(
      pins, [&](const TensorPin& pin) { return CanGive(rule, pin, mesh); });
}

std::optional<Rule> DividedFor(const Rule& rule, const OpPinList& pins) {
  std::optional<Rule> divided;
  for (const TensorPin& pin : pins) {
    std::optional<Rule> more = Divided(divided.has_value() ? *divided : rule,
                                       pin.tensor, pin.asked->sharding);
    if (more.has_value()) divided = std::move(more);
  }
  return divided;
}

// The first that can satisfy the pins: `rule` divided, the alternative rule,
// that divided.
std::optional<Rule> RuleFor(const FlatOp& op, const Rule& rule,
                            const OpPinList& pins, const Mesh& mesh) {
  std::vector<std::optional<Rule>> rules = {DividedFor(rule, pins)};
  if (op.kind == OpKind::kCompute) {
    rules.push_back(OtherRuleFor(*op.instruction));
    if (rules.back().has_value()) {
      rules.push_back(DividedFor(*rules.back(), pins));
    }
  }
  for (std::optional<Rule>& one : rules) {
    if (one.has_value() && CanGiveAll(*one, pins, mesh)) return std::move(one);
  }
  return std::nullopt;
}

}  // namespace

bool CanGive(const Rule& rule, const TensorPin& pin, const Mesh& mesh) {
  const Strategy strategy = StrategyFor(rule, FactorsOfTensor(rule, pin.tensor),
                                        pin.asked->sharding, mesh);
  const auto operands = static_cast<int32_t>(rule.operands.size());
  const Sharding got =
      pin.tensor < operands
          ? OperandSharding(rule, strategy, pin.tensor, mesh)
          : ResultSharding(rule, strategy, pin.tensor - operands, mesh);
  return Meets(got, *pin.asked);
}

std::vector<Rule> RulesWithPins(const FlatGraph& graph,
                                const std::vector<OpPinList>& pins,
                                const Mesh& mesh) {
  std::vector<Rule> rules = RulesOf(graph);
  for (size_t i = 0; i < graph.ops.size(); ++i) {
    if (!graph.ops[i].live || pins[i].empty() ||
        CanGiveAll(rules[i], pins[i], mesh)) {
      continue;
    }
    std::optional<Rule> other = RuleFor(graph.ops[i], rules[i], pins[i], mesh);
    if (!other.has_value()) continue;
    other->cheap_to_repeat = rules[i].cheap_to_repeat;
    other->is_fallback = rules[i].is_fallback;
    rules[i] = *std::move(other);
  }
  return rules;
}

}  // namespace meshwright
