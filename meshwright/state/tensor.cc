#include "meshwright/state/tensor.h"

#include <cstring>
#include <limits>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "meshwright/base/status_macros.h"

namespace meshwright {
namespace {

std::string Describe(const Tensor& tensor) {
  const std::string type = tensor.type == ElementType::kInvalid
                               ? absl::StrCat("raw", 8 * tensor.raw_bytes)
                               : std::string(Name(tensor.type));
  return absl::StrCat(type, "[", absl::StrJoin(tensor.dimensions, ","), "]");
}

absl::Status Mismatch(const Shape& expected, const Tensor& tensor) {
  return absl::InvalidArgumentError(
      absl::StrCat(tensor.name.empty() ? "the tensor" : tensor.name, ": is ",
                   Describe(tensor), ", expected ", expected.ToString()));
}

// Calls `use` with a value of the C++ type of an integer type of whole bytes.
template <typename Use>
bool WithInteger(ElementType type, Use use) {
  switch (type) {
    case ElementType::kS8:
      return use(int8_t{});
    case ElementType::kS16:
      return use(int16_t{});
    case ElementType::kS32:
      return use(int32_t{});
    case ElementType::kS64:
      return use(int64_t{});
    case ElementType::kU8:
      return use(uint8_t{});
    case ElementType::kU16:
      return use(uint16_t{});
    case ElementType::kU32:
      return use(uint32_t{});
    case ElementType::kU64:
      return use(uint64_t{});
    default:
      return false;
  }
}

// False if a value does not fit.
template <typename From, typename To>
bool ConvertData(std::string& data) {
  const size_t count = data.size() / sizeof(From);
  std::string result(count * sizeof(To), '\0');
  for (size_t i = 0; i < count; ++i) {
    From from;
    std::memcpy(&from, data.data() + i * sizeof(From), sizeof(From));
    if constexpr (std::numeric_limits<From>::is_integer) {
      if (!std::in_range<To>(from)) return false;
    }
    const To to = static_cast<To>(from);
    std::memcpy(result.data() + i * sizeof(To), &to, sizeof(To));
  }
  data = std::move(result);
  return true;
}

bool Convert(ElementType to, Tensor& tensor) {
  if (tensor.type == ElementType::kF64 && to == ElementType::kF32) {
    return ConvertData<double, float>(tensor.data);
  }
  return WithInteger(tensor.type, [&](auto from_value) {
    return WithInteger(to, [&](auto to_value) {
      return ConvertData<decltype(from_value), decltype(to_value)>(tensor.data);
    });
  });
}

}  // namespace

std::optional<int64_t> CheckedBytes(absl::Span<const int64_t> dimensions,
                                    int64_t element_bytes) {
  int64_t bytes = element_bytes;
  bool empty = false;
  for (int64_t dimension : dimensions) {
    if (dimension < 0) return std::nullopt;
    empty = empty || dimension == 0;
  }
  if (empty) return 0;
  for (int64_t dimension : dimensions) {
    if (__builtin_mul_overflow(bytes, dimension, &bytes)) return std::nullopt;
  }
  return bytes;
}

absl::Status Conform(const Shape& expected, Tensor& tensor) {
  const ElementType type = expected.element_type;
  if (!expected.IsArray() || tensor.dimensions != expected.dimensions) {
    return Mismatch(expected, tensor);
  }
  if (tensor.type == type) return absl::OkStatus();
  if (tensor.type == ElementType::kInvalid) {
    if (tensor.raw_bytes != HostBytes(type)) return Mismatch(expected, tensor);
    tensor.raw_bytes = 0;
  } else if (!Convert(type, tensor)) {
    return Mismatch(expected, tensor);
  }
  tensor.type = type;
  return absl::OkStatus();
}

Literal AsLiteral(const Tensor& tensor) {
  Literal literal;
  literal.shape = Shape::Array(tensor.type, tensor.dimensions);
  literal.data = tensor.data;
  return literal;
}

}  // namespace meshwright
