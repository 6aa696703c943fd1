#include "meshwright/rules/fold_sequence.h"

#include <utility>
#include <vector>

namespace meshwright {
namespace {

enum class Direction { kFold, kUnfold };

// Half shard 2i + `second` of device i goes to the one that has it when folded;
// or comes back from there.
Instruction* Moved(Instruction* half, int64_t second, Direction direction,
                   const AxisList& axes, LocalBuilder& builder) {
  std::vector<std::pair<int64_t, int64_t>> pairs;
  for (const std::vector<int64_t>& group : builder.program().Groups(axes)) {
    const int64_t devices = std::ssize(group);
    for (int64_t i = 0; i < devices; ++i) {
      const int64_t number = 2 * i + second;
      const int64_t owner =
          number < devices ? number : 2 * devices - 1 - number;
      if (direction == Direction::kFold) {
        pairs.emplace_back(group[i], group[owner]);
      } else {
        pairs.emplace_back(group[owner], group[i]);
      }
    }
  }
  return builder.CollectivePermute(half, std::move(pairs));
}

// The other way round on every second device. There the early half is an odd
// one of the sequence, and the late half an even one.
Halves Ordered(const Halves& halves, const AxisList& axes,
               LocalBuilder& builder) {
  const std::vector<int64_t> sizes = halves.early->shape.dimensions;
  Instruction* two = builder.Constant(ElementType::kS32, 2);
  Instruction* is_odd = builder.Broadcast(
      builder.Compare(
          "NE",
          builder.Binary(Opcode::kRemainder, builder.AxisIndex(axes), two),
          builder.Constant(ElementType::kS32, 0)),
      sizes);
  return {.early = builder.Select(is_odd, halves.late, halves.early),
          .late = builder.Select(is_odd, halves.early, halves.late)};
}

Halves MoveBoth(const Halves& halves, Direction direction, const AxisList& axes,
                LocalBuilder& builder) {
  return {.early = Moved(halves.early, 0, direction, axes, builder),
          .late = Moved(halves.late, 1, direction, axes, builder)};
}

}  // namespace

Halves HalvesOf(Instruction* value, int64_t dimension, LocalBuilder& builder) {
  const int64_t size = value->shape.dimensions[dimension];
  return {.early = builder.Slice(value, dimension, 0, size / 2),
          .late = builder.Slice(value, dimension, size / 2, size)};
}

Instruction* FoldSequence(Instruction* value, int64_t dimension,
                          const AxisList& axes, LocalBuilder& builder) {
  const Halves moved = MoveBoth(HalvesOf(value, dimension, builder),
                                Direction::kFold, axes, builder);
  const Halves ordered = Ordered(moved, axes, builder);
  return builder.Concatenate({ordered.early, ordered.late}, dimension);
}

Instruction* UnfoldSequence(Instruction* value, int64_t dimension,
                            const AxisList& axes, LocalBuilder& builder) {
  const Halves ordered =
      Ordered(HalvesOf(value, dimension, builder), axes, builder);
  const Halves moved = MoveBoth(ordered, Direction::kUnfold, axes, builder);
  return builder.Concatenate({moved.early, moved.late}, dimension);
}

}  // namespace meshwright
