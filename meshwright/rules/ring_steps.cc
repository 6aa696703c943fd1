#include "meshwright/rules/ring_steps.h"

#include <limits>
#include <utility>
#include <vector>

namespace meshwright {
namespace {

// The weight of a part with log-sum-exp `part` in one with `all`, for each
// element of an output of these dimensions.
Instruction* PartWeight(Instruction* part, Instruction* all,
                        const std::vector<int64_t>& dimensions,
                        LocalBuilder& builder) {
  Instruction* weight = builder.Unary(
      Opcode::kExponential, builder.Binary(Opcode::kSubtract, part, all));
  return builder.BroadcastInDim(weight, dimensions, {0, 1, 2});
}

}  // namespace

Instruction* PassOn(Instruction* value, const AxisList& axes,
                    LocalBuilder& builder) {
  std::vector<std::pair<int64_t, int64_t>> pairs;
  for (const std::vector<int64_t>& group : builder.program().Groups(axes)) {
    for (size_t i = 0; i < group.size(); ++i) {
      pairs.emplace_back(group[i], group[(i + 1) % group.size()]);
    }
  }
  return builder.CollectivePermute(value, std::move(pairs));
}

Instruction* ComesBefore(int64_t step, const AxisList& axes,
                         LocalBuilder& builder) {
  return builder.Compare(
      "GE", builder.AxisIndex(axes),
      builder.Constant(ElementType::kS32, static_cast<double>(step)));
}

Instruction* ValueIf(Instruction* condition, Instruction* value, double other,
                     LocalBuilder& builder) {
  const std::vector<int64_t> sizes = value->shape.dimensions;
  Instruction* fill = builder.Constant(value->shape.element_type, other);
  return builder.Select(builder.Broadcast(condition, sizes), value,
                        builder.Broadcast(fill, sizes));
}

PartialAttention Visible(Instruction* seen, const PartialAttention& block,
                         LocalBuilder& builder) {
  const std::vector<int64_t>& sizes = block.output->shape.dimensions;
  Instruction* lowest =
      builder.Broadcast(builder.Constant(block.sum->shape.element_type,
                                         std::numeric_limits<float>::lowest()),
                        block.sum->shape.dimensions);
  Instruction* zeros = builder.Broadcast(builder.Constant(kRingType, 0), sizes);
  return {
      .output = builder.Select(builder.BroadcastInDim(seen, sizes, {0, 1, 2}),
                               block.output, zeros),
      .sum = builder.Select(seen, block.sum, lowest)};
}

Instruction* StartOfKeys(int64_t step, int64_t rows, const AxisList& ring,
                         LocalBuilder& builder) {
  const int64_t devices = builder.mesh().Size(ring);
  std::vector<int64_t> starts;
  for (int64_t d = 0; d < builder.mesh().device_count(); ++d) {
    const int64_t place = builder.mesh().Coordinate(d, ring);
    starts.push_back((place + devices - step) % devices * rows);
  }
  return builder.DeviceTable(starts);
}

PartialAttention JoinPartials(const PartialAttention& a,
                              const PartialAttention& b,
                              LocalBuilder& builder) {
  Instruction* larger = builder.Binary(Opcode::kMaximum, a.sum, b.sum);
  const auto relative = [&](Instruction* sum) {
    return builder.Unary(Opcode::kExponential,
                         builder.Binary(Opcode::kSubtract, sum, larger));
  };
  Instruction* sum = builder.Binary(
      Opcode::kAdd, larger,
      builder.Unary(Opcode::kLog, builder.Binary(Opcode::kAdd, relative(a.sum),
                                                 relative(b.sum))));
  const std::vector<int64_t> sizes = a.output->shape.dimensions;
  const auto weighted = [&](const PartialAttention& part) {
    return builder.Binary(Opcode::kMultiply, part.output,
                          PartWeight(part.sum, sum, sizes, builder));
  };
  return {.output = builder.Binary(Opcode::kAdd, weighted(a), weighted(b)),
          .sum = sum};
}

}  // namespace meshwright
