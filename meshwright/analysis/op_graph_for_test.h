// A computation without calls and tuples as an OpGraph, and a small builder of
// dots.
#ifndef MESHWRIGHT_ANALYSIS_OP_GRAPH_FOR_TEST_H_
#define MESHWRIGHT_ANALYSIS_OP_GRAPH_FOR_TEST_H_

#include <algorithm>
#include <deque>
#include <string>
#include <utility>
#include <vector>

#include "meshwright/analysis/flops.h"
#include "meshwright/analysis/op_graph.h"
#include "meshwright/hlo/module.h"

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

  // Ops and values are numbered as the instructions.
  const OpGraph& Graph() {
    graph_ = OpGraph();
    for (const auto& instruction : computation_->instructions()) {
      std::vector<int32_t>& operands = operands_.emplace_back();
      for (const Instruction* operand : instruction->operands) {
        operands.push_back(operand->id);
      }
      const bool is_parameter = instruction->opcode == Opcode::kParameter;
      rules_.push_back(is_parameter
                           ? AlikeRule(instruction->shape.dimensions, 0)
                           : RuleFor(*instruction));
      graph_.ops.push_back({.kind = is_parameter ? OpGraph::Kind::kParameter
                                                 : OpGraph::Kind::kCompute,
                            .instruction = instruction.get(),
                            .rule = &rules_.back(),
                            .operands = operands,
                            .first_result = instruction->id,
                            .result_count = 1,
                            .element_type = instruction->shape.element_type});
      graph_.producers.push_back(instruction->id);
    }
    return graph_;
  }

 private:
  static Shape F32(std::vector<int64_t> dimensions) {
    return Shape::Array(ElementType::kF32, std::move(dimensions));
  }

  Module module_{"m"};
  Computation* computation_ = nullptr;
  std::deque<std::vector<int32_t>> operands_;
  std::deque<Rule> rules_;
  OpGraph graph_;
};

}  // namespace meshwright

#endif  // MESHWRIGHT_ANALYSIS_OP_GRAPH_FOR_TEST_H_
