// A computation without calls and tuples as a FlatGraph, its rules, and a small
// builder of dots.
#ifndef MESHWRIGHT_ANALYSIS_FLAT_GRAPH_FOR_TEST_H_
#define MESHWRIGHT_ANALYSIS_FLAT_GRAPH_FOR_TEST_H_

#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

#include "meshwright/analysis/flops.h"
#include "meshwright/graph/flat_graph.h"
#include "meshwright/hlo/module.h"
#include "meshwright/hlo/shapes_for_test.h"
#include "meshwright/rules/rule.h"

namespace meshwright {

class TestGraph {
 public:
  TestGraph() { computation_ = module_.AddComputation("main"); }

  Instruction* Parameter(std::vector<int64_t> dimensions) {
    return computation_->AddParameter(F32(std::move(dimensions)), "p");
  }
  Instruction* Add(Opcode opcode, std::vector<int64_t> dimensions,
                   std::vector<Instruction*> operands) {
    return computation_->Add(opcode, F32(std::move(dimensions)),
                             std::move(operands), "i");
  }
  Instruction* Permute(Opcode opcode, std::vector<int64_t> dimensions,
                       Instruction* operand, std::vector<int64_t> attribute) {
    Instruction* result = Add(opcode, std::move(dimensions), {operand});
    result->attributes.mutate().dimensions = std::move(attribute);
    return result;
  }
  // Contracts these dimensions; no batch.
  Instruction* Dot(Instruction* lhs, Instruction* rhs,
                   std::vector<int64_t> lhs_contracting,
                   std::vector<int64_t> rhs_contracting) {
    std::vector<int64_t> dimensions;
    const auto append = [&](const Instruction& operand,
                            const std::vector<int64_t>& contracting) {
      for (int64_t i = 0; i < operand.shape.rank(); ++i) {
        if (std::find(contracting.begin(), contracting.end(), i) ==
            contracting.end()) {
          dimensions.push_back(operand.shape.dimensions[i]);
        }
      }
    };
    append(*lhs, lhs_contracting);
    append(*rhs, rhs_contracting);
    Instruction* dot = Add(Opcode::kDot, dimensions, {lhs, rhs});
    DotDimensionNumbers& numbers = dot->attributes.mutate().dot.emplace();
    numbers.lhs_contracting = std::move(lhs_contracting);
    numbers.rhs_contracting = std::move(rhs_contracting);
    return dot;
  }

  ModuleWork Work() {
    module_.set_entry(computation_);
    return ModuleWork(module_);
  }

  // Ops and values have the numbers of the instructions. All are live; unlike
  // in the result of Flatten, there are no output ops.
  FlatGraph Graph() const {
    FlatGraph graph;
    for (const auto& instruction : computation_->instructions()) {
      const OpId id{instruction->id};
      FlatOp op{.kind = KindOf(*instruction),
                .instruction = instruction.get(),
                .first_result = ValueId{instruction->id},
                .result_count = 1,
                .live = true};
      for (const Instruction* operand : instruction->operands) {
        op.operands.push_back(ValueId{operand->id});
      }
      if (op.kind == OpKind::kParameter) graph.parameters.push_back(id);
      graph.ops.push_back(std::move(op));
      graph.values.push_back({.producer = id, .shape = &instruction->shape});
    }
    return graph;
  }

  std::vector<Rule> Rules() const {
    std::vector<Rule> rules;
    for (const auto& instruction : computation_->instructions()) {
      rules.push_back(KindOf(*instruction) == OpKind::kParameter
                          ? PointwiseRule(instruction->shape.dimensions, 0)
                          : RuleFor(*instruction));
    }
    return rules;
  }

 private:
  static OpKind KindOf(const Instruction& instruction) {
    return instruction.opcode == Opcode::kParameter ? OpKind::kParameter
                                                    : OpKind::kCompute;
  }
  Module module_{"m"};
  Computation* computation_ = nullptr;
};

}  // namespace meshwright

#endif  // MESHWRIGHT_ANALYSIS_FLAT_GRAPH_FOR_TEST_H_
