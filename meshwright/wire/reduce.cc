#include "meshwright/wire/reduce.h"

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <type_traits>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "meshwright/base/check.h"
#include "meshwright/wire/float8.h"
#include "meshwright/wire/half_floats.h"

namespace meshwright {
namespace {

// Elements that are combined before the next ones are read; they fit into the
// L1 cache.
constexpr int64_t kBlock = 1024;

// The type in which elements are stored, and the one in which they are
// combined.
template <typename T>
struct Plain {
  using Stored = T;
  using Value = T;
  Value Load(Stored stored) const { return stored; }
  Stored Store(Value value) const { return value; }
};

struct Bf16 {
  using Stored = uint16_t;
  using Value = float;
  float Load(uint16_t stored) const { return internal::FromBf16(stored); }
  uint16_t Store(float value) const { return internal::ToBf16(value); }
};

struct F16 {
  using Stored = uint16_t;
  using Value = float;
  float Load(uint16_t stored) const { return internal::FromF16(stored); }
  uint16_t Store(float value) const { return internal::ToF16(value); }
};

struct F8 {
  using Stored = uint8_t;
  using Value = float;
  const internal::Float8* kind;
  float Load(uint8_t stored) const { return kind->Decode(stored); }
  uint8_t Store(float value) const { return kind->Encode(value); }
};

template <typename T>
struct Complex {
  T re;
  T im;
};

template <typename T>
inline constexpr bool kIsComplex = false;
template <typename T>
inline constexpr bool kIsComplex<Complex<T>> = true;

// An unsigned type so wide that no product overflows a signed type; wraps when
// stored.
template <typename T>
using Wrapping =
    std::conditional_t<sizeof(T) <= sizeof(uint32_t), uint32_t, uint64_t>;

struct Sum {
  template <typename T>
  T operator()(T a, T b) const {
    if constexpr (kIsComplex<T>) {
      return {a.re + b.re, a.im + b.im};
    } else if constexpr (std::is_integral_v<T>) {
      return static_cast<T>(static_cast<Wrapping<T>>(a) +
                            static_cast<Wrapping<T>>(b));
    } else {
      return a + b;
    }
  }
};

struct Product {
  template <typename T>
  T operator()(T a, T b) const {
    if constexpr (kIsComplex<T>) {
      return {a.re * b.re - a.im * b.im, a.re * b.im + a.im * b.re};
    } else if constexpr (std::is_integral_v<T>) {
      return static_cast<T>(static_cast<Wrapping<T>>(a) *
                            static_cast<Wrapping<T>>(b));
    } else {
      return a * b;
    }
  }
};

struct Max {
  template <typename T>
  T operator()(T a, T b) const {
    return a > b || a != a ? a : b;
  }
};

struct Min {
  template <typename T>
  T operator()(T a, T b) const {
    return a < b || a != a ? a : b;
  }
};

struct And {
  template <typename T>
  T operator()(T a, T b) const {
    return static_cast<T>(a & b);
  }
};

struct Or {
  template <typename T>
  T operator()(T a, T b) const {
    return static_cast<T>(a | b);
  }
};

template <typename Format, typename Op>
[[gnu::always_inline]] inline void CombineBlocks(
    const Format& format, Op op, absl::Span<const std::byte* const> sources,
    absl::Span<std::byte> into) {
  using Stored = typename Format::Stored;
  using Value = typename Format::Value;
  const auto count = static_cast<int64_t>(into.size() / sizeof(Stored));
  auto* const out = reinterpret_cast<Stored*>(into.data());
  Value sums[kBlock];
  for (int64_t begin = 0; begin < count; begin += kBlock) {
    const int64_t length = std::min(kBlock, count - begin);
    const auto* first = reinterpret_cast<const Stored*>(sources[0]) + begin;
    for (int64_t i = 0; i < length; ++i) sums[i] = format.Load(first[i]);
    for (const std::byte* source : sources.subspan(1)) {
      const auto* next = reinterpret_cast<const Stored*>(source) + begin;
      for (int64_t i = 0; i < length; ++i) {
        sums[i] = op(sums[i], format.Load(next[i]));
      }
    }
    for (int64_t i = 0; i < length; ++i) out[begin + i] = format.Store(sums[i]);
  }
}

#if defined(__x86_64__)
// The same results with wider registers.
template <typename Format, typename Op>
[[gnu::target("avx2")]] void CombineWide(
    const Format& format, Op op, absl::Span<const std::byte* const> sources,
    absl::Span<std::byte> into) {
  CombineBlocks(format, op, sources, into);
}
#endif

template <typename Format, typename Op>
void Combine(const Format& format, Op op,
             absl::Span<const std::byte* const> sources,
             absl::Span<std::byte> into) {
#if defined(__x86_64__)
  static const bool wide = __builtin_cpu_supports("avx2");
  if (wide) return CombineWide(format, op, sources, into);
#endif
  CombineBlocks(format, op, sources, into);
}

template <typename Format>
void CombineNumbers(const Format& format, ReduceOp op,
                    absl::Span<const std::byte* const> sources,
                    absl::Span<std::byte> into) {
  using Value = typename Format::Value;
  switch (op) {
    case ReduceOp::kSum:
      return Combine(format, Sum(), sources, into);
    case ReduceOp::kProduct:
      return Combine(format, Product(), sources, into);
    case ReduceOp::kMax:
      if constexpr (!kIsComplex<Value>) {
        return Combine(format, Max(), sources, into);
      }
      break;
    case ReduceOp::kMin:
      if constexpr (!kIsComplex<Value>) {
        return Combine(format, Min(), sources, into);
      }
      break;
    case ReduceOp::kAnd:
      if constexpr (std::is_integral_v<Value>) {
        return Combine(format, And(), sources, into);
      }
      break;
    case ReduceOp::kOr:
      if constexpr (std::is_integral_v<Value>) {
        return Combine(format, Or(), sources, into);
      }
      break;
  }
  MW_CHECK(false) << "no such reduction";
}

void CombinePreds(ReduceOp op, absl::Span<const std::byte* const> sources,
                  absl::Span<std::byte> into) {
  const bool both =
      op == ReduceOp::kAnd || op == ReduceOp::kProduct || op == ReduceOp::kMin;
  if (both) return Combine(Plain<uint8_t>(), And(), sources, into);
  Combine(Plain<uint8_t>(), Or(), sources, into);
}

absl::string_view NameOf(ReduceOp op) {
  constexpr absl::string_view kNames[] = {"sum", "product", "max",
                                          "min", "and",     "or"};
  return kNames[static_cast<size_t>(op)];
}

}  // namespace

absl::Status CheckReduces(ReduceOp op, ElementType type) {
  const bool bits = op == ReduceOp::kAnd || op == ReduceOp::kOr;
  const bool order = op == ReduceOp::kMax || op == ReduceOp::kMin;
  const bool whole =
      BitWidth(type) >= 8 && (type == ElementType::kPred || IsInteger(type));
  const bool floats = type == ElementType::kF64 || type == ElementType::kF32 ||
                      type == ElementType::kF16 || type == ElementType::kBF16 ||
                      internal::Float8Of(type) != nullptr;
  if (whole || (floats && !bits) || (IsComplex(type) && !bits && !order)) {
    return absl::OkStatus();
  }
  return absl::InvalidArgumentError(
      absl::StrCat("workers cannot combine ", Name(type), " by ", NameOf(op)));
}

void ReduceAll(ReduceOp op, ElementType type,
               absl::Span<const std::byte* const> sources,
               absl::Span<std::byte> into) {
  switch (type) {
    case ElementType::kPred:
      return CombinePreds(op, sources, into);
    case ElementType::kS8:
      return CombineNumbers(Plain<int8_t>(), op, sources, into);
    case ElementType::kS16:
      return CombineNumbers(Plain<int16_t>(), op, sources, into);
    case ElementType::kS32:
      return CombineNumbers(Plain<int32_t>(), op, sources, into);
    case ElementType::kS64:
      return CombineNumbers(Plain<int64_t>(), op, sources, into);
    case ElementType::kU8:
      return CombineNumbers(Plain<uint8_t>(), op, sources, into);
    case ElementType::kU16:
      return CombineNumbers(Plain<uint16_t>(), op, sources, into);
    case ElementType::kU32:
      return CombineNumbers(Plain<uint32_t>(), op, sources, into);
    case ElementType::kU64:
      return CombineNumbers(Plain<uint64_t>(), op, sources, into);
    case ElementType::kF16:
      return CombineNumbers(F16(), op, sources, into);
    case ElementType::kBF16:
      return CombineNumbers(Bf16(), op, sources, into);
    case ElementType::kF32:
      return CombineNumbers(Plain<float>(), op, sources, into);
    case ElementType::kF64:
      return CombineNumbers(Plain<double>(), op, sources, into);
    case ElementType::kC64:
      return CombineNumbers(Plain<Complex<float>>(), op, sources, into);
    case ElementType::kC128:
      return CombineNumbers(Plain<Complex<double>>(), op, sources, into);
    default:
      break;
  }
  const internal::Float8* kind = internal::Float8Of(type);
  MW_CHECK(kind != nullptr) << Name(type);
  CombineNumbers(F8{kind}, op, sources, into);
}

absl::Status ReduceInto(ReduceOp op, ElementType type,
                        absl::Span<const std::byte> from,
                        absl::Span<std::byte> into) {
  if (absl::Status reduces = CheckReduces(op, type); !reduces.ok()) {
    return reduces;
  }
  if (from.size() != into.size() ||
      into.size() % static_cast<size_t>(HostBytes(type)) != 0) {
    return absl::InvalidArgumentError(
        absl::StrCat("cannot combine ", from.size(), " with ", into.size(),
                     " bytes of ", Name(type)));
  }
  const std::byte* const sources[] = {into.data(), from.data()};
  ReduceAll(op, type, sources, into);
  return absl::OkStatus();
}

}  // namespace meshwright
