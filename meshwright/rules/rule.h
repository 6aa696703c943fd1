// The sharding rule of an instruction: the meaning of its dimensions, as
// factors.
//
//   dot f32[M,K] x f32[K,N] -> f32[M,N]: factors m, n (kept) and k (summed)
//     operands {[m],[k]} {[k],[n]}   results {[m],[n]}
//   reshape f32[6,4] -> f32[3,8]: factors 3, 2, 4
//     operands {[3,2],[4]}           results {[3],[2,4]}
//
// To shard the instruction over a mesh is to assign axes to factors (a
// Strategy). Everything else follows: the sharding that each operand must have
// and that each result will have, the axes over which results are partial sums,
// and the local shapes.
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
  // In operands, and not in all results. Results without it are partial values,
  // to be reduced.
  kReduced,
  // May be split, but then the lowering itself communicates (halos, arg-max of
  // parts, prefix sums). Either in operands and results like a kept factor; or
  // in operands only, and then the result is complete and equal on all devices
  // of the axes.
  kExchanged,
  // Must not be split.
  kWhole,
};

struct Factor {
  int64_t size = 1;
  FactorKind kind = FactorKind::kKept;
  Reduction reduction = Reduction::kSum;  // If kReduced.
  // The lowering handles shards that are partly padding. Applies only where the
  // factor is a whole dimension in every tensor that has it.
  bool may_pad = false;
  // The lowering depends on local sizes only, so that this kept or reduced
  // factor may be divided into several (divide.h).
  bool may_divide = false;
  // An earlier factor that is always split together with this one, over the
  // same axes: they are a dimension before and after its size changes.
  int32_t tied = -1;
};

// The factor numbers of one dimension, major first; their sizes multiply to
// that of the dimension. A factor occurs at most once in a tensor.
using DimFactors = std::vector<int32_t>;
using TensorFactors = std::vector<DimFactors>;  // By dimension.

// A way in which partial values pass through unreduced: if exactly these
// operands are pending (over equal axes), the result is, too.
struct Linear {
  std::optional<Reduction> reduction;  // nullopt: any (data movement).
  std::vector<int32_t> operands;       // Ascending.
};

// Dimensions of all operand leaves, then of all result leaves, concatenated.
using TensorSizes = std::vector<int64_t>;

struct Rule {
  std::vector<Factor> factors;
  // By leaf array of the operands (tuple operands by their leaves in order) and
  // of the result. Tokens have no dimensions.
  std::vector<TensorFactors> operands;
  std::vector<TensorFactors> results;
  std::vector<Linear> linear;
  // Free to recompute in another sharding: constants, iotas, broadcasts of
  // scalars.
  bool cheap_to_repeat = false;
  // No rule fits: gather the operands, compute on every device.
  bool is_fallback = false;
  // If not empty, the only local sizes for which there is a program: for
  // kernels, which are lowered for each (hlo/kernel_calls.h).
  std::vector<TensorSizes> variants;
  // For a shard_map region (island.h): the axes of its own mesh. Factor i is
  // axis i, and must be split over axes whose sizes multiply to its size.
  std::vector<MeshAxis> manual_axes;

  // Adds a factor and returns its number.
  int32_t AddFactor(int64_t size, FactorKind kind = FactorKind::kKept);
};

// Axes for each factor, and the pending axes that pass through.
struct Strategy {
  std::vector<AxisList> factor_axes;  // By factor; empty: not split.
  int32_t linear = -1;                // Index into Rule::linear, or -1.
  Reduction reduction = Reduction::kSum;
  AxisList pending;  // Ascending; disjoint from the axes of all factors.

  bool operator==(const Strategy&) const = default;
};

// The rule of an instruction, given its shapes and attributes. Never fails:
// what is not supported gets the fallback. Structural instructions (parameter,
// tuple, while, ...; see rule_table.h) have none. Requires: the instruction
// passed Verify.
Rule RuleFor(const Instruction& instruction);

// An alternative rule that permits shardings which RuleFor does not: of slices,
// pads and concatenations along the changed dimension, with elements moving
// between devices.
std::optional<Rule> OtherRuleFor(const Instruction& instruction);

// Every dimension is a factor of its own that must not be split.
Rule FallbackRule(const Instruction& instruction);

// One factor of kind `kind` per dimension, shared by all tensors: `operands`
// operands and `results` results, all of these dimensions.
Rule PointwiseRule(absl::Span<const int64_t> dimensions, int32_t operands,
                   int32_t results = 1);

bool Has(const TensorFactors& tensor, int32_t factor);

// The sharding that `strategy` requires of operand leaf `index`, and the one
// that it gives result leaf `index`.
Sharding OperandSharding(const Rule& rule, const Strategy& strategy,
                         int32_t index, const Mesh& mesh);
Sharding ResultSharding(const Rule& rule, const Strategy& strategy,
                        int32_t index, const Mesh& mesh);

// Splits `factor`, and the factors tied to it, over `axes`.
void SetAxes(const Rule& rule, int32_t factor, const AxisList& axes,
             Strategy& strategy);

// False if an axis is used twice (except by tied factors, which have the same
// axes), a kWhole factor is split, a factor does not divide and may not be
// padded, kinds of reduction are mixed, `linear` does not fit, or no variant
// has the local sizes.
bool IsValid(const Rule& rule, const Strategy& strategy, const Mesh& mesh);

// The size of a factor on one device, including padding.
int64_t LocalFactorSize(const Rule& rule, const Strategy& strategy,
                        int32_t factor, const Mesh& mesh);
// Local sizes of a tensor's dimensions.
std::vector<int64_t> LocalDimensions(const Rule& rule, const Strategy& strategy,
                                     const TensorFactors& tensor,
                                     const Mesh& mesh);

}  // namespace meshwright

#endif  // MESHWRIGHT_RULES_RULE_H_
