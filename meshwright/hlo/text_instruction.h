// The instructions of a computation in HLO text, one after the other.
//
//   ROOT %sum.2 = f32[4]{0} add(f32[4]{0} %a, %b), metadata={op_name="add"}
#ifndef MESHWRIGHT_HLO_TEXT_INSTRUCTION_H_
#define MESHWRIGHT_HLO_TEXT_INSTRUCTION_H_

#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/string_view.h"
#include "meshwright/hlo/module.h"
#include "meshwright/hlo/text_attributes.h"
#include "meshwright/hlo/text_lexer.h"

namespace meshwright::internal {

class InstructionReader {
 public:
  // Adds to `computation`, and to `module` what asynchronous instructions wrap.
  InstructionReader(TextLexer& lexer, const ComputationsByName& computations,
                    Module& module, Computation& computation)
      : lexer_(lexer),
        computations_(computations),
        module_(module),
        computation_(computation) {}

  void Read();
  // After the last one: the root, and predecessors that came later.
  void Finish();

 private:
  struct Operation {
    Opcode opcode = Opcode::kUnknown;
    Opcode wrapped = Opcode::kUnknown;  // Of "dot-start": dot.
  };
  Operation ReadOperation();
  std::vector<Instruction*> ReadOperands();
  Instruction* ReadOperand();
  Instruction* Find(absl::string_view name, size_t position);
  // What stands in parentheses: operands, a number or a literal.
  Instruction* ReadInstruction(std::string name, Shape shape, Opcode opcode);
  // The instruction that a computation of its own wraps for "dot-start".
  Instruction* Wrap(Opcode opcode, Instruction& start, size_t position);

  TextLexer& lexer_;
  const ComputationsByName& computations_;
  Module& module_;
  Computation& computation_;
  absl::flat_hash_map<absl::string_view, Instruction*> instructions_;
  Instruction* root_ = nullptr;
  using NamesAndPlaces = std::vector<std::pair<absl::string_view, size_t>>;
  std::vector<std::pair<Instruction*, NamesAndPlaces>> control_predecessors_;
};

}  // namespace meshwright::internal

#endif  // MESHWRIGHT_HLO_TEXT_INSTRUCTION_H_
