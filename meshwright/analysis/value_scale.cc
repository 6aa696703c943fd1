#include "meshwright/analysis/value_scale.h"

#include <algorithm>
#include <vector>

#include "meshwright/analysis/demand.h"

namespace meshwright {
namespace {

int64_t ContractedSize(const Instruction& dot) {
  int64_t size = 1;
  for (const int64_t d : dot.attributes->dot->lhs_contracting) {
    size *= dot.operand_shape(0).dimensions[d];
  }
  return size;
}

// Elements of the kernel for one output feature.
int64_t KernelSize(const Instruction& convolution) {
  const Shape& kernel = convolution.operand_shape(1);
  const int64_t outputs = kernel.dimensions[convolution.attributes->convolution
                                                ->kernel_output_feature];
  return ElementCount(kernel) / std::max<int64_t>(outputs, 1);
}

// Demands sizes, negated: the largest of several is kept.
class ContractionRule : public DemandRule {
 public:
  void Apply(const Instruction& instruction, int64_t demand,
             Ask ask) const override {
    switch (instruction.opcode) {
      case Opcode::kDot:
        if (!instruction.attributes->dot.has_value()) return;
        ask(*instruction.operands[0], -ContractedSize(instruction));
        ask(*instruction.operands[1], -ContractedSize(instruction));
        return;
      case Opcode::kConvolution:
        if (!instruction.attributes->convolution.has_value()) return;
        ask(*instruction.operands[1], -KernelSize(instruction));
        return;
      default:
        if (demand != kNoDemand) AskOfMoved(instruction, demand, ask);
    }
  }
};

class FactorRule : public DemandRule {
 public:
  void Apply(const Instruction& instruction, int64_t demand,
             Ask ask) const override {
    if (demand != kNoDemand) AskOfMoved(instruction, demand, ask);
    if (instruction.opcode != Opcode::kMultiply) return;
    const int64_t count = ElementCount(instruction.shape);
    const auto source_count = [&](int side) {
      return ElementCount(Source(*instruction.operands[side]).shape);
    };
    for (const int side : {0, 1}) {
      const int64_t own = source_count(side);
      if (own > 1 && own < count && source_count(1 - side) == count) {
        ask(*instruction.operands[side], 0);
      }
    }
  }
};

}  // namespace

std::map<int64_t, int64_t> ContractedSizes(const Module& module) {
  std::map<int64_t, int64_t> sizes;
  int64_t number = 0;
  for (const int64_t demand : ParameterDemands(module, ContractionRule())) {
    if (demand != kNoDemand) sizes[number] = -demand;
    ++number;
  }
  return sizes;
}

std::set<int64_t> RepeatedFactors(const Module& module) {
  std::set<int64_t> factors;
  int64_t number = 0;
  for (const int64_t demand : ParameterDemands(module, FactorRule())) {
    if (demand != kNoDemand) factors.insert(number);
    ++number;
  }
  return factors;
}

}  // namespace meshwright
