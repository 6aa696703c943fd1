// Converts literals to and from protobuf: one typed field per element type.
#include <cstring>

#include "absl/strings/str_cat.h"
#include "meshwright/base/status_macros.h"
#include "meshwright/hlo/proto_conversion.h"

namespace meshwright::internal {
namespace {

// The bytes field that holds elements of `type`, or null if the type has a
// repeated numeric field (or none).
const std::string* BytesField(const pb::LiteralProto& proto, ElementType type) {
  switch (type) {
#define MW_BYTES_FIELD(type_name, field) \
  case ElementType::type_name:           \
    return &proto.field();
#include "meshwright/hlo/literal_bytes_fields.inc"
#undef MW_BYTES_FIELD
    default:
      return nullptr;
  }
}

std::string* MutableBytesField(pb::LiteralProto* proto, ElementType type) {
  switch (type) {
#define MW_BYTES_FIELD(type_name, field) \
  case ElementType::type_name:           \
    return proto->mutable_##field();
#include "meshwright/hlo/literal_bytes_fields.inc"
#undef MW_BYTES_FIELD
    default:
      return nullptr;
  }
}

template <typename Field>
std::string RawBytes(const Field& field) {
  using Value = typename Field::value_type;
  return std::string(reinterpret_cast<const char*>(field.data()),
                     field.size() * sizeof(Value));
}

template <typename Field>
void SetFromRawBytes(const std::string& data, Field* field) {
  using Value = typename Field::value_type;
  field->Resize(static_cast<int>(data.size() / sizeof(Value)), Value{});
  std::memcpy(field->mutable_data(), data.data(),
              field->size() * sizeof(Value));
}

std::string ReadData(const pb::LiteralProto& proto, ElementType type) {
  if (const std::string* bytes = BytesField(proto, type)) return *bytes;
  switch (type) {
    case ElementType::kPred:
      return RawBytes(proto.preds());
    case ElementType::kS32:
      return RawBytes(proto.s32s());
    case ElementType::kS64:
      return RawBytes(proto.s64s());
    case ElementType::kU32:
      return RawBytes(proto.u32s());
    case ElementType::kU64:
      return RawBytes(proto.u64s());
    case ElementType::kF32:
      return RawBytes(proto.f32s());
    case ElementType::kF64:
      return RawBytes(proto.f64s());
    case ElementType::kC64:
      return RawBytes(proto.c64s());
    case ElementType::kC128:
      return RawBytes(proto.c128s());
    default:
      return "";
  }
}

void WriteData(const std::string& data, ElementType type,
               pb::LiteralProto* proto) {
  if (std::string* bytes = MutableBytesField(proto, type)) {
    *bytes = data;
    return;
  }
  switch (type) {
    case ElementType::kPred:
      return SetFromRawBytes(data, proto->mutable_preds());
    case ElementType::kS32:
      return SetFromRawBytes(data, proto->mutable_s32s());
    case ElementType::kS64:
      return SetFromRawBytes(data, proto->mutable_s64s());
    case ElementType::kU32:
      return SetFromRawBytes(data, proto->mutable_u32s());
    case ElementType::kU64:
      return SetFromRawBytes(data, proto->mutable_u64s());
    case ElementType::kF32:
      return SetFromRawBytes(data, proto->mutable_f32s());
    case ElementType::kF64:
      return SetFromRawBytes(data, proto->mutable_f64s());
    case ElementType::kC64:
      return SetFromRawBytes(data, proto->mutable_c64s());
    case ElementType::kC128:
      return SetFromRawBytes(data, proto->mutable_c128s());
    default:
      return;
  }
}

}  // namespace

absl::Status ReadLiteral(const pb::LiteralProto& proto, Literal* literal) {
  MW_RETURN_IF_ERROR(ReadShape(proto.shape(), &literal->shape));
  std::string why;
  if (!IsValid(literal->shape, &why)) {
    return absl::InvalidArgumentError(absl::StrCat("literal shape: ", why));
  }
  literal->unknown_fields = proto.unknown_fields();
  literal->tuple.resize(proto.tuple_literals_size());
  for (int i = 0; i < proto.tuple_literals_size(); ++i) {
    MW_RETURN_IF_ERROR(
        ReadLiteral(proto.tuple_literals(i), &literal->tuple[i]));
  }
  if (!literal->shape.IsArray()) return absl::OkStatus();
  literal->data = ReadData(proto, literal->shape.element_type);
  const int64_t width = HostBytes(literal->shape.element_type);
  const int64_t got = std::ssize(literal->data) / width;
  if (std::ssize(literal->data) % width != 0 ||
      got != ElementCount(literal->shape)) {
    return absl::InvalidArgumentError(
        absl::StrCat("literal of shape ", literal->shape.ToString(), " has ",
                     got, " elements, needs ", ElementCount(literal->shape)));
  }
  return absl::OkStatus();
}

void WriteLiteral(const Literal& literal, pb::LiteralProto* proto) {
  WriteShape(literal.shape, proto->mutable_shape());
  // XLA requires a layout on array literals, even an empty one on scalars.
  if (literal.shape.IsArray() && !literal.shape.layout.has_value()) {
    pb::LayoutProto* layout = proto->mutable_shape()->mutable_layout();
    for (int64_t dim = literal.shape.rank() - 1; dim >= 0; --dim) {
      layout->add_minor_to_major(dim);
    }
  }
  for (const Literal& element : literal.tuple) {
    WriteLiteral(element, proto->add_tuple_literals());
  }
  WriteData(literal.data, literal.shape.element_type, proto);
  SetUnknownFields(literal.unknown_fields, proto);
}

}  // namespace meshwright::internal
