// Conversion between the messages of proto/hlo.proto and the IR's values.
// Internal to hlo/: the only header that exposes protobuf types.
#ifndef MESHWRIGHT_HLO_PROTO_CONVERSION_H_
#define MESHWRIGHT_HLO_PROTO_CONVERSION_H_

#include <string>
#include <type_traits>
#include <vector>

#include "absl/status/status.h"
#include "meshwright/hlo/module.h"
#include "proto/hlo.pb.h"

namespace meshwright::internal {

// Repeated scalars of a message as a vector, and back.
template <typename Field>
auto ToVector(const Field& field) {
  return std::vector<typename Field::value_type>(field.begin(), field.end());
}

template <typename T, typename Field>
void AddAll(const std::vector<T>& values, Field* field) {
  field->Add(values.begin(), values.end());
}

// A statement: sets a plain field, leaving defaults off the wire.
#define MW_SET(proto, field, value)                            \
  if (const auto& mw_value = (value);                          \
      mw_value != std::remove_cvref_t<decltype(mw_value)>()) { \
    (proto)->set_##field(mw_value);                            \
  }

template <typename Proto>
void SetUnknownFields(const std::string& unknown_fields, Proto* proto) {
  if (unknown_fields.empty()) return;
  *proto->mutable_unknown_fields() = unknown_fields;
}

// Fails on element types this version does not know.
absl::Status ReadShape(const pb::ShapeProto& proto, Shape* shape);
void WriteShape(const Shape& shape, pb::ShapeProto* proto);

absl::Status ReadProgramShape(const pb::ProgramShapeProto& proto,
                              ProgramShape* shape);
void WriteProgramShape(const ProgramShape& shape, pb::ProgramShapeProto* proto);

// Fails when the data does not have as many elements as the shape.
absl::Status ReadLiteral(const pb::LiteralProto& proto, Literal* literal);
void WriteLiteral(const Literal& literal, pb::LiteralProto* proto);

OpSharding ReadSharding(const pb::OpSharding& proto);
void WriteSharding(const OpSharding& sharding, pb::OpSharding* proto);

FrontendAttributes ReadFrontendAttributes(const pb::FrontendAttributes& proto);
void WriteFrontendAttributes(const FrontendAttributes& attributes,
                             pb::FrontendAttributes* proto);

// Everything in Attributes; nothing is allocated when all is default.
absl::Status ReadAttributes(const pb::HloInstructionProto& proto,
                            Boxed<Attributes>* attributes);
void WriteAttributes(const Attributes& attributes,
                     pb::HloInstructionProto* proto);

}  // namespace meshwright::internal

#endif  // MESHWRIGHT_HLO_PROTO_CONVERSION_H_
