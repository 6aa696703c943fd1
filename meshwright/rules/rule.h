// What an instruction's dimensions mean, as factors.
//
//   dot f32[M,K] x f32[K,N] -> f32[M,N]: factors m, n (kept) and k (summed)
//     operands {[m],[k]} {[k],[n]}   results {[m],[n]}
//   reshape f32[6,4] -> f32[3,8]: factors 3, 2, 4
//     operands {[3,2],[4]}           results {[3],[2,4]}
//
// To split the instruction over a mesh is to give axes to factors (a
// Strategy). Everything else follows: how each operand must lie, how each
// result will lie, over which axes it is a partial sum, and the local shapes.
#ifndef MESHWRIGHT_RULES_RULE_H_
#define MESHWRIGHT_RULES_RULE_H_

#include <cstdint>
#include <optional>
#include <vector>

#include "absl/types/span.h"
#include "meshwright/hlo/instruction.h"
#include "meshwright/mesh/mesh.h"
#include "meshwright/mesh/sharding.h"

namespace meshwright {

enum class FactorKind : uint8_t {
  // In the result (and usually in operands): each device computes its part.
  kKept,
  // In operands, and in no result or not in all: those without it are partial
  // values, to be reduced.
  kReduced,
  // May be split, but then the lowering itself communicates (halos, arg-max of
  // parts, running sums). In operands and results as a kept one, or in operands
  // only; then the result is complete and equal on all devices of the axes.
  kExchanged,
  // Must not be split.
  kWhole,
};

struct Factor {
  int64_t size = 1;
  FactorKind kind = FactorKind::kKept;
  Reduction reduction = Reduction::kSum;  // Of a kReduced factor.
  // The lowering copes with shards that are partly padding. Holds only if the
  // factor is a whole dimension wherever it occurs.
  bool may_pad = false;
  // Along a kept or reduced factor the lowering looks at local sizes only, so
  // that it may be seen as several (divide.h).
  bool may_divide = false;
  // An earlier factor that it is always split with, over the same axes: those
  // of a dimension before and after its size changes.
  int32_t tied = -1;
};

// Factor numbers of one dimension, major first; their sizes multiply to the
// dimension's. A factor occurs at most once in a tensor.
using DimFactors = std::vector<int32_t>;
using TensorFactors = std::vector<DimFactors>;  // By dimension.

// A way in which partial values may pass through unreduced: when exactly these
// operands are pending (with equal axes) the result is as well.
struct Linear {
  std::optional<Reduction> reduction;  // Any, when absent (data movement).
  std::vector<int32_t> operands;       // Ascending.
};

// The dimensions of all operand leaves, then of all result leaves, in order.
using TensorSizes = std::vector<int64_t>;

struct Rule {
  std::vector<Factor> factors;
  // By leaf array of the operands (for tuple operands their leaves in order)
  // and of the result. Tokens have no dimensions.
  std::vector<TensorFactors> operands;
  std::vector<TensorFactors> results;
  std::vector<Linear> linear;
  // Costs nothing to make again in another sharding: constants, iotas,
  // broadcasts of scalars.
  bool cheap_to_repeat = false;
  // No rule fits: gather the operands, compute on every device.
  bool is_fallback = false;
  // If there are any, the only local sizes there is a program for: of kernels,
  // which are lowered for each (hlo/kernel_calls.h).
  std::vector<TensorSizes> variants;
  // Of a shard_map region (island.h): the axes of its own mesh. Factor i is
  // axis i, and must be split over axes that multiply to just its size.
  std::vector<MeshAxis> manual_axes;

  // Adds a factor and returns its number.
  int32_t AddFactor(int64_t size, FactorKind kind = FactorKind::kKept);
};

// Axes for each factor, and what is pending on entry and stays so.
struct Strategy {
  std::vector<AxisList> factor_axes;  // By factor; empty is unsplit.
  int32_t linear = -1;                // Index into Rule::linear, or none.
  Reduction reduction = Reduction::kSum;
  AxisList pending;  // Ascending; disjoint from all factor axes.

  bool operator==(const Strategy&) const = default;
};

// The rule of an instruction in its context of shapes and attributes. Never
// fails: what is not understood gets the fallback. Structural instructions
// (parameter, tuple, while, ...; see rule_table.h) have none.
// Requires: the instruction passed Verify.
Rule RuleFor(const Instruction& instruction);

// Another way to see it, on which it can be split where RuleFor does not fit:
// slices, pads and joins whose parts move along with the split.
std::optional<Rule> OtherRuleFor(const Instruction& instruction);

// Every dimension its own whole factor.
Rule FallbackRule(const Instruction& instruction);

// Factors of kind `kind`, one per dimension, in every tensor: `operands` of
// them and `results` results, all with these dimensions.
Rule AlikeRule(absl::Span<const int64_t> dimensions, int32_t operands,
               int32_t results = 1);

bool Has(const TensorFactors& tensor, int32_t factor);

// The sharding that `strategy` asks of operand leaf `index`, and gives result
// leaf `index`.
Sharding OperandSharding(const Rule& rule, const Strategy& strategy,
                         int32_t index, const Mesh& mesh);
Sharding ResultSharding(const Rule& rule, const Strategy& strategy,
                        int32_t index, const Mesh& mesh);

// Splits `factor`, and those it is tied to, over `axes`.
void SetAxes(const Rule& rule, int32_t factor, const AxisList& axes,
             Strategy& strategy);

// False if axes are used twice (but for tied factors, which have the same), a
// whole factor is split, a factor does not divide and may not pad, kinds of
// reduction mix, `linear` does not fit, or no variant has the local sizes.
bool IsValid(const Rule& rule, const Strategy& strategy, const Mesh& mesh);

// The size of a factor on one device, padding included.
int64_t LocalFactorSize(const Rule& rule, const Strategy& strategy,
                        int32_t factor, const Mesh& mesh);
// Local sizes of a tensor's dimensions.
std::vector<int64_t> LocalDimensions(const Rule& rule, const Strategy& strategy,
                                     const TensorFactors& tensor,
                                     const Mesh& mesh);

}  // namespace meshwright

#endif  // MESHWRIGHT_RULES_RULE_H_
