#include "meshwright/analysis/demand.h"

#include <algorithm>
#include <map>
#include <utility>

#include "meshwright/hlo/kernel_calls.h"
#include "meshwright/hlo/opcode_traits.h"

namespace meshwright {
namespace {

constexpr int kMaxCallDepth = 200;
constexpr int kMaxSourceHops = 100;
constexpr int kMaxLoopPasses = 4;

// One number per leaf of a value's shape; empty if there are no demands.
using Demands = std::vector<int64_t>;

// The demands of `count` leaves, starting at leaf `begin`.
Demands PartOf(const Demands& demands, int64_t begin, int64_t count) {
  if (demands.empty()) return {};
  Demands part(demands.begin() + begin, demands.begin() + begin + count);
  const bool any = std::any_of(part.begin(), part.end(),
                               [](int64_t d) { return d != kNoDemand; });
  return any ? part : Demands();
}

class Propagation {
 public:
  Propagation(const Module& module, const DemandRule& rule)
      : rule_(rule), budget_(64 * module.instruction_count() + 1'000'000) {}

  // The demands on each parameter, given the demands on the root.
  const std::vector<Demands>& OfParameters(const Computation& computation,
                                           const Demands& root) {
    const auto [it, inserted] = memo_.try_emplace({&computation, root});
    if (inserted && depth_ < kMaxCallDepth && budget_ > 0) {
      ++depth_;
      std::vector<Demands> parameters = Run(computation, root);
      it->second = std::move(parameters);
      --depth_;
    }
    return it->second;
  }

 private:
  using Table = std::vector<Demands>;  // By instruction id.

  // Adds the demands `part` on the leaves of `value`, starting at leaf `begin`.
  static void Merge(Table& table, const Instruction& value, const Demands& part,
                    int64_t begin = 0) {
    if (part.empty()) return;
    Demands& demands = table[value.id];
    if (demands.empty()) demands.assign(LeafCount(value.shape), kNoDemand);
    for (size_t i = 0; i < part.size() && begin + i < demands.size(); ++i) {
      demands[begin + i] = std::min(demands[begin + i], part[i]);
    }
  }

  std::vector<Demands> Run(const Computation& computation,
                           const Demands& root) {
    budget_ -= computation.size();
    Table table(computation.size());
    Merge(table, *computation.root(), root);
    const auto& instructions = computation.instructions();
    for (auto it = instructions.rbegin(); it != instructions.rend(); ++it) {
      Visit(**it, table);
    }
    std::vector<Demands> result;
    for (const Instruction* parameter : computation.Parameters()) {
      result.push_back(parameter ? std::move(table[parameter->id]) : Demands());
    }
    return result;
  }

  void Visit(const Instruction& instruction, Table& table) {
    const Demands& demands = table[instruction.id];
    switch (instruction.opcode) {
      case Opcode::kParameter:
      case Opcode::kConstant:
        break;
      case Opcode::kTuple:
        VisitTuple(instruction, table);
        break;
      case Opcode::kGetTupleElement:
        if (demands.empty()) break;
        Merge(table, *instruction.operands[0], demands,
              LeavesBefore(instruction.operand_shape(0),
                           instruction.attributes->tuple_index));
        break;
      case Opcode::kCall:
      case Opcode::kFusion:
        if (instruction.called.empty()) break;
        MergeOperands(OfParameters(*instruction.called[0], demands),
                      instruction, 0, table);
        break;
      case Opcode::kCustomCall:
        if (const Computation* body = KernelBody(instruction)) {
          MergeOperands(OfParameters(*body, demands), instruction, 0, table);
        } else {
          VisitArray(instruction, table);
        }
        break;
      case Opcode::kConditional:
        VisitConditional(instruction, table);
        break;
      case Opcode::kWhile:
        VisitWhile(instruction, table);
        break;
      case Opcode::kOptBarrier:
      case Opcode::kDomain:
        VisitInOrder(instruction, table);
        break;
      case Opcode::kSort:
        VisitTuple(instruction, table);
        break;
      default:
        VisitArray(instruction, table);
    }
  }

  // The leaves of the result are those of the operands, in order.
  static void VisitTuple(const Instruction& instruction, Table& table) {
    const Demands& demands = table[instruction.id];
    if (demands.empty()) return;
    int64_t begin = 0;
    for (const Instruction* operand : instruction.operands) {
      const int64_t count = LeafCount(operand->shape);
      if (begin + count > std::ssize(demands)) return;
      Merge(table, *operand, PartOf(demands, begin, count));
      begin += count;
    }
  }

  static void VisitInOrder(const Instruction& instruction, Table& table) {
    if (instruction.operands.size() == 1) {
      Merge(table, *instruction.operands[0], table[instruction.id]);
    } else {
      VisitTuple(instruction, table);
    }
  }

  static void MergeOperands(const std::vector<Demands>& parameters,
                            const Instruction& instruction, size_t first,
                            Table& table) {
    for (size_t i = 0; i < parameters.size(); ++i) {
      if (first + i >= instruction.operands.size()) return;
      Merge(table, *instruction.operands[first + i], parameters[i]);
    }
  }

  void VisitConditional(const Instruction& conditional, Table& table) {
    for (size_t branch = 0; branch < conditional.called.size(); ++branch) {
      const std::vector<Demands>& parameters =
          OfParameters(*conditional.called[branch], table[conditional.id]);
      if (parameters.empty() || branch + 1 >= conditional.operands.size()) {
        continue;
      }
      Merge(table, *conditional.operands[branch + 1], parameters[0]);
    }
  }

  void VisitWhile(const Instruction& loop, Table& table) {
    if (loop.called.size() != 2 || loop.operands.size() != 1) return;
    const Computation& body = *loop.called[0];
    const Computation& condition = *loop.called[1];
    Demands carried = table[loop.id];
    if (carried.empty()) carried.assign(LeafCount(loop.shape), kNoDemand);
    for (const Computation* called : {&condition, &body}) {
      const std::vector<Demands>& asked = OfParameters(*called, {});
      if (asked.empty()) continue;
      for (size_t i = 0; i < std::min(asked[0].size(), carried.size()); ++i) {
        carried[i] = std::min(carried[i], asked[0][i]);
      }
    }
    // The demands of the next iteration, but only on leaves with no other
    // demand: for a counter, i + 1 < 5 in every iteration would never converge.
    for (int pass = 0; pass < kMaxLoopPasses; ++pass) {
      const Demands root = PartOf(carried, 0, std::ssize(carried));
      if (root.empty()) return;
      const std::vector<Demands>& asked = OfParameters(body, root);
      bool changed = false;
      for (size_t i = 0; !asked.empty() && i < asked[0].size(); ++i) {
        if (i >= carried.size() || carried[i] != kNoDemand) continue;
        carried[i] = asked[0][i];
        changed = changed || carried[i] != kNoDemand;
      }
      if (!changed) break;
    }
    Merge(table, *loop.operands[0], carried);
  }

  void VisitArray(const Instruction& instruction, Table& table) {
    const Demands& demands = table[instruction.id];
    const int64_t demand = demands.size() == 1 ? demands[0] : kNoDemand;
    rule_.Apply(instruction, demand,
                [&](const Instruction& operand, int64_t asked) {
                  if (asked == kNoDemand || operand.shape.IsTuple()) return;
                  Merge(table, operand, {asked});
                });
  }

  const DemandRule& rule_;
  int64_t budget_;  // Instructions that may still be visited before giving up.
  int depth_ = 0;
  std::map<std::pair<const Computation*, Demands>, std::vector<Demands>> memo_;
};

bool IsAnnotation(const Instruction& instruction) {
  const std::string& target = instruction.attributes->custom_call_target;
  return instruction.operands.size() == 1 &&
         (target == "Sharding" || target == "SPMDFullToShardShape" ||
          target == "SPMDShardToFullShape");
}

}  // namespace

std::vector<int64_t> ParameterDemands(const Module& module,
                                      const DemandRule& rule) {
  Propagation propagation(module, rule);
  const std::vector<Demands>& demands =
      propagation.OfParameters(*module.entry(), {});
  std::vector<int64_t> result;
  for (const Instruction* parameter : module.entry()->Parameters()) {
    const size_t number = result.size();
    result.push_back(kNoDemand);
    if (parameter == nullptr || number >= demands.size()) continue;
    if (parameter->shape.IsArray() && demands[number].size() == 1) {
      result.back() = demands[number][0];
    }
  }
  return result;
}

bool AskOfMoved(const Instruction& instruction, int64_t demand, Ask ask) {
  const auto ask_all = [&](size_t begin, size_t end) {
    for (size_t i = begin; i < std::min(end, instruction.operands.size());
         ++i) {
      ask(*instruction.operands[i], demand);
    }
  };
  const size_t count = instruction.operands.size();
  switch (instruction.opcode) {
    case Opcode::kDynamicUpdateSlice:
    case Opcode::kPad:
      ask_all(0, 2);
      return true;
    case Opcode::kConcatenate:
      ask_all(0, count);
      return true;
    case Opcode::kSelect:
      ask_all(1, 3);
      return true;
    case Opcode::kClamp:
      ask_all(1, 2);
      return true;
    case Opcode::kScatter:
      ask_all(0, count / 2);
      ask_all(count / 2 + 1, count);
      return true;
    case Opcode::kCustomCall:
      if (!IsAnnotation(instruction)) return false;
      ask_all(0, 1);
      return true;
    default:
      if (!SelectsElements(instruction.opcode)) return false;
      ask_all(0, 1);
      return true;
  }
}

const Instruction& Source(const Instruction& instruction) {
  const Instruction* source = &instruction;
  for (int hop = 0; hop < kMaxSourceHops; ++hop) {
    if (!KeepsElements(source->opcode) &&
        source->opcode != Opcode::kBroadcast) {
      return *source;
    }
    source = source->operands[0];
  }
  return *source;
}

}  // namespace meshwright
