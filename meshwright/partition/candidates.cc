#include "meshwright/partition/candidates.h"

#include <algorithm>
#include <memory>

#include "meshwright/partition/assignment.h"
#include "meshwright/reshard/exchange_price.h"
#include "meshwright/rules/divide.h"
#include "meshwright/rules/fused_attention.h"
#include "meshwright/rules/island.h"

namespace meshwright {
namespace {

// More strategies would cost time without finding better ones.
constexpr size_t kMaxStrategies = 32;

void AddUnique(std::vector<Strategy>& list, const Strategy& strategy) {
  if (list.size() < kMaxStrategies &&
      std::find(list.begin(), list.end(), strategy) == list.end()) {
    list.push_back(strategy);
  }
}

template <typename T>
void AppendBytes(std::string& out, const T& value) {
  out.append(reinterpret_cast<const char*>(&value), sizeof(value));
}

void AppendTensor(std::string& out, const TensorFactors& tensor) {
  AppendBytes(out, static_cast<int32_t>(tensor.size()));
  for (const DimFactors& dim : tensor) {
    AppendBytes(out, static_cast<int32_t>(dim.size()));
    for (const int32_t factor : dim) AppendBytes(out, factor);
  }
}

std::string Key(const Rule& rule, const std::vector<int32_t>& element_bits) {
  std::string key;
  for (const Factor& factor : rule.factors) {
    AppendBytes(key, factor.size);
    AppendBytes(key, factor.kind);
    AppendBytes(key, factor.reduction);
    AppendBytes(key, factor.may_pad);
    AppendBytes(key, factor.may_divide);
    AppendBytes(key, factor.tied);
  }
  AppendBytes(key, static_cast<int32_t>(-1));
  for (const TensorFactors& tensor : rule.operands) AppendTensor(key, tensor);
  AppendBytes(key, static_cast<int32_t>(-1));
  for (const TensorFactors& tensor : rule.results) AppendTensor(key, tensor);
  for (const Linear& linear : rule.linear) {
    AppendBytes(key, linear.reduction.has_value()
                         ? static_cast<int32_t>(*linear.reduction)
                         : -1);
    for (const int32_t operand : linear.operands) AppendBytes(key, operand);
    AppendBytes(key, static_cast<int32_t>(-1));
  }
  for (const int32_t bits : element_bits) AppendBytes(key, bits);
  for (const TensorSizes& sizes : rule.variants) {
    AppendBytes(key, static_cast<int32_t>(-1));
    for (const int64_t size : sizes) AppendBytes(key, size);
  }
  for (const MeshAxis& axis : rule.manual_axes) key += axis.name + ",";
  return key;
}

// Adds the candidate unless one with the same shardings is there.
void AddNew(Candidate candidate, std::vector<Candidate>& list) {
  for (const Candidate& other : list) {
    if (other.operands == candidate.operands &&
        other.results == candidate.results) {
      return;
    }
  }
  list.push_back(std::move(candidate));
}

// Whether the lowering may communicate: then ops with equal rules need not cost
// the same.
bool MayExchange(const Rule& rule) {
  return !rule.manual_axes.empty() ||
         std::any_of(rule.factors.begin(), rule.factors.end(),
                     [](const Factor& factor) {
                       return factor.kind == FactorKind::kExchanged;
                     });
}

// Axes that split the tensor in `sharding` but no factor in `strategy`.
AxisList Homeless(const Sharding& sharding, const Strategy& strategy) {
  uint32_t used = strategy.pending.Bits();
  for (const AxisList& axes : strategy.factor_axes) used |= axes.Bits();
  AxisList homeless;
  for (const AxisId axis : SplitAxes(sharding)) {
    if ((used >> axis & 1) == 0) homeless.push_back(axis);
  }
  return homeless;
}

// Adds variants of `strategy` with all `axes` on one more factor of the tensor:
// what must not be split in one dimension may be split in another.
void AddMoved(const Rule& rule, const TensorFactors& tensor,
              const Strategy& strategy, const AxisList& axes, const Mesh& mesh,
              std::vector<Strategy>& all) {
  for (const DimFactors& dim : tensor) {
    for (const int32_t factor : dim) {
      if (rule.factors[factor].kind != FactorKind::kKept) continue;
      Strategy moved = strategy;
      moved.factor_axes[factor].Append(axes);
      if (IsValid(rule, moved, mesh)) AddUnique(all, moved);
    }
  }
}

}  // namespace

bool IsContracted(const Rule& rule, int32_t factor) {
  int count = 0;
  for (const TensorFactors& tensor : rule.operands) {
    for (const DimFactors& dim : tensor) {
      count += static_cast<int>(std::count(dim.begin(), dim.end(), factor));
    }
  }
  return rule.factors[factor].kind == FactorKind::kReduced && count > 1;
}

int32_t CandidateTable::InternRule(const Rule& rule,
                                   std::vector<int32_t> element_bits,
                                   const Instruction* instruction) {
  std::string key = Key(rule, element_bits);
  if (MayExchange(rule)) AppendBytes(key, instruction);
  const auto [entry, is_new] = rule_ids_.try_emplace(
      std::move(key), static_cast<int32_t>(rules_.size()));
  if (is_new) {
    rules_.push_back(std::make_unique<Known>(
        Known{rule, std::move(element_bits), instruction}));
  }
  return entry->second;
}

const TensorFactors& CandidateTable::Tensor(const Rule& rule,
                                            int32_t index) const {
  const int32_t operands = static_cast<int32_t>(rule.operands.size());
  return index < operands ? rule.operands[index]
                          : rule.results[index - operands];
}

std::vector<Strategy> CandidateTable::Suggest(const Rule& rule,
                                              const std::vector<Seed>& seeds,
                                              bool may_move) const {
  if (!rule.manual_axes.empty()) return ManualStrategies(rule, mesh_);
  std::vector<Strategy> single;
  for (const Seed& seed : seeds) {
    AddUnique(single, StrategyFor(rule, Tensor(rule, seed.tensor),
                                  pool_[seed.sharding], mesh_));
  }
  std::vector<Strategy> all = single;
  for (const Strategy& first : single) {
    for (const Strategy& second : single) {
      AddUnique(all, Merged(rule, first, second, mesh_));
    }
  }
  AddUnique(all, ReplicatedStrategy(rule));
  for (const Seed& seed : seeds) {
    const TensorFactors& tensor = Tensor(rule, seed.tensor);
    const Strategy strategy =
        StrategyFor(rule, tensor, pool_[seed.sharding], mesh_);
    const AxisList homeless = Homeless(pool_[seed.sharding], strategy);
    if (!may_move || homeless.empty()) continue;
    AddMoved(rule, tensor, strategy, homeless, mesh_, all);
  }
  // Partial values may stay pending where the op is linear in them.
  const size_t resolved = all.size();
  for (const Seed& seed : seeds) {
    const Sharding& sharding = pool_[seed.sharding];
    if (!sharding.IsPending()) continue;
    for (size_t i = 0; i < rule.linear.size(); ++i) {
      for (size_t j = 0; j < resolved; ++j) {
        Strategy strategy = all[j];
        strategy.linear = static_cast<int32_t>(i);
        strategy.reduction = sharding.reduction;
        strategy.pending = sharding.pending;
        if (IsValid(rule, strategy, mesh_)) AddUnique(all, strategy);
      }
    }
  }
  return all;
}

int32_t CandidateTable::DivideFor(int32_t rule,
                                  const std::vector<Seed>& seeds) {
  std::optional<Rule> divided;
  for (const Seed& seed : seeds) {
    std::optional<Rule> more =
        Divided(divided.has_value() ? *divided : rules_[rule]->rule,
                seed.tensor, pool_[seed.sharding]);
    if (more.has_value()) divided = std::move(more);
  }
  if (!divided.has_value()) return rule;
  return InternRule(*divided, rules_[rule]->element_bits,
                    rules_[rule]->instruction);
}

double CandidateTable::Work(const Known& known,
                            const Strategy& strategy) const {
  const Rule& rule = known.rule;
  double bytes = 0;
  const int32_t tensors =
      static_cast<int32_t>(rule.operands.size() + rule.results.size());
  for (int32_t i = 0; i < tensors; ++i) {
    double bits = known.element_bits[i];
    for (const int64_t size :
         LocalDimensions(rule, strategy, Tensor(rule, i), mesh_)) {
      bits *= static_cast<double>(size);
    }
    bytes += bits / 8;
  }
  double flops = 2;
  double part = 1;  // The share of the work per device.
  bool contracts = false;
  for (int32_t i = 0; i < static_cast<int32_t>(rule.factors.size()); ++i) {
    // Tied factors count once.
    if (rule.factors[i].tied >= 0) continue;
    const int64_t local = LocalFactorSize(rule, strategy, i, mesh_);
    flops *= static_cast<double>(local);
    if (local > 0) {
      part *= static_cast<double>(local) /
              static_cast<double>(rule.factors[i].size);
    }
    contracts = contracts || IsContracted(rule, i);
  }
  double price = bytes * prices_.per_local_byte;
  const auto attention = known.instruction == nullptr
                             ? std::nullopt
                             : ReadFusedAttention(*known.instruction);
  if (contracts && !attention.has_value()) {
    price += flops * prices_.per_flop;
  }
  if (Exchanges(rule, strategy)) {
    const Exchange exchange =
        ExchangeOf(*known.instruction, rule, strategy, mesh_, prices_);
    price += exchange.price + exchange.attention_flops * prices_.per_flop;
  } else if (attention.has_value()) {
    price += part * attention->Flops() * prices_.per_flop;
  }
  return price;
}

Candidate CandidateTable::Make(int32_t rule_id, const Strategy& strategy) {
  const Known& known = *rules_[rule_id];
  Candidate candidate{.rule = rule_id, .strategy = strategy};
  for (size_t i = 0; i < known.rule.operands.size(); ++i) {
    candidate.operands.push_back(pool_.Intern(
        OperandSharding(known.rule, strategy, static_cast<int32_t>(i), mesh_)));
  }
  for (size_t i = 0; i < known.rule.results.size(); ++i) {
    Sharding result =
        ResultSharding(known.rule, strategy, static_cast<int32_t>(i), mesh_);
    candidate.pending = candidate.pending || result.IsPending();
    candidate.results.push_back(pool_.Intern(result));
  }
  candidate.work = Work(known, strategy);
  return candidate;
}

const std::vector<Candidate>& CandidateTable::Get(
    int32_t rule, const std::vector<Seed>& seeds, const Freedom& freedom) {
  std::unique_ptr<std::vector<Candidate>>& answer =
      answers_[{rule, freedom, seeds}];
  if (answer == nullptr) {
    auto made = std::make_unique<std::vector<Candidate>>();
    for (const Strategy& strategy :
         Suggest(rules_[rule]->rule, seeds, freedom.may_move)) {
      made->push_back(Make(rule, strategy));
    }
    const int32_t divided = freedom.other_rules ? DivideFor(rule, seeds) : rule;
    if (divided != rule) {
      for (const Strategy& strategy :
           Suggest(rules_[divided]->rule, seeds, freedom.may_move)) {
        AddNew(Make(divided, strategy), *made);
      }
    }
    answer = std::move(made);
  }
  return *answer;
}

}  // namespace meshwright
