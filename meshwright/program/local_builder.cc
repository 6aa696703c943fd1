#include "meshwright/program/local_builder.h"

#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <memory>
#include <numeric>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "meshwright/base/check.h"

namespace meshwright {
namespace {

Literal Dense(Shape shape, std::string data) {
  Literal literal;
  shape.layout.emplace();
  for (int64_t i = shape.rank(); i-- > 0;) {
    shape.layout->minor_to_major.push_back(i);
  }
  literal.shape = std::move(shape);
  literal.data = std::move(data);
  return literal;
}

template <typename T>
std::string Bytes(const T& value) {
  return std::string(reinterpret_cast<const char*>(&value), sizeof(value));
}

std::string EncodeInteger(ElementType type, double value) {
  const uint64_t bits = value < 0
                            ? static_cast<uint64_t>(static_cast<int64_t>(value))
                            : static_cast<uint64_t>(value);
  return Bytes(bits).substr(0, HostBytes(type));
}

// The largest or smallest integer of a type, as raw bytes.
std::string IntegerLimit(ElementType type, bool largest) {
  const int64_t width = BitWidth(type);
  const bool is_signed = IsSignedInteger(type);
  uint64_t bits = 0;
  if (is_signed) {
    const uint64_t sign = uint64_t{1} << (width - 1);
    bits = largest ? sign - 1 : ~(sign - 1);
  } else if (largest) {
    bits = width == 64 ? ~uint64_t{0} : (uint64_t{1} << width) - 1;
  }
  return Bytes(bits).substr(0, HostBytes(type));
}

// Without what refers to tables that the new module does not have.
Metadata PlainMetadata(const Instruction& instruction) {
  Metadata metadata = instruction.metadata;
  metadata.unknown_fields.clear();
  return metadata;
}

}  // namespace

LocalBuilder::LocalBuilder(LocalProgram* program, Computation* computation)
    : program_(program), computation_(computation) {}

Instruction* LocalBuilder::Add(Opcode opcode, Shape shape,
                               std::vector<Instruction*> operands,
                               Attributes attributes) {
  const std::string stem =
      source_ == nullptr || source_->opcode == opcode
          ? (source_ == nullptr ? std::string(Name(opcode)) : source_->name)
          : std::string(Name(opcode));
  Instruction* result =
      computation_->Add(opcode, std::move(shape), std::move(operands),
                        program_->UniqueName(stem));
  result->attributes.mutate() = std::move(attributes);
  if (source_ != nullptr) result->metadata = PlainMetadata(*source_);
  return result;
}

Instruction* LocalBuilder::Clone(const Instruction& like, Shape shape,
                                 std::vector<Instruction*> operands) {
  Instruction* result =
      computation_->Add(like.opcode, std::move(shape), std::move(operands),
                        program_->UniqueName(like.name));
  result->attributes = like.attributes;
  result->metadata = PlainMetadata(like);
  result->frontend_attributes = like.frontend_attributes;
  result->unknown_fields = like.unknown_fields;
  for (const Computation* called : like.called) {
    result->called.push_back(program_->Copy(*called));
  }
  return result;
}

Instruction* LocalBuilder::Scalar(ElementType type, std::string bytes) {
  Instruction*& cached =
      scalars_[absl::StrCat("c", static_cast<int>(type), ":", bytes)];
  if (cached == nullptr) {
    Attributes attributes;
    Shape shape = Shape::Scalar(type);
    attributes.literal =
        std::make_shared<const Literal>(Dense(shape, std::move(bytes)));
    shape.layout.emplace();
    cached = Add(Opcode::kConstant, std::move(shape), {}, attributes);
  }
  return cached;
}

Instruction* LocalBuilder::Constant(ElementType type, double value) {
  if (type == ElementType::kPred) {
    return Scalar(type, std::string(1, value != 0 ? '\1' : '\0'));
  }
  if (IsInteger(type)) return Scalar(type, EncodeInteger(type, value));
  if (type == ElementType::kF32) {
    return Scalar(type, Bytes(static_cast<float>(value)));
  }
  if (type == ElementType::kF64) return Scalar(type, Bytes(value));
  if (type == ElementType::kC64) {
    return Scalar(type, Bytes(static_cast<float>(value)) + Bytes(0.0F));
  }
  if (type == ElementType::kC128) {
    return Scalar(type, Bytes(value) + Bytes(0.0));
  }
  Instruction*& cached =
      scalars_[absl::StrCat("f", static_cast<int>(type), ":", Bytes(value))];
  if (cached == nullptr) {
    Instruction* wide = Constant(ElementType::kF32, value);
    // The constant just made may have moved the cache.
    Instruction* narrow = Convert(type, wide);
    return scalars_[absl::StrCat("f", static_cast<int>(type), ":",
                                 Bytes(value))] = narrow;
  }
  return cached;
}

Instruction* LocalBuilder::Identity(Reduction reduction, ElementType type) {
  const bool floating = IsFloating(type);
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  switch (reduction) {
    case Reduction::kSum:
    case Reduction::kOr:
      return Constant(type, 0);
    case Reduction::kProduct:
      return Constant(type, 1);
    case Reduction::kMax:
      if (floating) return Constant(type, -kInfinity);
      if (type == ElementType::kPred) return Constant(type, 0);
      return Scalar(type, IntegerLimit(type, /*largest=*/false));
    case Reduction::kMin:
      if (floating) return Constant(type, kInfinity);
      if (type == ElementType::kPred) return Constant(type, 1);
      return Scalar(type, IntegerLimit(type, /*largest=*/true));
    case Reduction::kAnd:
      if (type == ElementType::kPred) return Constant(type, 1);
      return Scalar(type, std::string(HostBytes(type), '\xff'));
  }
  MW_CHECK(false) << "unknown reduction";
}

bool LocalBuilder::IsIdentity(const Instruction& value, Reduction reduction) {
  if (value.opcode != Opcode::kConstant || !value.shape.IsScalar()) {
    return false;
  }
  const Literal& literal = *value.attributes->literal;
  const ElementType type = value.shape.element_type;
  const bool is_limit =
      reduction == Reduction::kMax || reduction == Reduction::kMin;
  if (IsInteger(type) && is_limit) {
    return literal.data == IntegerLimit(type, reduction == Reduction::kMin);
  }
  if (IsInteger(type) && reduction == Reduction::kAnd) {
    return literal.data == std::string(HostBytes(type), '\xff');
  }
  if (IsComplex(type)) {
    return reduction == Reduction::kSum &&
           literal.data.find_first_not_of('\0') == std::string::npos;
  }
  const double number = literal.ElementAsDouble(0);
  switch (reduction) {
    case Reduction::kSum:
    case Reduction::kOr:
      return number == 0;
    case Reduction::kProduct:
    case Reduction::kAnd:
      return number == 1;
    case Reduction::kMax:
      return type == ElementType::kPred ? number == 0
                                        : std::isinf(number) && number < 0;
    case Reduction::kMin:
      return type == ElementType::kPred ? number == 1
                                        : std::isinf(number) && number > 0;
  }
  return false;
}

Instruction* LocalBuilder::Broadcast(Instruction* scalar,
                                     absl::Span<const int64_t> dimensions) {
  return BroadcastInDim(scalar, dimensions, {});
}

Instruction* LocalBuilder::BroadcastInDim(Instruction* value,
                                          absl::Span<const int64_t> dimensions,
                                          absl::Span<const int64_t> mapping) {
  if (dimensions.empty()) return value;
  Attributes attributes;
  attributes.dimensions.assign(mapping.begin(), mapping.end());
  return Add(Opcode::kBroadcast,
             Shape::Array(value->shape.element_type,
                          {dimensions.begin(), dimensions.end()}),
             {value}, std::move(attributes));
}

Instruction* LocalBuilder::Iota(ElementType type,
                                absl::Span<const int64_t> dimensions,
                                int64_t dimension) {
  Attributes attributes;
  attributes.dimensions = {dimension};
  return Add(Opcode::kIota,
             Shape::Array(type, {dimensions.begin(), dimensions.end()}), {},
             std::move(attributes));
}

Instruction* LocalBuilder::Unary(Opcode opcode, Instruction* value) {
  return Add(opcode,
             Shape::Array(value->shape.element_type, value->shape.dimensions),
             {value});
}

Instruction* LocalBuilder::Binary(Opcode opcode, Instruction* a,
                                  Instruction* b) {
  return Add(opcode, Shape::Array(a->shape.element_type, a->shape.dimensions),
             {a, b});
}

Instruction* LocalBuilder::Compare(const char* direction, Instruction* a,
                                   Instruction* b) {
  Attributes attributes;
  attributes.comparison_direction = direction;
  return Add(Opcode::kCompare,
             Shape::Array(ElementType::kPred, a->shape.dimensions), {a, b},
             std::move(attributes));
}

Instruction* LocalBuilder::Select(Instruction* predicate, Instruction* a,
                                  Instruction* b) {
  if (predicate->shape.IsScalar() && !a->shape.IsScalar()) {
    predicate = Broadcast(predicate, a->shape.dimensions);
  }
  return Add(Opcode::kSelect,
             Shape::Array(a->shape.element_type, a->shape.dimensions),
             {predicate, a, b});
}

Instruction* LocalBuilder::Convert(ElementType type, Instruction* value) {
  if (value->shape.element_type == type) return value;
  return Add(Opcode::kConvert, Shape::Array(type, value->shape.dimensions),
             {value});
}

Instruction* LocalBuilder::Combine(Reduction reduction, Instruction* a,
                                   Instruction* b) {
  return Binary(CombinerOpcode(reduction), a, b);
}

Instruction* LocalBuilder::DeviceTable(absl::Span<const int64_t> values) {
  MW_CHECK(static_cast<int64_t>(values.size()) == mesh().device_count());
  bool uniform = true;
  for (const int64_t value : values) uniform = uniform && value == values[0];
  if (uniform) {
    return Constant(ElementType::kS32, static_cast<double>(values[0]));
  }
  const std::string key = absl::StrCat("t", absl::StrJoin(values, ","));
  if (const auto found = scalars_.find(key); found != scalars_.end()) {
    return found->second;
  }
  Instruction*& device = scalars_["device"];
  if (device == nullptr) {
    device =
        Convert(ElementType::kS32,
                Add(Opcode::kReplicaId, Shape::Scalar(ElementType::kU32), {}));
  }
  Instruction* const id = device;
  Instruction* value = id;
  bool is_id = true;
  for (size_t i = 0; i < values.size(); ++i) {
    is_id = is_id && values[i] == static_cast<int64_t>(i);
  }
  if (!is_id) {
    std::string data;
    for (const int64_t entry : values) {
      data += Bytes(static_cast<int32_t>(entry));
    }
    Shape shape =
        Shape::Array(ElementType::kS32, {static_cast<int64_t>(values.size())});
    Attributes attributes;
    attributes.literal =
        std::make_shared<const Literal>(Dense(shape, std::move(data)));
    shape.layout = attributes.literal->shape.layout;
    Instruction* table =
        Add(Opcode::kConstant, std::move(shape), {}, std::move(attributes));
    value = Reshape(DynamicSlice(table, 0, id, 1), {});
  }
  return scalars_[key] = value;
}

Instruction* LocalBuilder::AxisIndex(const AxisList& axes) {
  std::vector<int64_t> values(mesh().device_count());
  for (int64_t device = 0; device < mesh().device_count(); ++device) {
    values[device] = mesh().Coordinate(device, axes);
  }
  return DeviceTable(values);
}

Instruction* LocalBuilder::IsLeader(const AxisList& axes) {
  return Compare("EQ", AxisIndex(axes), Constant(ElementType::kS32, 0));
}

Instruction* LocalBuilder::InBounds(absl::Span<const int64_t> dimensions,
                                    int64_t dimension, const AxisList& axes,
                                    int64_t bound) {
  Instruction* offset = Binary(
      Opcode::kMultiply, AxisIndex(axes),
      Constant(ElementType::kS32, static_cast<double>(dimensions[dimension])));
  Instruction* left =
      Binary(Opcode::kSubtract,
             Constant(ElementType::kS32, static_cast<double>(bound)), offset);
  return Compare("LT", Iota(ElementType::kS32, dimensions, dimension),
                 Broadcast(left, dimensions));
}

}  // namespace meshwright
