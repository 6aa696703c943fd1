// One operation of a computation: an opcode applied to earlier instructions.
//
// Instructions are owned by a Computation, in topological order, operands
// first. `id` is the position of creation in that computation, dense from 0:
// use it to index side tables of size Computation::size().
#ifndef MESHWRIGHT_HLO_INSTRUCTION_H_
#define MESHWRIGHT_HLO_INSTRUCTION_H_

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "meshwright/base/boxed.h"
#include "meshwright/hlo/attributes.h"
#include "meshwright/hlo/op_sharding.h"
#include "meshwright/hlo/opcode.h"
#include "meshwright/hlo/shape.h"

namespace meshwright {

class Computation;

extern template class Boxed<Attributes>;
extern template class Boxed<OpSharding>;

using FrontendAttributes = std::map<std::string, std::string>;

// The origin of an instruction in the user's program.
struct Metadata {
  std::string op_type;
  std::string op_name;  // "jit(step)/jvp/layer0/dot_general"
  std::string source_file;
  int32_t source_line = 0;
  std::string unknown_fields;

  bool operator==(const Metadata&) const = default;
};

struct Instruction {
  int32_t id = 0;
  Opcode opcode = Opcode::kUnknown;
  std::string name;  // Unique in the module.
  Shape shape;
  std::vector<Instruction*> operands;
  std::vector<Computation*> called;
  std::vector<Instruction*> control_predecessors;
  Boxed<Attributes> attributes;
  Metadata metadata;
  Boxed<OpSharding> sharding;
  FrontendAttributes frontend_attributes;
  std::string unknown_fields;

  const Shape& operand_shape(size_t index) const {
    return operands[index]->shape;
  }
  // The opcode's HLO name, also of unknown opcodes.
  absl::string_view opcode_name() const {
    return opcode == Opcode::kUnknown ? attributes->opcode_name : Name(opcode);
  }
};

}  // namespace meshwright

#endif  // MESHWRIGHT_HLO_INSTRUCTION_H_
