#include "meshwright/cost/fusible.h"

#include <algorithm>

#include "meshwright/analysis/flops.h"
#include "meshwright/hlo/opcode_traits.h"

namespace meshwright {
namespace {

// Longer rows are reduced in several steps.
constexpr int64_t kMaxRow = 16384;
constexpr int64_t kMaxColumn = 4096;

bool MovesOnlyOnes(const Instruction& transpose) {
  int64_t last = -1;
  for (const int64_t dimension : transpose.attributes->dimensions) {
    if (transpose.operand_shape(0).dimensions[dimension] == 1) continue;
    if (dimension < last) return false;
    last = dimension;
  }
  return true;
}

}  // namespace

bool IsFree(const Instruction& instruction) {
  switch (instruction.opcode) {
    case Opcode::kReshape:
      return true;
    case Opcode::kTranspose:
      return MovesOnlyOnes(instruction);
    case Opcode::kBroadcast:
      return !instruction.operands.empty() &&
             ElementCount(instruction.shape) ==
                 ElementCount(instruction.operand_shape(0)) &&
             instruction.operands[0]->opcode != Opcode::kConstant;
    default:
      return IsNoOp(instruction.opcode);
  }
}

bool IsFusible(const Instruction& instruction) {
  if (IsFree(instruction) || !instruction.shape.IsArray()) return false;
  const Opcode opcode = instruction.opcode;
  if (opcode == Opcode::kDot) {
    // Compilers turn a dot without contracting dimensions into a
    // multiplication.
    return instruction.attributes->dot.has_value() &&
           instruction.attributes->dot->lhs_contracting.empty();
  }
  return IsElementwise(opcode) || IsMovement(opcode) || KeepsBytes(opcode) ||
         IsDeviceId(opcode);
}

bool IsGiven(const Instruction& instruction) {
  switch (instruction.opcode) {
    case Opcode::kParameter:
    case Opcode::kConstant:
    case Opcode::kGetTupleElement:
    case Opcode::kOptBarrier:
      return true;
    default:
      return false;
  }
}

bool IsExpensive(const Instruction& instruction) {
  switch (instruction.opcode) {
    case Opcode::kDivide:
    case Opcode::kRemainder:
      return !IsConstantLike(*instruction.operands[1]);
    default:
      return IsTranscendental(instruction.opcode) &&
             instruction.shape.IsArray();
  }
}

bool IsConstantLike(const Instruction& instruction) {
  const Instruction* at = &instruction;
  while ((at->opcode == Opcode::kBroadcast || at->opcode == Opcode::kReshape ||
          at->opcode == Opcode::kConvert) &&
         !at->operands.empty()) {
    at = at->operands[0];
  }
  return at->opcode == Opcode::kConstant;
}

int64_t TrueRank(const Shape& shape) {
  return std::count_if(shape.dimensions.begin(), shape.dimensions.end(),
                       [](int64_t size) { return size > 1; });
}

bool IsRowReduction(const Instruction& instruction) {
  if (instruction.opcode != Opcode::kReduce || !instruction.shape.IsArray()) {
    return false;
  }
  const Shape& operand = instruction.operand_shape(0);
  const auto& reduced = instruction.attributes->dimensions;
  int64_t length = 1;
  for (const int64_t dimension : reduced) {
    length *= operand.dimensions[dimension];
  }
  // The reduced elements must be the innermost ones.
  int64_t inner = 1;
  for (size_t i = operand.dimensions.size(); i-- > 0 && inner < length;) {
    const int64_t size = operand.dimensions[i];
    if (size > 1 &&
        std::find(reduced.begin(), reduced.end(), i) == reduced.end()) {
      return false;
    }
    inner *= size;
  }
  return length <= kMaxRow;
}

bool IsUnaligned(ElementType type, absl::Span<const int64_t> sizes) {
  constexpr int64_t kRowBits = 128;
  return !sizes.empty() && sizes.back() * BitWidth(type) % kRowBits != 0;
}

int64_t ColumnLength(const Instruction& instruction) {
  if (instruction.opcode != Opcode::kReduce || !instruction.shape.IsArray() ||
      IsRowReduction(instruction)) {
    return 0;
  }
  const Shape& operand = instruction.operand_shape(0);
  const auto& reduced = instruction.attributes->dimensions;
  int64_t length = 1;
  for (const int64_t dimension : reduced) {
    length *= operand.dimensions[dimension];
  }
  // The innermost elements must be kept.
  for (size_t i = operand.dimensions.size(); i-- > 0;) {
    if (operand.dimensions[i] == 1) continue;
    if (std::find(reduced.begin(), reduced.end(), i) != reduced.end()) return 0;
    break;
  }
  return length <= kMaxColumn ? length : 0;
}

double TouchedBytes(const Instruction& user, const Instruction& operand) {
  switch (user.opcode) {
    case Opcode::kSlice:
    case Opcode::kDynamicSlice:
      return static_cast<double>(ByteSize(user.shape));
    case Opcode::kGather:
      if (user.operands[0] != &operand) break;
      return static_cast<double>(ByteSize(user.shape));
    case Opcode::kDynamicUpdateSlice:
      if (user.operands[0] == &operand) return 0;
      break;
    default:
      break;
  }
  return static_cast<double>(ByteSize(operand.shape));
}

}  // namespace meshwright
