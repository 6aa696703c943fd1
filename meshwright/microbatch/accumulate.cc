#include "meshwright/microbatch/accumulate.h"

#include <utility>
#include <vector>

namespace meshwright {
namespace {

// s32[]: the start of this micro-batch's block of a digit.
Instruction* BlockStart(const AxisList& axes, int64_t size,
                        LocalBuilder& builder) {
  std::vector<int64_t> starts;
  for (int64_t i = 0; i < builder.mesh().device_count(); ++i) {
    starts.push_back(builder.mesh().Coordinate(i, axes) * size);
  }
  return builder.DeviceTable(starts);
}

// Updates blocks of the digits from `next` on.
Instruction* Update(Instruction* total, Instruction* value,
                    const std::vector<Part>& digits, size_t next,
                    const Sharding& state, LocalBuilder& builder) {
  while (next < digits.size() && digits[next].axes.empty()) ++next;
  if (next == digits.size()) {
    return state.IsPending() ? builder.Combine(state.reduction, total, value)
                             : value;
  }
  const int64_t dimension = static_cast<int64_t>(next);
  const int64_t size =
      digits[next].size / builder.mesh().Size(digits[next].axes);
  Instruction* start = BlockStart(digits[next].axes, size, builder);
  bool is_last = !state.IsPending();
  for (size_t i = next + 1; i < digits.size(); ++i) {
    is_last = is_last && digits[i].axes.empty();
  }
  if (!is_last) {
    Instruction* block = builder.DynamicSlice(total, dimension, start, size);
    value = Update(block, value, digits, next + 1, state, builder);
  }
  return builder.DynamicUpdateSlice(total, value, dimension, start);
}

}  // namespace

Instruction* Accumulate(Instruction* total, Instruction* value,
                        const Sharding& state, LocalBuilder& builder) {
  value = builder.Convert(total->shape.element_type, value);
  const std::vector<int64_t> dimensions = total->shape.dimensions;
  std::vector<Part> digits;
  std::vector<int64_t> global;
  std::vector<int64_t> local;
  for (const DimSharding& dim : state.dims) {
    for (const Part& part : dim) {
      digits.push_back(part);
      global.push_back(part.size);
      local.push_back(part.size / builder.mesh().Size(part.axes));
    }
  }
  total = Update(builder.Reshape(total, global), builder.Reshape(value, local),
                 digits, 0, state, builder);
  return builder.Reshape(total, dimensions);
}

Instruction* Estimate(Instruction* value, Reduction reduction,
                      LocalBuilder& builder) {
  if (reduction != Reduction::kSum) return value;
  Instruction* count =
      builder.Constant(value->shape.element_type,
                       static_cast<double>(builder.mesh().device_count()));
  return builder.Combine(Reduction::kProduct, value,
                         builder.Broadcast(count, value->shape.dimensions));
}

}  // namespace meshwright
