#include "meshwright/microbatch/group_counts.h"

#include <numeric>
#include <optional>
#include <vector>

#include "meshwright/hlo/affine_index.h"
#include "meshwright/hlo/literal.h"
#include "meshwright/microbatch/index_values.h"
#include "meshwright/rules/families.h"

namespace meshwright {
namespace {

// Without what changes type or shape, but neither elements nor their order.
const Instruction& Stripped(const Instruction& value) {
  const Instruction* at = &value;
  while (at->opcode == Opcode::kReshape || at->opcode == Opcode::kConvert ||
         at->opcode == Opcode::kCopy ||
         (at->opcode == Opcode::kOptBarrier && at->shape.IsArray())) {
    at = at->operands[0];
  }
  return *at;
}

bool IsConstant(const Instruction& value, int64_t number) {
  const Instruction* at = &Stripped(value);
  while (at->opcode == Opcode::kBroadcast) at = &Stripped(*at->operands[0]);
  if (at->opcode != Opcode::kConstant || ElementCount(at->shape) != 1 ||
      at->attributes->literal == nullptr) {
    return false;
  }
  const Literal& literal = *at->attributes->literal;
  return IsInteger(at->shape.element_type)
             ? literal.ElementAsInteger(0) == number
             : number == 0 &&
                   literal.data.find_first_not_of('\0') == std::string::npos;
}

bool IsSum(const Instruction& instruction) {
  return ReductionOf(*instruction.called[0]) == Reduction::kSum;
}

// Whether a reduction of so many arrays gives, as its result `index`, one of
// the two elements of that array. `value` is what its combiner computes.
bool ChoosesOne(const Instruction& value, int64_t index, int64_t arrays) {
  if (value.opcode == Opcode::kParameter) {
    return value.attributes->parameter_number % arrays == index;
  }
  return value.opcode == Opcode::kSelect &&
         ChoosesOne(*value.operands[1], index, arrays) &&
         ChoosesOne(*value.operands[2], index, arrays);
}

// Whether all elements are at least 0 and below `bound`.
bool IsBelow(const Instruction& value, int64_t bound) {
  const Instruction& at = Stripped(value);
  if (at.opcode == Opcode::kIota) {
    return at.shape.dimensions[at.attributes->dimensions[0]] <= bound;
  }
  if (at.opcode == Opcode::kSlice || at.opcode == Opcode::kTranspose ||
      at.opcode == Opcode::kBroadcast) {
    return IsBelow(*at.operands[0], bound);
  }
  if (at.opcode != Opcode::kGetTupleElement) return false;
  const Instruction& tuple = *at.operands[0];
  const int64_t index = at.attributes->tuple_index;
  if (tuple.opcode == Opcode::kTopk) {
    return index == 1 && tuple.operand_shape(0).dimensions.back() <= bound;
  }
  if (tuple.opcode == Opcode::kSort) {
    return IsBelow(*tuple.operands[index], bound);
  }
  // The position of the largest.
  if (tuple.opcode == Opcode::kReduce) {
    const int64_t arrays = std::ssize(tuple.operands) / 2;
    const Instruction& combined = *tuple.called[0]->root();
    return combined.opcode == Opcode::kTuple &&
           ChoosesOne(*combined.operands[index], index, arrays) &&
           IsBelow(*tuple.operands[index], bound) &&
           IsConstant(*tuple.operands[arrays + index], 0);
  }
  return false;
}

// zeros[groups].at[keys].add(1)
bool AddsOnes(const Instruction& scatter, const Instruction& keys,
              int64_t groups) {
  if (scatter.opcode != Opcode::kScatter || scatter.operands.size() != 3 ||
      scatter.shape.rank() != 1 || !IsSum(scatter) ||
      !IsConstant(*scatter.operands[0], 0) ||
      !IsConstant(*scatter.operands[2], 1) ||
      ElementCount(scatter.operand_shape(1)) != ElementCount(keys.shape) ||
      ElementCount(scatter.operand_shape(2)) != ElementCount(keys.shape)) {
    return false;
  }
  std::vector<int64_t> each(groups);
  std::iota(each.begin(), each.end(), 0);
  return ValuesOf(*scatter.operands[1], keys, each) == each;
}

// Whether each element is its position along the last dimension.
bool IsLastPosition(const Instruction& value) {
  const std::optional<AffineIndex> index = AffineIndexOf(value);
  return index.has_value() &&
         IotaDimension(*index) == std::optional(value.shape.rank() - 1);
}

// Whether `value` repeats the keys along the last dimension.
bool RepeatsKeys(const Instruction& value, const Instruction& keys) {
  const Instruction* at = &Stripped(value);
  while (at->opcode == Opcode::kBroadcast) {
    const int64_t last = at->shape.rank() - 1;
    const std::vector<int64_t>& dimensions = at->attributes->dimensions;
    for (size_t i = 0; i < dimensions.size(); ++i) {
      const int64_t size = at->operand_shape(0).dimensions[i];
      if (dimensions[i] != static_cast<int64_t>(i) ||
          (dimensions[i] == last && size != 1)) {
        return false;
      }
    }
    at = &Stripped(*at->operands[0]);
  }
  return IsSameValue(*at, keys);
}

// sum(keys[..., None] == iota(groups), axes of the keys)
bool SumsOneHot(const Instruction& reduce, const Instruction& keys) {
  if (reduce.opcode != Opcode::kReduce || reduce.operands.size() != 2 ||
      !IsSum(reduce) || !IsConstant(*reduce.operands[1], 0)) {
    return false;
  }
  const int64_t rank = reduce.operand_shape(0).rank();
  if (reduce.shape.rank() != 1 ||
      ElementCount(reduce.operand_shape(0)) !=
          ElementCount(keys.shape) * reduce.shape.dimensions[0] ||
      reduce.shape.dimensions[0] != reduce.operand_shape(0).dimensions.back() ||
      std::ranges::find(reduce.attributes->dimensions, rank - 1) !=
          reduce.attributes->dimensions.end()) {
    return false;
  }
  const Instruction& equal = Stripped(*reduce.operands[0]);
  if (equal.opcode != Opcode::kCompare || equal.shape.rank() != rank ||
      equal.attributes->comparison_direction != "EQ") {
    return false;
  }
  const Instruction& a = *equal.operands[0];
  const Instruction& b = *equal.operands[1];
  return (RepeatsKeys(a, keys) && IsLastPosition(b)) ||
         (RepeatsKeys(b, keys) && IsLastPosition(a));
}

}  // namespace

bool CountsKeys(const Instruction& sizes, const Instruction& keys) {
  if (sizes.shape.rank() != 1) return false;
  const int64_t groups = sizes.shape.dimensions[0];
  const Instruction& counted = Stripped(keys);
  const Instruction& counts = Stripped(sizes);
  return IsBelow(counted, groups) &&
         (AddsOnes(counts, counted, groups) || SumsOneHot(counts, counted));
}

}  // namespace meshwright
