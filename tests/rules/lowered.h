// Test support: what one instruction becomes on each device.
#ifndef MESHWRIGHT_TESTS_RULES_LOWERED_H_
#define MESHWRIGHT_TESTS_RULES_LOWERED_H_

#include <memory>
#include <string>
#include <vector>

#include "meshwright/program/program.h"
#include "meshwright/rules/rule.h"
#include "tests/rules/one_op.h"

namespace meshwright {

struct LoweredOp {
  BuiltOp op;
  Rule rule;
  Strategy strategy;
  std::unique_ptr<LocalProgram> program;
  std::vector<Instruction*> results;
};

// The instruction when the only split is that of operand leaf `operand`'s
// dimension `dimension`, over all of the mesh. No split if `operand` is -1.
// To send a byte takes as long as `sent_byte` FLOPs.
LoweredOp LowerOp(const OneOp& op, int32_t operand, int64_t dimension,
                  const Mesh& mesh, double sent_byte = 0);

// The instruction under any strategy.
LoweredOp LowerOp(const OneOp& op, const Strategy& strategy, const Mesh& mesh,
                  double sent_byte = 0);

// Its collectives, as "collective-permute f32[2,1,8,3]", in order.
std::vector<std::string> CollectivesOf(const LoweredOp& lowered);
std::vector<std::string> CollectivesOf(const OneOp& op, int32_t operand,
                                       int64_t dimension, const Mesh& mesh);
std::vector<std::string> CollectivesOf(const OneOp& op, int32_t operand,
                                       int64_t dimension, int64_t devices);

// The kind of the major factor of an operand's dimension.
FactorKind KindOf(const Rule& rule, int32_t operand, int64_t dimension);

}  // namespace meshwright

#endif  // MESHWRIGHT_TESTS_RULES_LOWERED_H_
