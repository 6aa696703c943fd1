#include "meshwright/state/synthetic.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstring>
#include <utility>
#include <vector>

#include "meshwright/base/check.h"
#include "meshwright/hlo/literal.h"
#include "meshwright/state/position_hash.h"

namespace meshwright {
namespace {

// Uniform in [offset, offset + 2^53) * unit. A single product is rounded, so
// that compilers cannot contract it into an FMA.
struct Interval {
  int64_t offset = 0;
  double unit = 0;

  double At(uint64_t bits) const {
    return static_cast<double>(static_cast<int64_t>(bits >> 11) + offset) *
           unit;
  }
};

Interval Symmetric(double scale) {
  return {-(int64_t{1} << 52), scale * 0x1p-52};
}
Interval Positive(double scale) { return {int64_t{1} << 53, scale * 0x1p-54}; }
Interval NearOne() { return {int64_t{1} << 54, 0.2 * 0x1p-52}; }

template <typename T, typename Make>
std::string Fill(int64_t count, Make make) {
  std::string data(count * sizeof(T), '\0');
  for (int64_t i = 0; i < count; ++i) {
    const T value = make(i);
    std::memcpy(data.data() + i * sizeof(T), &value, sizeof(T));
  }
  return data;
}

// By value: the bit patterns of the finite values of a type of at most 8 bits.
std::vector<std::pair<double, uint8_t>> FiniteValues(ElementType type) {
  std::vector<std::pair<double, uint8_t>> values;
  for (int bits = 0; bits < 1 << BitWidth(type); ++bits) {
    const double value = SmallFloatToDouble(type, static_cast<uint16_t>(bits));
    if (std::isfinite(value)) values.emplace_back(value, bits);
  }
  std::sort(values.begin(), values.end());
  return values;
}

uint8_t Nearest(const std::vector<std::pair<double, uint8_t>>& values,
                double value) {
  auto it = std::lower_bound(values.begin(), values.end(),
                             std::pair<double, uint8_t>(value, 0));
  if (it == values.end()) return values.back().second;
  if (it != values.begin() &&
      value - std::prev(it)->first < it->first - value) {
    --it;
  }
  return it->second;
}

// Rounds to nearest even; |value| is far below the largest f16.
uint16_t ToF16(double value) {
  const uint16_t sign = std::signbit(value) ? 0x8000 : 0;
  const double magnitude = std::abs(value);
  if (magnitude == 0) return sign;
  int exponent = 0;
  std::frexp(magnitude, &exponent);
  // In units of the last place: 2^(exponent - 11), at least 2^-24.
  const int place = std::max(exponent - 11, -24);
  const int64_t units = std::llrint(std::ldexp(magnitude, -place));
  // A subnormal number that is rounded up carries into the smallest normal
  // number by itself.
  return static_cast<uint16_t>(sign + ((place + 24) << 10) + units);
}

uint16_t ToBF16(float value) {
  const uint32_t bits = std::bit_cast<uint32_t>(value);
  return static_cast<uint16_t>((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
}

std::string MakeFloats(ElementType type, int64_t count,
                       const PositionHash& bits, Interval interval) {
  const auto at = [&](int64_t i) { return interval.At(bits(i)); };
  const auto at_float = [&](int64_t i) { return static_cast<float>(at(i)); };
  switch (type) {
    case ElementType::kF64:
    case ElementType::kC128:
      return Fill<double>(count, at);
    case ElementType::kF32:
    case ElementType::kC64:
      return Fill<float>(count, at_float);
    case ElementType::kF16:
      return Fill<uint16_t>(count, [&](int64_t i) { return ToF16(at(i)); });
    case ElementType::kBF16:
      return Fill<uint16_t>(count,
                            [&](int64_t i) { return ToBF16(at_float(i)); });
    default: {
      const auto values = FiniteValues(type);
      return Fill<uint8_t>(count,
                           [&](int64_t i) { return Nearest(values, at(i)); });
    }
  }
}

// One more than the largest value of an integer type; 0 stands for 2^64.
uint64_t Values(ElementType type) {
  const int64_t bits = BitWidth(type) - (IsSignedInteger(type) ? 1 : 0);
  return bits >= 64 ? 0 : uint64_t{1} << bits;
}

// A number below `limit`; 0 stands for 2^64.
uint64_t Below(uint64_t limit, uint64_t bits) {
  if (limit == 0) return bits;
  return static_cast<uint64_t>(static_cast<unsigned __int128>(bits) * limit >>
                               64);
}

bool MayBeKey(const Shape& shape) {
  return shape.element_type == ElementType::kU32 && shape.rank() > 0 &&
         (shape.dimensions.back() == 2 || shape.dimensions.back() == 4);
}

uint64_t IntegerLimit(const Shape& shape, std::optional<int64_t> bound) {
  const uint64_t values = Values(shape.element_type);
  uint64_t limit = 2;
  if (bound) {
    limit = static_cast<uint64_t>(std::max<int64_t>(*bound, 1));
  } else if (shape.rank() == 0) {
    limit = 1;
  } else if (MayBeKey(shape)) {
    limit = values;
  }
  return values == 0 ? limit : std::min(limit, values);
}

std::string MakeIntegers(ElementType type, int64_t count,
                         const PositionHash& bits, uint64_t limit) {
  const auto at = [&](int64_t i) { return Below(limit, bits(i)); };
  switch (HostBytes(type)) {
    case 1:
      return Fill<uint8_t>(
          count, [&](int64_t i) { return static_cast<uint8_t>(at(i)); });
    case 2:
      return Fill<uint16_t>(
          count, [&](int64_t i) { return static_cast<uint16_t>(at(i)); });
    case 4:
      return Fill<uint32_t>(
          count, [&](int64_t i) { return static_cast<uint32_t>(at(i)); });
    default:
      return Fill<uint64_t>(count, at);
  }
}

}  // namespace

Tensor MakeSynthetic(const Shape& shape, std::string name, uint64_t seed,
                     const SyntheticOptions& options) {
  MW_CHECK(shape.IsArray()) << shape.ToString();
  const ElementType type = shape.element_type;
  const int64_t count = ElementCount(shape);
  const PositionHash bits(seed, name);
  Tensor tensor;
  tensor.name = std::move(name);
  tensor.type = type;
  tensor.dimensions = shape.dimensions;
  if (IsFloating(type) || IsComplex(type)) {
    const bool positive =
        IsFloating(type) && (options.non_negative || shape.rank() == 0);
    tensor.data = MakeFloats(type, IsComplex(type) ? 2 * count : count, bits,
                             options.near_one ? NearOne()
                             : positive       ? Positive(options.scale)
                                              : Symmetric(options.scale));
  } else if (type == ElementType::kPred) {
    tensor.data = MakeIntegers(type, count, bits, 2);
  } else {
    tensor.data =
        MakeIntegers(type, count, bits, IntegerLimit(shape, options.bound));
  }
  return tensor;
}

}  // namespace meshwright
