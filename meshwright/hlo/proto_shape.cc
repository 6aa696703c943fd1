// Converts shapes, layouts, shardings and frontend attributes to and from
// protobuf.
#include "absl/strings/str_cat.h"
#include "meshwright/base/status_macros.h"
#include "meshwright/hlo/proto_conversion.h"

namespace meshwright::internal {
namespace {

Layout ReadLayout(const pb::LayoutProto& proto) {
  Layout layout;
  layout.minor_to_major = ToVector(proto.minor_to_major());
  for (const pb::Tile& tile : proto.tiles()) {
    layout.tiles.push_back(ToVector(tile.dimensions()));
  }
  layout.element_size_in_bits = proto.element_size_in_bits();
  layout.memory_space = proto.memory_space();
  layout.unknown_fields = proto.unknown_fields();
  return layout;
}

void WriteLayout(const Layout& layout, pb::LayoutProto* proto) {
  AddAll(layout.minor_to_major, proto->mutable_minor_to_major());
  for (const std::vector<int64_t>& tile : layout.tiles) {
    AddAll(tile, proto->add_tiles()->mutable_dimensions());
  }
  MW_SET(proto, element_size_in_bits, layout.element_size_in_bits)
  MW_SET(proto, memory_space, layout.memory_space)
  SetUnknownFields(layout.unknown_fields, proto);
}

}  // namespace

absl::Status ReadShape(const pb::ShapeProto& proto, Shape* shape) {
  const auto type = ElementTypeFromNumber(proto.element_type());
  if (!type.has_value()) {
    return absl::InvalidArgumentError(
        absl::StrCat("shape has unknown element type ", proto.element_type()));
  }
  shape->element_type = *type;
  shape->dimensions = ToVector(proto.dimensions());
  // JAX marks every dimension as static; an empty list means the same.
  for (const bool dynamic : proto.is_dynamic_dimension()) {
    if (!dynamic) continue;
    shape->dynamic_dimensions.assign(proto.is_dynamic_dimension().begin(),
                                     proto.is_dynamic_dimension().end());
    break;
  }
  shape->tuple_shapes.resize(proto.tuple_shapes_size());
  for (int i = 0; i < proto.tuple_shapes_size(); ++i) {
    MW_RETURN_IF_ERROR(
        ReadShape(proto.tuple_shapes(i), &shape->tuple_shapes[i]));
  }
  if (proto.has_layout()) shape->layout = ReadLayout(proto.layout());
  shape->unknown_fields = proto.unknown_fields();
  return absl::OkStatus();
}

void WriteShape(const Shape& shape, pb::ShapeProto* proto) {
  MW_SET(proto, element_type, static_cast<int32_t>(shape.element_type))
  AddAll(shape.dimensions, proto->mutable_dimensions());
  if (shape.dynamic_dimensions.empty()) {
    // Older XLA logs a warning for each shape without the marks.
    proto->mutable_is_dynamic_dimension()->Resize(
        static_cast<int>(shape.rank()), false);
  } else {
    AddAll(shape.dynamic_dimensions, proto->mutable_is_dynamic_dimension());
  }
  for (const Shape& element : shape.tuple_shapes) {
    WriteShape(element, proto->add_tuple_shapes());
  }
  if (shape.layout.has_value()) {
    WriteLayout(*shape.layout, proto->mutable_layout());
  }
  SetUnknownFields(shape.unknown_fields, proto);
}

absl::Status ReadProgramShape(const pb::ProgramShapeProto& proto,
                              ProgramShape* shape) {
  shape->parameters.resize(proto.parameters_size());
  for (int i = 0; i < proto.parameters_size(); ++i) {
    MW_RETURN_IF_ERROR(ReadShape(proto.parameters(i), &shape->parameters[i]));
  }
  MW_RETURN_IF_ERROR(ReadShape(proto.result(), &shape->result));
  shape->parameter_names.assign(proto.parameter_names().begin(),
                                proto.parameter_names().end());
  shape->unknown_fields = proto.unknown_fields();
  return absl::OkStatus();
}

void WriteProgramShape(const ProgramShape& shape,
                       pb::ProgramShapeProto* proto) {
  for (const Shape& parameter : shape.parameters) {
    WriteShape(parameter, proto->add_parameters());
  }
  WriteShape(shape.result, proto->mutable_result());
  for (const std::string& name : shape.parameter_names) {
    proto->add_parameter_names(name);
  }
  SetUnknownFields(shape.unknown_fields, proto);
}

OpSharding ReadSharding(const pb::OpSharding& proto) {
  OpSharding sharding;
  sharding.kind = static_cast<OpSharding::Kind>(proto.type());
  sharding.tile_dimensions = ToVector(proto.tile_assignment_dimensions());
  sharding.devices = ToVector(proto.tile_assignment_devices());
  sharding.iota_reshape_dims = ToVector(proto.iota_reshape_dims());
  sharding.iota_transpose_perm = ToVector(proto.iota_transpose_perm());
  sharding.replicate_on_last_tile_dim = proto.replicate_on_last_tile_dim();
  for (const int32_t kind : proto.last_tile_dims()) {
    sharding.last_tile_dims.push_back(static_cast<OpSharding::Kind>(kind));
  }
  for (const pb::OpSharding& element : proto.tuple_shardings()) {
    sharding.tuple.push_back(ReadSharding(element));
  }
  sharding.unknown_fields = proto.unknown_fields();
  return sharding;
}

void WriteSharding(const OpSharding& sharding, pb::OpSharding* proto) {
  MW_SET(proto, type, static_cast<int32_t>(sharding.kind))
  AddAll(sharding.tile_dimensions, proto->mutable_tile_assignment_dimensions());
  AddAll(sharding.devices, proto->mutable_tile_assignment_devices());
  AddAll(sharding.iota_reshape_dims, proto->mutable_iota_reshape_dims());
  AddAll(sharding.iota_transpose_perm, proto->mutable_iota_transpose_perm());
  MW_SET(proto, replicate_on_last_tile_dim, sharding.replicate_on_last_tile_dim)
  for (const OpSharding::Kind kind : sharding.last_tile_dims) {
    proto->add_last_tile_dims(static_cast<int32_t>(kind));
  }
  for (const OpSharding& element : sharding.tuple) {
    WriteSharding(element, proto->add_tuple_shardings());
  }
  SetUnknownFields(sharding.unknown_fields, proto);
}

FrontendAttributes ReadFrontendAttributes(const pb::FrontendAttributes& proto) {
  return FrontendAttributes(proto.map().begin(), proto.map().end());
}

void WriteFrontendAttributes(const FrontendAttributes& attributes,
                             pb::FrontendAttributes* proto) {
  proto->mutable_map()->insert(attributes.begin(), attributes.end());
}

}  // namespace meshwright::internal
