// Converts attributes to and from protobuf. The plain fields come from lists
// (attribute_fields.inc, dimension_number_fields.inc) used in both directions.
#include <memory>
#include <utility>

#include "absl/strings/str_cat.h"
#include "meshwright/base/annotate.h"
#include "meshwright/base/status_macros.h"
#include "meshwright/hlo/iota_groups.h"
#include "meshwright/hlo/mesh_groups.h"
#include "meshwright/hlo/proto_conversion.h"

namespace meshwright::internal {
namespace {

#define MW_MESSAGE_BEGIN(Type, Proto)              \
  void Read(const pb::Proto& proto, Type* value) { \
    value->unknown_fields = proto.unknown_fields();
#define MW_VALUE(field, proto_field) value->field = proto.proto_field();
#define MW_LIST(field, proto_field) \
  value->field = ToVector(proto.proto_field());
#define MW_MESSAGE_END }
#include "meshwright/hlo/dimension_number_fields.inc"
#undef MW_MESSAGE_BEGIN
#undef MW_VALUE
#undef MW_LIST
#undef MW_MESSAGE_END

#define MW_MESSAGE_BEGIN(Type, Proto)               \
  void Write(const Type& value, pb::Proto* proto) { \
    SetUnknownFields(value.unknown_fields, proto);
#define MW_VALUE(field, proto_field) MW_SET(proto, proto_field, value.field)
#define MW_LIST(field, proto_field) \
  AddAll(value.field, proto->mutable_##proto_field());
#define MW_MESSAGE_END }
#include "meshwright/hlo/dimension_number_fields.inc"
#undef MW_MESSAGE_BEGIN
#undef MW_VALUE
#undef MW_LIST
#undef MW_MESSAGE_END

template <typename T, typename Field>
void ReadList(const Field& field, std::vector<T>* values) {
  values->resize(field.size());
  for (int i = 0; i < field.size(); ++i) Read(field.Get(i), &(*values)[i]);
}

template <typename T, typename Field>
void WriteList(const std::vector<T>& values, Field* field) {
  for (const T& value : values) Write(value, field->Add());
}

void Read(const pb::Window& proto, Window* window) {
  ReadList(proto.dimensions(), &window->dimensions);
  window->unknown_fields = proto.unknown_fields();
}

void Write(const Window& window, pb::Window* proto) {
  WriteList(window.dimensions, proto->mutable_dimensions());
  SetUnknownFields(window.unknown_fields, proto);
}

void Read(const pb::PaddingConfig& proto, PaddingConfig* padding) {
  ReadList(proto.dimensions(), &padding->dimensions);
  padding->unknown_fields = proto.unknown_fields();
}

void Write(const PaddingConfig& padding, pb::PaddingConfig* proto) {
  WriteList(padding.dimensions, proto->mutable_dimensions());
  SetUnknownFields(padding.unknown_fields, proto);
}

absl::Status ReadIotaGroups(const pb::IotaReplicaGroupList& proto,
                            std::vector<std::vector<int64_t>>* groups) {
  MW_ASSIGN_OR_RETURN(*groups,
                      ExpandIotaGroups(proto.num_replica_groups(),
                                       proto.num_devices_per_group(),
                                       ToVector(proto.iota_reshape_dims()),
                                       ToVector(proto.iota_transpose_perm())));
  return absl::OkStatus();
}

absl::Status ReadMeshGroups(const pb::MeshAxesReplicaGroupList& proto,
                            std::vector<std::vector<int64_t>>* groups) {
  std::vector<int64_t> sizes;
  for (const auto& axis : proto.mesh().axes()) sizes.push_back(axis.size());
  std::vector<MeshAxisPart> parts;
  for (const pb::MeshAxisRef& axis : proto.axes()) {
    MeshAxisPart& part = parts.emplace_back();
    part.axis = axis.mesh_axis_index();
    if (!axis.has_sub_axis()) continue;
    part.pre_size = axis.sub_axis().pre_size();
    part.size = axis.sub_axis().size();
    if (part.size < 1) {
      return absl::InvalidArgumentError("a part of a mesh axis has no size");
    }
  }
  MW_ASSIGN_OR_RETURN(
      *groups,
      ExpandMeshGroups(sizes, ToVector(proto.mesh().device_ids()), parts));
  return absl::OkStatus();
}

// XLA moved the groups to another field three times; any of the forms becomes
// explicit lists.
absl::Status ReadGroups(const pb::HloInstructionProto& proto,
                        std::vector<std::vector<int64_t>>* groups) {
  if (proto.has_mesh_axes_replica_group_list()) {
    return ReadMeshGroups(proto.mesh_axes_replica_group_list(), groups);
  }
  if (proto.has_iota_collective_device_list()) {
    return ReadIotaGroups(proto.iota_collective_device_list(), groups);
  }
  const pb::CollectiveDeviceList& list = proto.collective_device_list();
  if (list.has_iota_replica_group_list()) {
    return ReadIotaGroups(list.iota_replica_group_list(), groups);
  }
  const auto& explicit_groups = list.replica_groups_size() > 0
                                    ? list.replica_groups()
                                    : proto.replica_groups();
  for (const pb::ReplicaGroup& group : explicit_groups) {
    groups->push_back(ToVector(group.replica_ids()));
  }
  return absl::OkStatus();
}

// Reads messages and lists of messages.
void ReadMessages(const pb::HloInstructionProto& proto,
                  Boxed<Attributes>* attributes) {
  const auto optional = [&](bool has, const auto& message, auto member) {
    if (has) Read(message, &(attributes->mutate().*member).emplace());
  };
  optional(proto.has_dot_dimension_numbers(), proto.dot_dimension_numbers(),
           &Attributes::dot);
  optional(proto.has_convolution_dimension_numbers(),
           proto.convolution_dimension_numbers(), &Attributes::convolution);
  optional(proto.has_window(), proto.window(), &Attributes::window);
  optional(proto.has_precision_config(), proto.precision_config(),
           &Attributes::precision);
  optional(proto.has_gather_dimension_numbers(),
           proto.gather_dimension_numbers(), &Attributes::gather);
  optional(proto.has_scatter_dimension_numbers(),
           proto.scatter_dimension_numbers(), &Attributes::scatter);
  optional(proto.has_padding_config(), proto.padding_config(),
           &Attributes::padding);
  optional(proto.has_triangular_solve_options(),
           proto.triangular_solve_options(), &Attributes::triangular_solve);
  if (proto.has_cholesky_options()) {
    attributes->mutate().cholesky_lower = proto.cholesky_options().lower();
  }
  const auto list = [&](const auto& field, auto member) {
    if (!field.empty()) ReadList(field, &(attributes->mutate().*member));
  };
  list(proto.slice_dimensions(), &Attributes::slice);
  list(proto.source_target_pairs(), &Attributes::source_target_pairs);
  list(proto.output_operand_aliasing(), &Attributes::output_operand_aliasing);
}

void WriteMessages(const Attributes& attributes,
                   pb::HloInstructionProto* proto) {
  const auto optional = [&](const auto& value, auto mutable_field) {
    if (value.has_value()) Write(*value, (proto->*mutable_field)());
  };
  using Proto = pb::HloInstructionProto;
  optional(attributes.dot, &Proto::mutable_dot_dimension_numbers);
  optional(attributes.convolution,
           &Proto::mutable_convolution_dimension_numbers);
  optional(attributes.window, &Proto::mutable_window);
  optional(attributes.precision, &Proto::mutable_precision_config);
  optional(attributes.gather, &Proto::mutable_gather_dimension_numbers);
  optional(attributes.scatter, &Proto::mutable_scatter_dimension_numbers);
  optional(attributes.padding, &Proto::mutable_padding_config);
  optional(attributes.triangular_solve,
           &Proto::mutable_triangular_solve_options);
  if (attributes.cholesky_lower.has_value()) {
    MW_SET(proto->mutable_cholesky_options(), lower,
           *attributes.cholesky_lower);
  }
  WriteList(attributes.slice, proto->mutable_slice_dimensions());
  WriteList(attributes.source_target_pairs,
            proto->mutable_source_target_pairs());
  WriteList(attributes.output_operand_aliasing,
            proto->mutable_output_operand_aliasing());
}

}  // namespace

absl::Status ReadAttributes(const pb::HloInstructionProto& proto,
                            Boxed<Attributes>* attributes) {
#define MW_FIELD(field)                                  \
  if (const auto& value = proto.field();                 \
      value != std::remove_cvref_t<decltype(value)>()) { \
    attributes->mutate().field = value;                  \
  }
#define MW_REPEATED(field)                                \
  if (!proto.field().empty()) {                           \
    attributes->mutate().field = ToVector(proto.field()); \
  }
#include "meshwright/hlo/attribute_fields.inc"
#undef MW_FIELD
#undef MW_REPEATED
  ReadMessages(proto, attributes);
  if (proto.all_reduce_id() != 0 && proto.channel_id() == 0) {
    attributes->mutate().channel_id = proto.all_reduce_id();
  }
  if (proto.has_literal()) {
    auto literal = std::make_shared<Literal>();
    MW_RETURN_IF_ERROR(ReadLiteral(proto.literal(), literal.get()));
    attributes->mutate().literal = std::move(literal);
  }
  std::vector<std::vector<int64_t>> groups;
  MW_RETURN_IF_ERROR(ReadGroups(proto, &groups));
  if (!groups.empty()) attributes->mutate().replica_groups = std::move(groups);
  for (const pb::ShapeProto& shape : proto.operand_shapes_with_layout()) {
    auto& shapes = attributes->mutate().operand_shapes_with_layout;
    MW_RETURN_IF_ERROR(ReadShape(shape, &shapes.emplace_back()));
  }
  return absl::OkStatus();
}

void WriteAttributes(const Attributes& attributes,
                     pb::HloInstructionProto* proto) {
#define MW_FIELD(field) MW_SET(proto, field, attributes.field)
#define MW_REPEATED(field) AddAll(attributes.field, proto->mutable_##field());
#include "meshwright/hlo/attribute_fields.inc"
#undef MW_FIELD
#undef MW_REPEATED
  WriteMessages(attributes, proto);
  if (attributes.literal != nullptr) {
    WriteLiteral(*attributes.literal, proto->mutable_literal());
  }
  for (const std::vector<int64_t>& group : attributes.replica_groups) {
    AddAll(group, proto->mutable_collective_device_list()
                      ->add_replica_groups()
                      ->mutable_replica_ids());
  }
  for (const Shape& shape : attributes.operand_shapes_with_layout) {
    WriteShape(shape, proto->add_operand_shapes_with_layout());
  }
}

}  // namespace meshwright::internal
