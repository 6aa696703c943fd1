#include "meshwright/engine/program_signature.h"

#include <cstdint>
#include <limits>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/string_view.h"
#include "google/protobuf/io/coded_stream.h"
#include "google/protobuf/wire_format_lite.h"
#include "meshwright/base/status_macros.h"
#include "proto/hlo.pb.h"

namespace meshwright {
namespace {

using ::google::protobuf::internal::WireFormatLite;
using ::google::protobuf::io::CodedInputStream;

constexpr int kModuleOfConfig = 1;  // In HloModuleProtoWithConfig.
constexpr int kShapeOfModule = 4;   // In HloModuleProto, as are the next two.
constexpr int kAliasOfModule = 8;
constexpr int kDonorOfModule = 18;
constexpr int kTupleType = 13;

absl::Status Malformed() {
  return absl::InvalidArgumentError("the program is not a serialized module");
}

// Calls visit(field number, bytes) for every length-delimited field.
template <typename Visit>
absl::Status ForEachField(absl::string_view bytes, Visit visit) {
  if (bytes.size() > std::numeric_limits<int>::max()) return Malformed();
  CodedInputStream input(reinterpret_cast<const uint8_t*>(bytes.data()),
                         static_cast<int>(bytes.size()));
  while (const uint32_t tag = input.ReadTag()) {
    if (WireFormatLite::GetTagWireType(tag) !=
        WireFormatLite::WIRETYPE_LENGTH_DELIMITED) {
      if (!WireFormatLite::SkipField(&input, tag)) return Malformed();
      continue;
    }
    uint32_t size = 0;
    if (!input.ReadVarint32(&size)) return Malformed();
    const auto begin = static_cast<size_t>(input.CurrentPosition());
    if (size > bytes.size() - begin) return Malformed();
    visit(WireFormatLite::GetTagFieldNumber(tag), bytes.substr(begin, size));
    if (!input.Skip(static_cast<int>(size))) return Malformed();
  }
  return input.ConsumedEntireMessage() ? absl::OkStatus() : Malformed();
}

template <typename Message>
bool Parse(absl::string_view bytes, Message& message) {
  return message.ParseFromArray(bytes.data(), static_cast<int>(bytes.size()));
}

bool IsRowMajor(const pb::LayoutProto& layout) {
  const auto& order = layout.minor_to_major();
  for (int i = 0; i < order.size(); ++i) {
    if (order.Get(i) != order.size() - 1 - i) return false;
  }
  return true;
}

absl::StatusOr<BufferShape> ToBufferShape(const pb::ShapeProto& shape,
                                          absl::string_view what, int index) {
  const auto type = ElementTypeFromNumber(shape.element_type());
  if (!type || !(IsBufferType(*type) || *type == ElementType::kToken)) {
    return absl::UnimplementedError(absl::StrCat(
        what, " ", index, " of the program is not an array (element type ",
        shape.element_type(), ")"));
  }
  if (!IsRowMajor(shape.layout())) {
    return absl::UnimplementedError(
        absl::StrCat(what, " ", index, " of the program has layout {",
                     absl::StrJoin(shape.layout().minor_to_major(), ","),
                     "}; only row-major arrays can be passed"));
  }
  return BufferShape{*type,
                     {shape.dimensions().begin(), shape.dimensions().end()}};
}

absl::Status AddShapes(const pb::ProgramShapeProto& shape,
                       ProgramSignature& signature) {
  for (int i = 0; i < shape.parameters_size(); ++i) {
    MW_ASSIGN_OR_RETURN(BufferShape each,
                        ToBufferShape(shape.parameters(i), "parameter", i));
    signature.parameters.push_back(std::move(each));
  }
  const pb::ShapeProto& result = shape.result();
  if (result.element_type() != kTupleType) {
    MW_ASSIGN_OR_RETURN(BufferShape each, ToBufferShape(result, "output", 0));
    signature.outputs.push_back(std::move(each));
    return absl::OkStatus();
  }
  for (int i = 0; i < result.tuple_shapes_size(); ++i) {
    MW_ASSIGN_OR_RETURN(BufferShape each,
                        ToBufferShape(result.tuple_shapes(i), "output", i));
    signature.outputs.push_back(std::move(each));
  }
  return absl::OkStatus();
}

absl::Status AddDonation(int64_t parameter, int64_t output,
                         ProgramSignature& signature) {
  if (parameter < 0 || parameter >= std::ssize(signature.parameters) ||
      output < -1 || output >= std::ssize(signature.outputs)) {
    return absl::InvalidArgumentError(
        absl::StrCat("the program aliases parameter ", parameter, " to output ",
                     output, ", which do not both exist"));
  }
  signature.donations.push_back({.parameter = static_cast<int>(parameter),
                                 .output = static_cast<int>(output)});
  return absl::OkStatus();
}

// The parts of the signature in a serialized module.
struct ModuleParts {
  absl::string_view shape;
  absl::string_view aliases;
  absl::string_view donors;
};

absl::StatusOr<ProgramSignature> ReadModule(absl::string_view bytes) {
  ModuleParts parts;
  MW_RETURN_IF_ERROR(
      ForEachField(bytes, [&](int field, absl::string_view value) {
        if (field == kShapeOfModule) parts.shape = value;
        if (field == kAliasOfModule) parts.aliases = value;
        if (field == kDonorOfModule) parts.donors = value;
      }));
  pb::ProgramShapeProto shape;
  pb::HloInputOutputAliasProto aliases;
  pb::HloBufferDonorProto donors;
  if (parts.shape.data() == nullptr || !Parse(parts.shape, shape) ||
      !Parse(parts.aliases, aliases) || !Parse(parts.donors, donors)) {
    return Malformed();
  }
  ProgramSignature signature;
  MW_RETURN_IF_ERROR(AddShapes(shape, signature));
  for (const auto& entry : aliases.entries()) {
    const auto& index = entry.output_shape_index();
    MW_RETURN_IF_ERROR(AddDonation(
        entry.parameter_number(), index.empty() ? 0 : index.Get(0), signature));
  }
  for (const auto& entry : donors.entries()) {
    MW_RETURN_IF_ERROR(AddDonation(entry.parameter_number(), -1, signature));
  }
  return signature;
}

}  // namespace

absl::StatusOr<absl::string_view> ModuleBytes(const Program& program) {
  if (program.format == "hlo") return program.code;
  if (program.format != "hlo_with_config") {
    return absl::UnimplementedError(absl::StrCat(
        "cannot read the signature of format \"", program.format, "\""));
  }
  absl::string_view module;
  MW_RETURN_IF_ERROR(
      ForEachField(program.code, [&](int field, absl::string_view value) {
        if (field == kModuleOfConfig) module = value;
      }));
  return module;
}

absl::StatusOr<ProgramSignature> ReadSignature(const Program& program) {
  MW_ASSIGN_OR_RETURN(const absl::string_view module, ModuleBytes(program));
  return ReadModule(module);
}

}  // namespace meshwright
