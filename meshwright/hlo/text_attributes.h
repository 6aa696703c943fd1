// What follows the operands of an instruction in HLO text:
//
//   , dimensions={0}, to_apply=add.3, metadata={op_name="jit(f)/sum"}
#ifndef MESHWRIGHT_HLO_TEXT_ATTRIBUTES_H_
#define MESHWRIGHT_HLO_TEXT_ATTRIBUTES_H_

#include <string>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/string_view.h"
#include "meshwright/hlo/instruction.h"
#include "meshwright/hlo/text_lexer.h"

namespace meshwright::internal {

// Those defined so far in the text, by name.
using ComputationsByName = absl::flat_hash_map<absl::string_view, Computation*>;

// The state of reading the attributes of one instruction.
struct AttributeText {
  TextLexer& lexer;
  const ComputationsByName& computations;
  // Has its opcode, shape and operands.
  Instruction& instruction;
  // For asynchronous forms like custom-call-start, the wrapped instruction, to
  // which the opcode's attributes belong; otherwise null.
  Instruction* wrapped = nullptr;

  // Names of instructions that may be defined later, and their positions.
  std::vector<std::pair<absl::string_view, size_t>> control_predecessors = {};
  // Of ragged-dot.
  std::vector<int64_t> lhs_ragged_dims = {};
  std::vector<int64_t> rhs_group_dims = {};

  Instruction& Wrapped() { return wrapped ? *wrapped : instruction; }
  Attributes& Own() { return Wrapped().attributes.mutate(); }
};

// Reads all attributes and sets the defaults of absent ones. Fails on
// attributes that the opcode does not have, duplicates, and missing required
// ones.
void ReadAttributesText(AttributeText& text);

}  // namespace meshwright::internal

#endif  // MESHWRIGHT_HLO_TEXT_ATTRIBUTES_H_
