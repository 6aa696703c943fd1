#include "meshwright/rules/window_attention.h"

#include <algorithm>
#include <cstdint>
#include <utility>

#include "meshwright/rules/dropout_seeds.h"
#include "meshwright/rules/exchange.h"
#include "meshwright/rules/ring_attention.h"
#include "meshwright/rules/ring_lengths.h"
#include "meshwright/rules/ring_steps.h"

namespace meshwright {
namespace {

using Values = std::vector<Instruction*>;

// Kernels are fastest, and some only possible, on multiples of this.
constexpr int64_t kTile = 64;
// Dimensions of a bias.
constexpr int64_t kBiasQueries = 2;
constexpr int64_t kBiasKeys = 3;

class WindowedShard {
 public:
  WindowedShard(const LocalOp& op, const FusedAttention& attention,
                const AxisList& axes, LocalBuilder& builder)
      : op_(op),
        attention_(attention),
        axes_(axes),
        builder_(builder),
        lengths_(op, attention, axes, builder) {
    const int64_t sequence = SequenceOf(attention, AttentionPart::kQuery);
    shard_ = op.operands[0]->shape.dimensions[sequence];
    halo_ = attention.window - 1;
    if (shard_ % kTile == 0) halo_ = (halo_ + kTile - 1) / kTile * kTile;
    halo_ = std::min(halo_, attention.keys - shard_);
    const Mesh& mesh = builder.mesh();
    std::vector<int64_t> keys;
    for (int64_t device = 0; device < mesh.device_count(); ++device) {
      const int64_t begin = mesh.Coordinate(device, axes) * shard_;
      starts_.push_back(std::min(halo_, begin));
      keys.push_back(begin - starts_.back());
    }
    start_ = builder.DeviceTable(starts_);
    keys_ = builder.DeviceTable(keys);
  }

  Values Call() {
    Values operands = op_.operands;
    lengths_.ChooseRange(start_, keys_, shard_ + halo_, operands);
    for (size_t i = 0; i < operands.size(); ++i) {
      const AttentionPart part = attention_.operands[i];
      const int64_t sequence = SequenceOf(attention_, part);
      if (part == AttentionPart::kLengths) continue;
      if (part == AttentionPart::kLogSumExp) {
        operands[i] = lengths_.ForGradients(operands[i]);
      }
      if (part == AttentionPart::kBias) {
        operands[i] = builder_.DynamicSlice(operands[i], kBiasKeys, keys_,
                                            shard_ + halo_);
        operands[i] = Placed(operands[i], kBiasQueries);
        continue;
      }
      operands[i] = IsOfKeys(part) ? WithHalo(operands[i], sequence)
                                   : Placed(operands[i], sequence);
    }
    return CallShard(op_, attention_, operands, /*step=*/0, builder_);
  }

  // The output and the log-sum-exp, without padding.
  PartialAttention Output(const Values& results) {
    return lengths_.Finished(
        lengths_.Seen({.output = builder_.Convert(kRingType, Own(results[0])),
                       .sum = Own(results[1])}));
  }

  // The gradient of a bias, which has all keys.
  Instruction* OfBias(Instruction* gradient) {
    Instruction* own =
        builder_.DynamicSlice(gradient, kBiasQueries, start_, shard_);
    std::vector<int64_t> sizes = own->shape.dimensions;
    sizes[kBiasKeys] = attention_.keys;
    Instruction* zeros = builder_.Broadcast(
        builder_.Constant(own->shape.element_type, 0), sizes);
    return builder_.DynamicUpdateSlice(zeros, own, kBiasKeys, keys_);
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
  LengthsInCalls lengths_;
  int64_t shard_ = 0;  // Positions.
  int64_t halo_ = 0;
  std::vector<int64_t> starts_;  // By device: where its shard is.
  Instruction* start_ = nullptr;
  Instruction* keys_ = nullptr;  // Where those of the call begin.
};

}  // namespace

Values WindowForward(const LocalOp& op, const FusedAttention& attention,
                     const AxisList& axes, LocalBuilder& builder) {
  WindowedShard shard(op, attention, axes, builder);
  const Values results = shard.Call();
  const PartialAttention own = shard.Output(results);
  return {builder.Convert(results[0]->shape.element_type, own.output), own.sum,
          results[2]};
}

Values WindowBackward(const LocalOp& op, const FusedAttention& attention,
                      const AxisList& axes, LocalBuilder& builder) {
  WindowedShard shard(op, attention, axes, builder);
  const Values results = shard.Call();
  Values gradients = {shard.Own(results[0]), shard.Collected(results[1]),
                      shard.Collected(results[2])};
  if (attention.results[3] == AttentionPart::kBias) {
    gradients.push_back(shard.OfBias(results[3]));
  }
  gradients.push_back(results.back());
  return gradients;
}

}  // namespace meshwright
