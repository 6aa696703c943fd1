// An op restricted to a range of one dimension, and the corresponding ranges of
// its operands.
//
//   add f32[12,64], f32[12,64]          on rows [4, 8): of both operands' rows
//   reshape f32[12,64] -> f32[768]      on [256, 512): of rows [4, 8)
//   dot, gather, ...                    not restricted: too expensive to repeat
#ifndef MESHWRIGHT_LOOPS_OP_RESTRICTION_H_
#define MESHWRIGHT_LOOPS_OP_RESTRICTION_H_

#include <cstdint>
#include <optional>
#include <vector>

#include "meshwright/hlo/instruction.h"
#include "meshwright/rules/rule.h"

namespace meshwright {

// A dimension divided into consecutive parts: [bounds[0], bounds[1]), and so
// on. The first bound is 0, the last the dimension's size.
struct DimensionSplit {
  int64_t dimension = 0;
  std::vector<int64_t> bounds;

  bool operator==(const DimensionSplit&) const = default;
};

// An op divided into parts along one factor.
class OpRestriction {
 public:
  // Only for ops that are cheap and need nothing but other shapes to work on a
  // part of an array: elementwise ops, data movement, reductions. nullopt for
  // all others, and if parts of the operand (result) do not correspond to parts
  // of the op.
  static std::optional<OpRestriction> OfOperand(const Instruction& instruction,
                                                size_t operand,
                                                const DimensionSplit& split);
  static std::optional<OpRestriction> OfResult(const Instruction& instruction,
                                               const DimensionSplit& split);

  // nullopt: every part needs the whole operand.
  std::optional<DimensionSplit> Operand(size_t index) const;
  // nullopt: the parts give partial results, to be combined by reduction().
  std::optional<DimensionSplit> Result() const;
  // Requires: !Result().
  Reduction reduction() const { return rule_.factors[factor_].reduction; }

 private:
  OpRestriction(Rule rule, int32_t factor, std::vector<int64_t> units)
      : rule_(std::move(rule)), factor_(factor), units_(std::move(units)) {}

  static std::optional<OpRestriction> Make(Rule rule,
                                           const TensorFactors& tensor,
                                           const DimensionSplit& split);
  std::optional<DimensionSplit> SplitOf(const TensorFactors& tensor) const;

  Rule rule_;
  int32_t factor_;
  std::vector<int64_t> units_;  // Bounds along the factor.
};

}  // namespace meshwright

#endif  // MESHWRIGHT_LOOPS_OP_RESTRICTION_H_
