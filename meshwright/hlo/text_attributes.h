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

// By name, those that the text has up to here.
using ComputationsByName = absl::flat_hash_map<absl::string_view, Computation*>;

// The attributes of one instruction as they are read.
struct AttributeText {
  TextLexer& lexer;
  const ComputationsByName& computations;
  // Has opcode, shape and operands.
  Instruction& instruction;
  // What an asynchronous instruction wraps, for forms as in custom-call-start;
  // else null. The attributes of the opcode are of this one.
  Instruction* wrapped = nullptr;

  // Names of instructions that may come later, and where each stands.
  std::vector<std::pair<absl::string_view, size_t>> control_predecessors = {};
  // Of ragged-dot.
  std::vector<int64_t> lhs_ragged_dims = {};
  std::vector<int64_t> rhs_group_dims = {};

  Instruction& Wrapped() { return wrapped ? *wrapped : instruction; }
  Attributes& Own() { return Wrapped().attributes.mutate(); }
};

// Reads all of them and sets what the text leaves out because it is the usual.
// Fails on attributes that the opcode does not have, that stand there twice, or
// that it lacks.
void ReadAttributesText(AttributeText& text);

}  // namespace meshwright::internal

#endif  // MESHWRIGHT_HLO_TEXT_ATTRIBUTES_H_
