#include "tests/rules/host_values.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <map>
#include <random>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "meshwright/base/check.h"

namespace meshwright {
namespace {

template <typename T>
void Store(Literal& literal, int64_t index, T value) {
  std::memcpy(literal.data.data() + index * static_cast<int64_t>(sizeof(T)),
              &value, sizeof(T));
}

// The bit pattern of a small float type that is nearest to `value`.
uint16_t SmallFloatBits(ElementType type, double value) {
  static auto* const tables =
      new std::map<ElementType, std::map<double, uint16_t>>();
  std::map<double, uint16_t>& table = (*tables)[type];
  if (table.empty()) {
    for (int32_t bits = 0; bits < 1 << BitWidth(type); ++bits) {
      const double number =
          SmallFloatToDouble(type, static_cast<uint16_t>(bits));
      if (!std::isnan(number)) {
        table.emplace(number, static_cast<uint16_t>(bits));
      }
    }
  }
  auto above = table.lower_bound(value);
  if (above == table.end()) return table.rbegin()->second;
  if (above == table.begin()) return above->second;
  const auto below = std::prev(above);
  return above->first - value < value - below->first ? above->second
                                                     : below->second;
}

// Calls visit(local index, global index or -1) for each local element.
template <typename Visit>
void ForEachElement(const Sharding& sharding, const Mesh& mesh, int64_t device,
                    const Visit& visit) {
  std::vector<std::vector<int64_t>> indices;
  int64_t count = 1;
  for (const DimSharding& dim : sharding.dims) {
    indices.push_back(GlobalIndices(dim, mesh, device));
    count *= static_cast<int64_t>(indices.back().size());
  }
  for (int64_t local = 0; local < count; ++local) {
    int64_t rest = local;
    int64_t global = 0;
    int64_t stride = 1;
    for (size_t i = indices.size(); i-- > 0;) {
      const int64_t size = static_cast<int64_t>(indices[i].size());
      const int64_t at = indices[i][rest % size];
      rest /= size;
      if (global >= 0) global = at < 0 ? -1 : global + at * stride;
      stride *= GlobalSize(sharding.dims[i]);
    }
    visit(local, global);
  }
}

void CopyElement(const Literal& from, int64_t i, Literal& to, int64_t j) {
  const int64_t bytes = HostBytes(from.shape.element_type);
  std::memcpy(to.data.data() + j * bytes, from.data.data() + i * bytes, bytes);
}

// NaN; for integers by turns a large one and a harmless looking 1.
void Poison(Literal& literal, int64_t index) {
  const ElementType type = literal.shape.element_type;
  const int64_t bytes = HostBytes(type);
  if (IsFloating(type) || IsComplex(type)) {
    std::memset(literal.data.data() + index * bytes, '\xff', bytes);
  } else if (index % 2 == 1 || BitWidth(type) < 8 ||
             type == ElementType::kPred) {
    SetElement(literal, index, 1);
  } else {
    std::memset(literal.data.data() + index * bytes, '\x7b', bytes);
  }
}

// The part at `place` of `places` that combine to `value`.
double PartialValue(ElementType type, Reduction reduction, double value,
                    int64_t place, int64_t places, std::mt19937_64& random) {
  const int64_t owner = static_cast<int64_t>(random() % places);
  double sum = 0;
  double mine = 0;
  for (int64_t i = 0; i < places; ++i) {
    const double part = static_cast<double>(random() % 5);
    sum += i == owner ? 0 : part;
    if (i == place) mine = part;
  }
  const bool is_owner = place == owner;
  const bool is_pred = type == ElementType::kPred;
  switch (reduction) {
    case Reduction::kSum:
      return is_owner ? value - sum : mine;
    case Reduction::kProduct:
      return is_owner ? value : 1;
    case Reduction::kMax:
      if (is_owner || IsUnsignedInteger(type)) return value;
      return is_pred ? 0 : value - mine;
    case Reduction::kMin:
      if (is_owner || IsUnsignedInteger(type)) return value;
      return is_pred ? 1 : value + mine;
    case Reduction::kAnd:
      return is_owner || !is_pred ? value : 1;
    case Reduction::kOr:
      return is_owner || !is_pred ? value : 0;
  }
  MW_CHECK(false) << "unknown reduction";
}

bool SameElement(const Literal& a, int64_t i, const Literal& b, int64_t j,
                 double tolerance) {
  const ElementType type = a.shape.element_type;
  const int64_t bytes = HostBytes(type);
  if (std::memcmp(a.data.data() + i * bytes, b.data.data() + j * bytes,
                  bytes) == 0) {
    return true;
  }
  if (!IsFloating(type) && !IsComplex(type)) return false;
  const auto close = [&](double x, double y) {
    if (std::isnan(x) || std::isnan(y)) return std::isnan(x) == std::isnan(y);
    return x == y || std::abs(x - y) <= tolerance + tolerance * std::abs(y);
  };
  if (type == ElementType::kC64) {
    const auto x = a.Values<float>();
    const auto y = b.Values<float>();
    return close(x[2 * i], y[2 * j]) && close(x[2 * i + 1], y[2 * j + 1]);
  }
  if (type == ElementType::kC128) {
    const auto x = a.Values<double>();
    const auto y = b.Values<double>();
    return close(x[2 * i], y[2 * j]) && close(x[2 * i + 1], y[2 * j + 1]);
  }
  return close(a.ElementAsDouble(i), b.ElementAsDouble(j));
}

}  // namespace

Literal Zeros(const Shape& shape) {
  Literal literal;
  literal.shape = Shape::Array(shape.element_type, shape.dimensions);
  literal.data.assign(ElementCount(shape) * HostBytes(shape.element_type),
                      '\0');
  return literal;
}

void SetElement(Literal& literal, int64_t index, double value) {
  const ElementType type = literal.shape.element_type;
  if (type == ElementType::kF32) {
    Store(literal, index, static_cast<float>(value));
  } else if (type == ElementType::kF64) {
    Store(literal, index, value);
  } else if (type == ElementType::kC64) {
    Store(literal, 2 * index, static_cast<float>(value));
    Store(literal, 2 * index + 1, static_cast<float>(-value));
  } else if (type == ElementType::kC128) {
    Store(literal, 2 * index, value);
    Store(literal, 2 * index + 1, -value);
  } else if (IsFloating(type)) {
    const uint16_t bits = SmallFloatBits(type, value);
    std::memcpy(literal.data.data() + index * HostBytes(type), &bits,
                HostBytes(type));
  } else {
    int64_t bits = static_cast<int64_t>(value);
    if (type == ElementType::kPred) bits = value != 0 ? 1 : 0;
    std::memcpy(literal.data.data() + index * HostBytes(type), &bits,
                HostBytes(type));
  }
}

Literal ShardOf(const Literal& whole, const Sharding& sharding,
                const Mesh& mesh, int64_t device, uint64_t seed) {
  const ElementType type = whole.shape.element_type;
  Literal shard = Zeros(Shape::Array(type, LocalDimensions(sharding, mesh)));
  const int64_t places = mesh.Size(sharding.pending);
  const int64_t place = mesh.Coordinate(device, sharding.pending);
  ForEachElement(sharding, mesh, device, [&](int64_t local, int64_t global) {
    if (global < 0) {
      Poison(shard, local);
    } else if (places == 1) {
      CopyElement(whole, global, shard, local);
    } else {
      std::mt19937_64 random(seed * 1000003 + global);
      SetElement(
          shard, local,
          PartialValue(type, sharding.reduction, whole.ElementAsDouble(global),
                       place, places, random));
    }
  });
  return shard;
}

absl::Status CompareShard(const Literal& shard, const Literal& whole,
                          const Sharding& sharding, const Mesh& mesh,
                          int64_t device, double tolerance) {
  absl::Status status;
  ForEachElement(sharding, mesh, device, [&](int64_t local, int64_t global) {
    if (global < 0 || !status.ok() ||
        SameElement(shard, local, whole, global, tolerance)) {
      return;
    }
    status = absl::InternalError(absl::StrCat(
        "device ", device, ": local element ", local, " is ",
        shard.ElementAsDouble(local), ", global element ", global, " of ",
        whole.shape.ToString(), " is ", whole.ElementAsDouble(global)));
  });
  return status;
}

}  // namespace meshwright
