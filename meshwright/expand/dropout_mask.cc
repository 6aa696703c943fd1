#include <algorithm>
#include <cmath>

#include "meshwright/expand/expansions.h"

namespace meshwright {
namespace {

constexpr ElementType kBits = ElementType::kU32;

class Hasher {
 public:
  Hasher(absl::Span<const int64_t> dimensions, LocalBuilder& builder)
      : dimensions_(dimensions), builder_(builder) {}

  Instruction* Number(uint32_t value) {
    return builder_.Broadcast(builder_.Constant(kBits, value), dimensions_);
  }

  // The index of each element, modulo 2^32.
  Instruction* Position() {
    Instruction* position = nullptr;
    for (int64_t i = 0; i < std::ssize(dimensions_); ++i) {
      Instruction* index = builder_.Iota(kBits, dimensions_, i);
      if (position == nullptr) {
        position = index;
        continue;
      }
      position = builder_.Binary(Opcode::kMultiply, position,
                                 Number(static_cast<uint32_t>(dimensions_[i])));
      position = builder_.Binary(Opcode::kAdd, position, index);
    }
    return position;
  }

  // The finaliser of MurmurHash3: every output bit depends on every input bit.
  Instruction* Mixed(Instruction* x) {
    x = Times(Folded(x, 16), 0x85EBCA6B);
    x = Times(Folded(x, 13), 0xC2B2AE35);
    return Folded(x, 16);
  }

 private:
  Instruction* Folded(Instruction* x, uint32_t bits) {
    Instruction* high =
        builder_.Binary(Opcode::kShiftRightLogical, x, Number(bits));
    return builder_.Binary(Opcode::kXor, x, high);
  }
  Instruction* Times(Instruction* x, uint32_t by) {
    return builder_.Binary(Opcode::kMultiply, x, Number(by));
  }

  absl::Span<const int64_t> dimensions_;
  LocalBuilder& builder_;
};

}  // namespace

Instruction* DropoutMask(double rate, int64_t seed,
                         absl::Span<const int64_t> dimensions,
                         LocalBuilder& builder) {
  Hasher hasher(dimensions, builder);
  Instruction* drawn = hasher.Position();
  // Behind a barrier, or compilers would constant-fold the whole mask.
  Instruction* hidden =
      builder.Add(Opcode::kOptBarrier, Shape::Array(kBits, {}),
                  {builder.Constant(kBits, static_cast<uint32_t>(seed))});
  drawn = builder.Binary(Opcode::kXor, drawn,
                         builder.Broadcast(hidden, dimensions));
  drawn = hasher.Mixed(hasher.Mixed(drawn));
  const double least = std::min(std::floor(rate * 0x1p32), 0x1p32 - 1);
  Instruction* kept =
      builder.Compare("GE", drawn, hasher.Number(static_cast<uint32_t>(least)));
  const auto number = [&](double value) {
    return builder.Broadcast(builder.Constant(ElementType::kF32, value),
                             dimensions);
  };
  return builder.Select(kept, number(rate < 1 ? 1 / (1 - rate) : 0), number(0));
}

}  // namespace meshwright
