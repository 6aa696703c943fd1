// The only place that knows opcodes: the factors and the lowering of each.
#ifndef MESHWRIGHT_RULES_RULE_TABLE_H_
#define MESHWRIGHT_RULES_RULE_TABLE_H_

#include <cstdint>
#include <optional>

#include "meshwright/hlo/opcode.h"
#include "meshwright/rules/lowering.h"
#include "meshwright/rules/rule.h"

namespace meshwright {

// Instructions that pass values around rather than compute; the partitioner
// works on the leaf arrays that flow through them.
enum class Structure : uint8_t {
  kNone,
  kParameter,
  kTuple,
  kGetTupleElement,
  kWhile,
  kConditional,
  kCall,
};

// nullopt: this opcode with these attributes cannot be sharded; use the
// fallback.
using FactorsOf = std::optional<Rule> (*)(const Instruction& instruction);

struct OpcodeEntry {
  FactorsOf factors = nullptr;  // Null: always the fallback.
  Lowering lower = nullptr;
  Structure structure = Structure::kNone;
  // Two equal instructions must not be merged (CSE): they draw from hidden
  // state, or are there to prevent merging (barriers of rematerialised code).
  bool stays_apart = false;
  FactorsOf other_factors = nullptr;  // OtherRuleFor.
};

const OpcodeEntry& EntryFor(Opcode opcode);
inline Structure StructureOf(const Instruction& instruction) {
  return EntryFor(instruction.opcode).structure;
}

}  // namespace meshwright

#endif  // MESHWRIGHT_RULES_RULE_TABLE_H_
