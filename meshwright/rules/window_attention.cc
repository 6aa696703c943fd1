#include "meshwright/rules/window_attention.h"

#include <algorithm>
#include <cstdint>
#include <utility>

#include "meshwright/rules/exchange.h"
#include "meshwright/rules/ring_attention.h"
#include "meshwright/rules/ring_steps.h"

namespace meshwright {
namespace {

using Values = std::vector<Instruction*>;

// Kernels are fastest, and some only possible, on multiples of this.
constexpr int64_t kTile = 64;

class WindowedShard {
 public:
  WindowedShard(const LocalOp& op, const FusedAttention& attention,
                const AxisList& axes, LocalBuilder& builder)
      : op_(op), attention_(attention), axes_(axes), builder_(builder) {
    const int64_t sequence = SequenceOf(attention, AttentionPart::kQuery);
    shard_ = op.operands[0]->shape.dimensions[sequence];
    halo_ = attention.window - 1;
    if (shard_ % kTile == 0) halo_ = (halo_ + kTile - 1) / kTile * kTile;
    halo_ = std::min(halo_, attention.keys - shard_);
    const Mesh& mesh = builder.mesh();
    for (int64_t device = 0; device < mesh.device_count(); ++device) {
      starts_.push_back(
          std::min(halo_, mesh.Coordinate(device, axes) * shard_));
    }
    start_ = builder.DeviceTable(starts_);
  }

  Values Call() {
    Values operands;
    for (size_t i = 0; i < op_.operands.size(); ++i) {
      const AttentionPart part = attention_.operands[i];
      const int64_t sequence = SequenceOf(attention_, part);
      operands.push_back(IsOfKeys(part) ? WithHalo(op_.operands[i], sequence)
                                        : Placed(op_.operands[i], sequence));
    }
    return CallAttention(op_.instruction, operands, /*causal=*/true, builder_);
  }

  // The shard's own part of a result.
  Instruction* Own(Instruction* result) {
    return builder_.DynamicSlice(result, kResultSequence, start_, shard_);
  }

  // The same of a gradient of keys or values, with what other devices have
  // found for these.
  Instruction* Collected(Instruction* gradient) {
    Instruction* wide = builder_.Convert(kRingType, gradient);
    Instruction* sum = Own(wide);
    Instruction* zero = builder_.Constant(kRingType, 0);
    for (int64_t back = 1; (back - 1) * shard_ < halo_; ++back) {
      // The last rows of the shard that many devices before.
      const int64_t rows = std::min(shard_, halo_ - (back - 1) * shard_);
      std::vector<int64_t> first;
      for (const int64_t start : starts_) {
        first.push_back(
            std::max<int64_t>(start - (back - 1) * shard_ - rows, 0));
      }
      Instruction* part = builder_.DynamicSlice(
          wide, kResultSequence, builder_.DeviceTable(first), rows);
      sum = builder_.Binary(Opcode::kAdd, sum,
                            builder_.Pad(SentBack(part, back), zero,
                                         kResultSequence, shard_ - rows, 0));
    }
    return builder_.Convert(gradient->shape.element_type, sum);
  }

 private:
  // Keys in order: those before the shard, the shard, then zeros.
  Instruction* WithHalo(Instruction* value, int64_t sequence) {
    const Mesh& mesh = builder_.mesh();
    Movement movement = {.dimension = sequence, .axes = axes_};
    for (int64_t device = 0; device < mesh.device_count(); ++device) {
      const int64_t begin = mesh.Coordinate(device, axes_) * shard_;
      std::vector<int64_t>& held = movement.held.emplace_back();
      for (int64_t i = 0; i < shard_; ++i) held.push_back(begin + i);
      std::vector<int64_t>& needed = movement.needed.emplace_back();
      for (int64_t i = begin - starts_[device]; i < begin + shard_; ++i) {
        needed.push_back(i);
      }
      needed.resize(shard_ + halo_, kFilled);
    }
    return Exchange(movement, value, /*fill=*/nullptr, builder_);
  }

  // At the same place as the keys of the shard, among zeros.
  Instruction* Placed(Instruction* value, int64_t sequence) {
    std::vector<int64_t> sizes = value->shape.dimensions;
    sizes[sequence] += halo_;
    Instruction* zeros = builder_.Broadcast(
        builder_.Constant(value->shape.element_type, 0), sizes);
    return builder_.DynamicUpdateSlice(zeros, value, sequence, start_);
  }

  // Devices to which nothing comes back have zeros.
  Instruction* SentBack(Instruction* value, int64_t devices) {
    std::vector<std::pair<int64_t, int64_t>> pairs;
    for (const auto& group : builder_.program().Groups(axes_)) {
      for (size_t i = devices; i < group.size(); ++i) {
        pairs.emplace_back(group[i], group[i - devices]);
      }
    }
    return builder_.CollectivePermute(value, std::move(pairs));
  }

  const LocalOp& op_;
  const FusedAttention& attention_;
  const AxisList& axes_;
  LocalBuilder& builder_;
  int64_t shard_ = 0;  // Positions.
  int64_t halo_ = 0;
  std::vector<int64_t> starts_;  // By device: where its shard is.
  Instruction* start_ = nullptr;
};

}  // namespace

Values WindowForward(const LocalOp& op, const FusedAttention& attention,
                     const AxisList& axes, LocalBuilder& builder) {
  WindowedShard shard(op, attention, axes, builder);
  const Values results = shard.Call();
  return {shard.Own(results[0]), shard.Own(results[1]), results[2]};
}

Values WindowBackward(const LocalOp& op, const FusedAttention& attention,
                      const AxisList& axes, LocalBuilder& builder) {
  WindowedShard shard(op, attention, axes, builder);
  const Values results = shard.Call();
  return {shard.Own(results[0]), shard.Collected(results[1]),
          shard.Collected(results[2]), results[3]};
}

}  // namespace meshwright
