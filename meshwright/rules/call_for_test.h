// Test support: custom calls.
#ifndef MESHWRIGHT_RULES_CALL_FOR_TEST_H_
#define MESHWRIGHT_RULES_CALL_FOR_TEST_H_

#include <cstdint>
#include <deque>
#include <utility>
#include <vector>

#include "meshwright/hlo/instruction.h"

namespace meshwright {

using Dimensions = std::vector<int64_t>;

// A custom call with operands and results of these dimensions.
class CallForTest {
 public:
  CallForTest(const std::vector<Dimensions>& operands,
              const std::vector<Dimensions>& results) {
    call.opcode = Opcode::kCustomCall;
    call.attributes.mutate().custom_call_target = "kernel";
    for (const Dimensions& dimensions : operands) {
      Instruction& operand = operands_.emplace_back();
      operand.shape = Shape::Array(ElementType::kF32, dimensions);
    }
    for (Instruction& operand : operands_) call.operands.push_back(&operand);
    std::vector<Shape> shapes;
    for (const Dimensions& dimensions : results) {
      shapes.push_back(Shape::Array(ElementType::kF32, dimensions));
    }
    call.shape =
        shapes.size() == 1 ? shapes[0] : Shape::Tuple(std::move(shapes));
  }

  Instruction call;

 private:
  std::deque<Instruction> operands_;
};

}  // namespace meshwright

#endif  // MESHWRIGHT_RULES_CALL_FOR_TEST_H_
