#include "meshwright/state/nudge.h"

#include <algorithm>
#include <cstring>
#include <string>

#include "meshwright/state/position_hash.h"

namespace meshwright {
namespace {

// Binary digits after the point of the mantissa.
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
      return 7;  // As bf16, also for types with fewer digits, which are scaled.
  }
}

// Magnitudes are ordered as their bits. The bits of `exponent` tell normal
// numbers from others.
template <typename Bits>
void NudgeEach(const PositionHash& hash, Bits exponent, Bits step,
               std::string& data) {
  for (size_t i = 0; i * sizeof(Bits) < data.size(); ++i) {
    Bits bits;
    std::memcpy(&bits, data.data() + i * sizeof(Bits), sizeof(Bits));
    // Zero, subnormal numbers, infinities and NaN do not change; neither do the
    // largest number and the smallest normal one if they would become one of
    // those.
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
