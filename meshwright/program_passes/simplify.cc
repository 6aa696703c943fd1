#include "meshwright/program_passes/simplify.h"

#include <numeric>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/container/flat_hash_map.h"
#include "absl/strings/str_cat.h"
#include "meshwright/hlo/instruction_key.h"
#include "meshwright/hlo/opcode_traits.h"
#include "meshwright/program/local_builder.h"
#include "meshwright/rules/families.h"
#include "meshwright/rules/rule_table.h"

namespace meshwright {
namespace {

bool IsInOrder(const std::vector<int64_t>& dimensions) {
  for (size_t i = 0; i < dimensions.size(); ++i) {
    if (dimensions[i] != static_cast<int64_t>(i)) return false;
  }
  return true;
}

// Whether the result equals the first operand, element by element.
bool HandsOn(const Instruction& instruction) {
  switch (instruction.opcode) {
    case Opcode::kReshape:
    case Opcode::kConvert:
    case Opcode::kCopy:
    case Opcode::kSlice:  // Of everything, if the shapes are equal.
      break;
    case Opcode::kTranspose:
    case Opcode::kBroadcast:
      if (!IsInOrder(instruction.attributes->dimensions)) return false;
      break;
    default:
      return false;
  }
  return instruction.operand_shape(0).IsArray() &&
         Compatible(instruction.operand_shape(0), instruction.shape);
}

// Whether the result contains elements of the first operand, of this or another
// device, and nothing else.
bool OnlyMoves(const Instruction& instruction, int64_t devices) {
  // Devices to which nothing is sent get zeros.
  if (instruction.opcode == Opcode::kCollectivePermute &&
      std::ssize(instruction.attributes->source_target_pairs) != devices) {
    return false;
  }
  return SelectsElements(instruction.opcode) &&
         !IsArithmetic(instruction.opcode) && instruction.shape.IsArray() &&
         instruction.shape.element_type ==
             instruction.operand_shape(0).element_type;
}

// A slice within one operand of a concatenate becomes a slice of that operand,
// and so depends on nothing else.
void SliceOnePart(Instruction& slice) {
  while (slice.operands[0]->opcode == Opcode::kConcatenate) {
    const Instruction& joined = *slice.operands[0];
    const int64_t dimension = joined.attributes->dimensions[0];
    const SliceDimension& cut = slice.attributes->slice[dimension];
    int64_t offset = 0;
    Instruction* part = nullptr;
    for (Instruction* operand : joined.operands) {
      const int64_t size = operand->shape.dimensions[dimension];
      if (cut.start >= offset && cut.limit <= offset + size) part = operand;
      if (part != nullptr) break;
      offset += size;
    }
    if (part == nullptr) return;
    SliceDimension& changed = slice.attributes.mutate().slice[dimension];
    changed.start -= offset;
    changed.limit -= offset;
    slice.operands[0] = part;
  }
}

// Computes each element from one.
bool IsUnary(const Instruction& instruction) {
  return IsElementwise(instruction.opcode) &&
         instruction.operands.size() == 1 && instruction.called.empty();
}

// The reduction of one array that starts from its identity.
std::optional<Reduction> PlainReduction(const Instruction& instruction) {
  if (instruction.opcode != Opcode::kReduce ||
      instruction.operands.size() != 2) {
    return std::nullopt;
  }
  const std::optional<Reduction> reduction =
      ReductionOf(*instruction.called[0]);
  const bool is_plain =
      reduction.has_value() &&
      LocalBuilder::IsIdentity(*instruction.operands[1], *reduction);
  return is_plain ? reduction : std::nullopt;
}

// Makes `outer`, a reduction of the result of `inner`, a reduction of the
// operand of `inner`.
void ReduceAtOnce(Instruction& outer, const Instruction& inner) {
  const std::vector<int64_t>& before = inner.attributes->dimensions;
  const std::vector<int64_t>& after = outer.attributes->dimensions;
  std::vector<int64_t> dimensions;
  int64_t result = 0;  // The dimension of the inner result.
  for (int64_t dim = 0; dim < inner.operand_shape(0).rank(); ++dim) {
    const bool is_gone = absl::c_linear_search(before, dim);
    if (is_gone || absl::c_linear_search(after, result)) {
      dimensions.push_back(dim);
    }
    if (!is_gone) ++result;
  }
  outer.operands[0] = inner.operands[0];
  outer.attributes.mutate().dimensions = std::move(dimensions);
}

// The scalar constant that all elements of the value are equal to on every
// device; null if there is none.
Instruction* SplatOf(Instruction* value) {
  if (value->opcode == Opcode::kBroadcast) value = value->operands[0];
  return value->opcode == Opcode::kConstant && value->shape.IsArray() &&
                 value->shape.rank() == 0
             ? value
             : nullptr;
}

class Simplifier {
 public:
  Simplifier(Computation& computation, InstructionKeys& keys,
             const LocalProgram& program)
      : computation_(computation),
        keys_(keys),
        notes_(program.collectives),
        devices_(program.mesh.device_count()) {}

  void Run() {
    CountUses();
    std::vector<Instruction*> stands_for(computation_.size());
    for (const auto& instruction : computation_.instructions()) {
      for (Instruction*& operand : instruction->operands) {
        operand = stands_for[operand->id];
      }
      Fold(*instruction);
      stands_for[instruction->id] = StandIn(instruction.get());
    }
    computation_.set_root(stands_for[computation_.root()->id]);
    computation_.Keep(Needed());
  }

 private:
  void CountUses() {
    uses_.assign(computation_.size(), 0);
    ++uses_[computation_.root()->id];
    for (const auto& instruction : computation_.instructions()) {
      for (const Instruction* operand : instruction->operands) {
        ++uses_[operand->id];
      }
    }
  }

  // XLA does this and the next fold as well: otherwise it would find values
  // equal, and so collectives on them, that we consider different.
  void FoldReshape(Instruction& reshape) const {
    const Instruction& inner = *reshape.operands[0];
    if (inner.opcode == Opcode::kReshape) {
      reshape.operands[0] = inner.operands[0];
      return;
    }
    if (!IsUnary(inner) || uses_[inner.id] != 1) return;
    const Instruction& before = *inner.operands[0];
    if (before.opcode != Opcode::kReshape ||
        before.operand_shape(0).dimensions != reshape.shape.dimensions) {
      return;
    }
    reshape.opcode = inner.opcode;
    reshape.attributes = inner.attributes;
    reshape.operands = before.operands;
  }

  void FoldReduction(Instruction& reduce) const {
    const std::optional<Reduction> reduction = PlainReduction(reduce);
    if (!reduction.has_value()) return;
    while (uses_[reduce.operands[0]->id] == 1 &&
           PlainReduction(*reduce.operands[0]) == reduction) {
      ReduceAtOnce(reduce, *reduce.operands[0]);
    }
    const Shape& shape = reduce.operand_shape(0);
    for (const int64_t dim : reduce.attributes->dimensions) {
      if (shape.dimensions[dim] != 1) return;
    }
    reduce.opcode = Opcode::kReshape;
    reduce.operands.pop_back();
    reduce.called.clear();
    reduce.attributes.reset();
  }

  // Rewrites the instruction to an equal one on an earlier value.
  void Fold(Instruction& instruction) const {
    FoldReduction(instruction);
    if (instruction.opcode == Opcode::kReshape) FoldReshape(instruction);
    if (instruction.opcode == Opcode::kSlice) SliceOnePart(instruction);
    if (!OnlyMoves(instruction, devices_)) return;
    Instruction* const splat = SplatOf(instruction.operands[0]);
    if (splat == nullptr || instruction.shape.rank() == 0) return;
    instruction.opcode = Opcode::kBroadcast;
    instruction.operands = {splat};
    instruction.attributes.reset();
  }

  Instruction* StandIn(Instruction* instruction) {
    if (HandsOn(*instruction)) return instruction->operands[0];
    const OpcodeEntry& entry = EntryFor(instruction->opcode);
    if (entry.stays_apart || entry.structure == Structure::kParameter ||
        entry.structure == Structure::kWhile) {
      return instruction;
    }
    std::string key = keys_.Of(*instruction);
    for (const Instruction* operand : instruction->operands) {
      absl::StrAppend(&key, ",", operand->id);
    }
    if (const auto note = notes_.find(instruction);
        note != notes_.end() && note->second.use != 0) {
      absl::StrAppend(&key, "@", note->second.use);
    }
    return known_.try_emplace(std::move(key), instruction).first->second;
  }

  std::vector<Instruction*> Needed() const {
    std::vector<bool> needed(computation_.size(), false);
    needed[computation_.root()->id] = true;
    for (int32_t id = computation_.size(); id-- > 0;) {
      const Instruction& instruction = *computation_.instruction(id);
      if (EntryFor(instruction.opcode).structure == Structure::kParameter) {
        needed[id] = true;
      }
      if (!needed[id]) continue;
      for (const Instruction* operand : instruction.operands) {
        needed[operand->id] = true;
      }
    }
    std::vector<Instruction*> order;
    for (int32_t id = 0; id < computation_.size(); ++id) {
      if (needed[id]) order.push_back(computation_.instruction(id));
    }
    return order;
  }

  Computation& computation_;
  InstructionKeys& keys_;
  const absl::flat_hash_map<const Instruction*, CollectiveNote>& notes_;
  const int64_t devices_;
  std::vector<int32_t> uses_;  // By id, before any change.
  absl::flat_hash_map<std::string, Instruction*> known_;
};

}  // namespace

void Simplify(LocalProgram& program) {
  InstructionKeys keys;
  for (const auto& computation : program.module.computations()) {
    Simplifier(*computation, keys, program).Run();
  }
}

}  // namespace meshwright
