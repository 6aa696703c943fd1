#include "meshwright/state/nudge.h"

#include <algorithm>
#include <cstring>
#include <string>

#include "meshwright/state/position_hash.h"

namespace meshwright {
namespace {

// Digits after the point of a number's binary form.
int Digits(ElementType type) {
  switch (type) {
    case ElementType::kF64:
    case ElementType::kC128:
      return 52;
    case ElementType::kF32:
    case ElementType::kC64:
      return 23;
    case ElementType::kF16:
      return 10;
    default:
      return 7;  // As bf16, also for types of fewer: they are scaled.
  }
}

// Magnitudes are ordered as their bits are; those of `exponent` say which are
// ordinary numbers.
template <typename Bits>
void NudgeEach(const PositionHash& hash, Bits exponent, Bits step,
               std::string& data) {
  for (size_t i = 0; i * sizeof(Bits) < data.size(); ++i) {
    Bits bits;
    std::memcpy(&bits, data.data() + i * sizeof(Bits), sizeof(Bits));
    // Neither 0 nor subnormal, infinite or no number; the largest of all and
    // the smallest normal one stay, too, if they would become such.
    const auto is_ordinary = [&](Bits value) {
      const Bits part = value & exponent;
      return part != 0 && part != exponent;
    };
    if (!is_ordinary(bits)) continue;
    const bool grows = (hash(static_cast<int64_t>(i)) & 1) != 0;
    const Bits next = static_cast<Bits>(grows ? bits + step : bits - step);
    if (!is_ordinary(next)) continue;
    std::memcpy(data.data() + i * sizeof(Bits), &next, sizeof(Bits));
  }
}

}  // namespace

void Nudge(uint64_t seed, Tensor& tensor, ElementType precision) {
  const PositionHash hash(seed, tensor.name);
  const int lost = std::max(0, Digits(tensor.type) - Digits(precision));
  const auto nudge = [&]<typename Bits>(Bits exponent) {
    NudgeEach<Bits>(hash, exponent, static_cast<Bits>(Bits{1} << lost),
                    tensor.data);
  };
  switch (tensor.type) {
    case ElementType::kF64:
    case ElementType::kC128:
      return nudge(uint64_t{0x7ff0000000000000});
    case ElementType::kF32:
    case ElementType::kC64:
      return nudge(uint32_t{0x7f800000});
    case ElementType::kBF16:
      return nudge(uint16_t{0x7f80});
    case ElementType::kF16:
      return nudge(uint16_t{0x7c00});
    default:
      return;
  }
}

}  // namespace meshwright
