#include <utility>
#include <vector>

#include "meshwright/expand/expansions.h"
#include "meshwright/hlo/opcode_traits.h"

namespace meshwright {

std::vector<bool> ElementsOfResults(const Computation& computation) {
  std::vector<bool> reaches(computation.size(), false);
  reaches[computation.root()->id] = true;
  for (int32_t id = computation.size() - 1; id >= 0; --id) {
    const Instruction& user = *computation.instruction(id);
    if (!reaches[id] ||
        !(IsElementwise(user.opcode) || user.opcode == Opcode::kTuple)) {
      continue;
    }
    for (const Instruction* operand : user.operands) {
      reaches[operand->id] = true;
    }
  }
  return reaches;
}

bool GathersInside(const Instruction& instruction) {
  return instruction.opcode == Opcode::kAllGather &&
         instruction.operands.size() == 1 && instruction.shape.IsArray() &&
         instruction.attributes->dimensions.size() == 1 &&
         instruction.attributes->dimensions[0] > 0;
}

absl::StatusOr<Instruction*> ExpandGatherInside(const Instruction& instruction,
                                                LocalBuilder& builder) {
  Instruction* part = instruction.operands[0];
  const std::vector<int64_t>& sizes = part->shape.dimensions;
  const int64_t dimension = instruction.attributes->dimensions[0];
  const int64_t count =
      instruction.shape.dimensions[dimension] / sizes[dimension];
  std::vector<int64_t> first = {1};
  first.insert(first.end(), sizes.begin(), sizes.end());
  std::vector<int64_t> gathered = first;
  gathered[0] = count;
  Attributes attributes = *instruction.attributes;
  attributes.dimensions = {0};
  Instruction* parts = builder.Add(
      Opcode::kAllGather,
      Shape::Array(instruction.shape.element_type, std::move(gathered)),
      {builder.Reshape(part, std::move(first))}, std::move(attributes));
  // The dimension of the parts comes before the dimension that was split.
  std::vector<int64_t> permutation;
  for (int64_t i = 0; i < std::ssize(sizes); ++i) {
    if (i == dimension) permutation.push_back(0);
    permutation.push_back(i + 1);
  }
  return builder.Reshape(builder.Transpose(parts, std::move(permutation)),
                         instruction.shape.dimensions);
}

}  // namespace meshwright
