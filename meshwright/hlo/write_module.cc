#include "meshwright/hlo/write_module.h"

#include <google/protobuf/arena.h>
#include <google/protobuf/io/coded_stream.h>
#include <google/protobuf/io/zero_copy_stream_impl_lite.h>

#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/str_cat.h"
#include "meshwright/hlo/compression.h"
#include "meshwright/hlo/proto_conversion.h"

namespace meshwright {
namespace {

using internal::AddAll;
using internal::SetUnknownFields;
using internal::WriteShape;

// Ids of computations, and the id of each computation's first instruction.
struct Ids {
  struct Range {
    int64_t computation = 0;
    int64_t first_instruction = 0;
  };
  absl::flat_hash_map<const Computation*, Range> ranges;

  int64_t Of(const Computation& computation) const {
    return ranges.at(&computation).computation;
  }
};

Ids NumberEverything(const Module& module) {
  Ids ids;
  int64_t next = 1;
  for (const auto& computation : module.computations()) {
    Ids::Range& range = ids.ranges[computation.get()];
    range.first_instruction = next;
    next += computation->size();
    range.computation = next++;
  }
  return ids;
}

void WriteMetadata(const Metadata& metadata, pb::OpMetadata* proto) {
  MW_SET(proto, op_type, metadata.op_type)
  MW_SET(proto, op_name, metadata.op_name)
  MW_SET(proto, source_file, metadata.source_file)
  MW_SET(proto, source_line, metadata.source_line)
  SetUnknownFields(metadata.unknown_fields, proto);
}

void WriteInstruction(const Instruction& instruction, int64_t first_id,
                      const Ids& ids, pb::HloInstructionProto* proto) {
  MW_SET(proto, name, instruction.name)
  MW_SET(proto, opcode, std::string(instruction.opcode_name()))
  WriteShape(instruction.shape, proto->mutable_shape());
  MW_SET(proto, id, first_id + instruction.id)
  for (const Instruction* operand : instruction.operands) {
    proto->add_operand_ids(first_id + operand->id);
  }
  for (const Instruction* predecessor : instruction.control_predecessors) {
    proto->add_control_predecessor_ids(first_id + predecessor->id);
  }
  for (const Computation* called : instruction.called) {
    proto->add_called_computation_ids(ids.Of(*called));
  }
  if (instruction.attributes.has_value()) {
    internal::WriteAttributes(*instruction.attributes, proto);
  }
  if (!(instruction.metadata == Metadata())) {
    WriteMetadata(instruction.metadata, proto->mutable_metadata());
  }
  if (instruction.sharding.has_value()) {
    internal::WriteSharding(*instruction.sharding, proto->mutable_sharding());
  }
  if (!instruction.frontend_attributes.empty()) {
    internal::WriteFrontendAttributes(instruction.frontend_attributes,
                                      proto->mutable_frontend_attributes());
  }
  SetUnknownFields(instruction.unknown_fields, proto);
}

void WriteComputation(const Computation& computation, const Ids& ids,
                      pb::HloComputationProto* proto) {
  const Ids::Range& range = ids.ranges.at(&computation);
  MW_SET(proto, name, computation.name())
  MW_SET(proto, id, range.computation)
  MW_SET(proto, root_id, range.first_instruction + computation.root()->id)
  MW_SET(proto, is_fusion_computation, computation.is_fusion)
  MW_SET(proto, execution_thread, computation.execution_thread)
  internal::WriteProgramShape(ProgramShapeOf(computation),
                              proto->mutable_program_shape());
  proto->mutable_instructions()->Reserve(computation.size());
  for (const auto& instruction : computation.instructions()) {
    WriteInstruction(*instruction, range.first_instruction, ids,
                     proto->add_instructions());
  }
  SetUnknownFields(computation.unknown_fields, proto);
}

void WriteSchedule(const Module& module, const Ids& ids,
                   pb::HloScheduleProto* proto) {
  for (const auto& computation : module.computations()) {
    if (!computation->is_scheduled) continue;
    const Ids::Range& range = ids.ranges.at(computation.get());
    auto& sequence = (*proto->mutable_sequences())[range.computation];
    for (int32_t i = 0; i < computation->size(); ++i) {
      sequence.add_instruction_ids(range.first_instruction + i);
    }
  }
}

void WriteAliases(const Module& module, pb::HloModuleProto* proto) {
  for (const Alias& alias : module.aliases) {
    auto* entry = proto->mutable_input_output_alias()->add_entries();
    AddAll(alias.output_index, entry->mutable_output_shape_index());
    MW_SET(entry, parameter_number, alias.parameter_number)
    AddAll(alias.parameter_index, entry->mutable_parameter_shape_index());
    MW_SET(entry, kind, static_cast<int32_t>(alias.kind))
    SetUnknownFields(alias.unknown_fields, entry);
  }
  for (const BufferDonor& donor : module.buffer_donors) {
    auto* entry = proto->mutable_buffer_donor()->add_entries();
    MW_SET(entry, parameter_number, donor.parameter_number)
    AddAll(donor.parameter_index, entry->mutable_parameter_shape_index());
    SetUnknownFields(donor.unknown_fields, entry);
  }
}

void ToProto(const Module& module, pb::HloModuleProto* proto) {
  const Ids ids = NumberEverything(module);
  MW_SET(proto, name, module.name())
  MW_SET(proto, entry_computation_name, module.entry()->name())
  MW_SET(proto, entry_computation_id, ids.Of(*module.entry()))
  for (const auto& computation : module.computations()) {
    WriteComputation(*computation, ids, proto->add_computations());
  }
  internal::WriteProgramShape(module.entry_layout
                                  ? *module.entry_layout
                                  : ProgramShapeOf(*module.entry()),
                              proto->mutable_host_program_shape());
  if (module.is_scheduled) {
    WriteSchedule(module, ids, proto->mutable_schedule());
  }
  WriteAliases(module, proto);
  if (!module.frontend_attributes.empty()) {
    internal::WriteFrontendAttributes(module.frontend_attributes,
                                      proto->mutable_frontend_attributes());
  }
  if (module.spmd_output_sharding.has_value()) {
    internal::WriteSharding(*module.spmd_output_sharding,
                            proto->mutable_spmd_output_sharding());
  }
  for (const OpSharding& sharding : module.spmd_parameters_shardings) {
    internal::WriteSharding(sharding, proto->add_spmd_parameters_shardings());
  }
  SetUnknownFields(module.unknown_fields, proto);
}

}  // namespace

absl::StatusOr<std::string> WriteModule(const Module& module) {
  google::protobuf::ArenaOptions options;
  options.max_block_size = size_t{1} << 20;
  google::protobuf::Arena arena(options);
  auto* proto =
      google::protobuf::Arena::CreateMessage<pb::HloModuleProto>(&arena);
  ToProto(module, proto);
  const size_t size = proto->ByteSizeLong();
  if (size > size_t{kMaxModuleBytes}) {
    return absl::ResourceExhaustedError(absl::StrCat(
        "module \"", module.name(), "\" needs ", size,
        " bytes; a serialized module has at most ", kMaxModuleBytes));
  }
  std::string bytes(size, '\0');
  google::protobuf::io::ArrayOutputStream array(bytes.data(),
                                                static_cast<int>(size));
  google::protobuf::io::CodedOutputStream stream(&array);
  stream.SetSerializationDeterministic(true);
  proto->SerializeWithCachedSizes(&stream);
  return bytes;
}

}  // namespace meshwright
