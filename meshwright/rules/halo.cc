#include "meshwright/rules/halo.h"

#include <utility>
#include <vector>

#include "meshwright/base/check.h"

namespace meshwright {
namespace {

// What the shard `step` places before sends; zeros where there is none.
Instruction* Shifted(Instruction* value, const AxisList& axes, int64_t step,
                     LocalBuilder& builder) {
  std::vector<std::pair<int64_t, int64_t>> pairs;
  for (const std::vector<int64_t>& group : builder.program().Groups(axes)) {
    const int64_t count = static_cast<int64_t>(group.size());
    for (int64_t i = 0; i < count; ++i) {
      if (i + step < 0 || i + step >= count) continue;
      pairs.emplace_back(group[i], group[i + step]);
    }
  }
  return builder.CollectivePermute(value, std::move(pairs));
}

}  // namespace

Instruction* WithHalo(Instruction* value, int64_t dimension,
                      const AxisList& axes, int64_t low, int64_t high,
                      LocalBuilder& builder) {
  const int64_t size = value->shape.dimensions[dimension];
  MW_CHECK(0 <= low && low <= size && 0 <= high && high <= size);
  std::vector<Instruction*> pieces;
  if (low > 0) {
    Instruction* last = builder.Slice(value, dimension, size - low, size);
    pieces.push_back(Shifted(last, axes, 1, builder));
  }
  pieces.push_back(value);
  if (high > 0) {
    Instruction* first = builder.Slice(value, dimension, 0, high);
    pieces.push_back(Shifted(first, axes, -1, builder));
  }
  return builder.Concatenate(std::move(pieces), dimension);
}

}  // namespace meshwright
