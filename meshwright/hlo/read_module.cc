#include "meshwright/hlo/read_module.h"

#include <google/protobuf/arena.h>

#include <string>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "meshwright/base/annotate.h"
#include "meshwright/base/status_macros.h"
#include "meshwright/hlo/compression.h"
#include "meshwright/hlo/proto_conversion.h"
#include "meshwright/hlo/read_text.h"

namespace meshwright {
namespace {

using internal::ReadAttributes;
using internal::ReadShape;
using internal::ToVector;

// Since 0.5, the high half of XLA's instruction ids is the computation; the low
// half alone is unique within a computation, in old files too.
uint32_t LocalId(int64_t id) { return static_cast<uint32_t>(id); }

using ComputationsById = absl::flat_hash_map<int64_t, Computation*>;
using InstructionsById = absl::flat_hash_map<uint32_t, Instruction*>;

Metadata ReadMetadata(const pb::OpMetadata& proto) {
  return {.op_type = proto.op_type(),
          .op_name = proto.op_name(),
          .source_file = proto.source_file(),
          .source_line = proto.source_line(),
          .unknown_fields = proto.unknown_fields()};
}

// Resolves instruction ids of one computation into pointers.
absl::Status Resolve(const google::protobuf::RepeatedField<int64_t>& ids,
                     const InstructionsById& known, absl::string_view what,
                     std::vector<Instruction*>* instructions) {
  instructions->reserve(ids.size());
  for (const int64_t id : ids) {
    const auto found = known.find(LocalId(id));
    if (found == known.end()) {
      return absl::InvalidArgumentError(absl::StrCat(
          what, " id ", id, " is not an earlier instruction of the same ",
          "computation (missing, cyclic or out of order)"));
    }
    instructions->push_back(found->second);
  }
  return absl::OkStatus();
}

absl::Status ReadInstruction(const pb::HloInstructionProto& proto,
                             const ComputationsById& computations,
                             InstructionsById* known,
                             Computation* computation) {
  Shape shape;
  MW_RETURN_IF_ERROR(ReadShape(proto.shape(), &shape));
  std::vector<Instruction*> operands;
  MW_RETURN_IF_ERROR(
      Resolve(proto.operand_ids(), *known, "operand", &operands));
  Instruction* instruction =
      computation->Add(ParseOpcode(proto.opcode()), std::move(shape),
                       std::move(operands), proto.name());
  if (instruction->opcode == Opcode::kUnknown) {
    instruction->attributes.mutate().opcode_name = proto.opcode();
  }
  for (const int64_t id : proto.called_computation_ids()) {
    const auto found = computations.find(id);
    if (found == computations.end()) {
      return absl::InvalidArgumentError(absl::StrCat(
          "called computation id ", id,
          " is not an earlier computation (missing, cyclic or out of order)"));
    }
    instruction->called.push_back(found->second);
  }
  MW_RETURN_IF_ERROR(ReadAttributes(proto, &instruction->attributes));
  if (proto.has_metadata()) {
    instruction->metadata = ReadMetadata(proto.metadata());
  }
  if (proto.has_sharding()) {
    instruction->sharding.mutate() = internal::ReadSharding(proto.sharding());
  }
  if (proto.has_frontend_attributes()) {
    instruction->frontend_attributes =
        internal::ReadFrontendAttributes(proto.frontend_attributes());
  }
  instruction->unknown_fields = proto.unknown_fields();
  if (!known->emplace(LocalId(proto.id()), instruction).second) {
    return absl::InvalidArgumentError(
        absl::StrCat("instruction id ", proto.id(), " is used twice"));
  }
  return absl::OkStatus();
}

// The order in which instructions are read: that of the schedule, if there is
// one.
absl::StatusOr<std::vector<const pb::HloInstructionProto*>> InstructionOrder(
    const pb::HloComputationProto& proto, const pb::HloModuleProto& module) {
  std::vector<const pb::HloInstructionProto*> order;
  order.reserve(proto.instructions_size());
  const auto& sequences = module.schedule().sequences();
  const auto sequence = sequences.find(proto.id());
  if (sequence == sequences.end()) {
    for (const auto& instruction : proto.instructions()) {
      order.push_back(&instruction);
    }
    return order;
  }
  absl::flat_hash_map<uint32_t, const pb::HloInstructionProto*> by_id;
  for (const auto& instruction : proto.instructions()) {
    by_id.emplace(LocalId(instruction.id()), &instruction);
  }
  for (const int64_t id : sequence->second.instruction_ids()) {
    const auto found = by_id.find(LocalId(id));
    if (found == by_id.end()) {
      return absl::InvalidArgumentError(
          absl::StrCat("schedule names instruction id ", id,
                       ", which is missing or scheduled twice"));
    }
    order.push_back(found->second);
    by_id.erase(found);
  }
  if (std::ssize(order) != proto.instructions_size()) {
    return absl::InvalidArgumentError("schedule leaves instructions out");
  }
  return order;
}

absl::Status ReadComputation(const pb::HloComputationProto& proto,
                             const pb::HloModuleProto& module_proto,
                             ComputationsById* computations, Module* module) {
  Computation* computation = module->AddComputation(proto.name());
  InstructionsById known;
  known.reserve(proto.instructions_size());
  MW_ASSIGN_OR_RETURN(const auto order, InstructionOrder(proto, module_proto));
  for (const pb::HloInstructionProto* instruction : order) {
    const absl::Status status =
        ReadInstruction(*instruction, *computations, &known, computation);
    MW_RETURN_IF_ERROR(Annotate(
        status, absl::StrCat("instruction \"", instruction->name(), "\"")));
  }
  // Control predecessors may come later in the list than their successors.
  for (int i = 0; i < std::ssize(order); ++i) {
    MW_RETURN_IF_ERROR(Resolve(
        order[i]->control_predecessor_ids(), known, "control predecessor",
        &computation->instruction(i)->control_predecessors));
  }
  const auto root = known.find(LocalId(proto.root_id()));
  if (root == known.end()) {
    return absl::InvalidArgumentError(
        absl::StrCat("root id ", proto.root_id(), " does not exist"));
  }
  computation->set_root(root->second);
  computation->is_fusion = proto.is_fusion_computation();
  computation->is_scheduled =
      module_proto.schedule().sequences().contains(proto.id());
  computation->execution_thread = proto.execution_thread();
  computation->unknown_fields = proto.unknown_fields();
  if (!computations->emplace(proto.id(), computation).second) {
    return absl::InvalidArgumentError(
        absl::StrCat("computation id ", proto.id(), " is used twice"));
  }
  return absl::OkStatus();
}

absl::Status ReadModuleFields(const pb::HloModuleProto& proto, Module* module) {
  for (const auto& entry : proto.input_output_alias().entries()) {
    module->aliases.push_back(
        {.output_index = ToVector(entry.output_shape_index()),
         .parameter_number = entry.parameter_number(),
         .parameter_index = ToVector(entry.parameter_shape_index()),
         .kind = static_cast<Alias::Kind>(entry.kind()),
         .unknown_fields = entry.unknown_fields()});
  }
  for (const auto& entry : proto.buffer_donor().entries()) {
    module->buffer_donors.push_back(
        {.parameter_number = entry.parameter_number(),
         .parameter_index = ToVector(entry.parameter_shape_index()),
         .unknown_fields = entry.unknown_fields()});
  }
  module->frontend_attributes =
      internal::ReadFrontendAttributes(proto.frontend_attributes());
  if (proto.has_spmd_output_sharding()) {
    module->spmd_output_sharding.mutate() =
        internal::ReadSharding(proto.spmd_output_sharding());
  }
  for (const pb::OpSharding& sharding : proto.spmd_parameters_shardings()) {
    module->spmd_parameters_shardings.push_back(
        internal::ReadSharding(sharding));
  }
  module->is_scheduled = proto.has_schedule();
  module->unknown_fields = proto.unknown_fields();
  if (!proto.has_host_program_shape()) return absl::OkStatus();
  return Annotate(internal::ReadProgramShape(proto.host_program_shape(),
                                             &module->entry_layout.emplace()),
                  "host_program_shape");
}

absl::StatusOr<Module> FromProto(const pb::HloModuleProto& proto) {
  Module module(proto.name());
  ComputationsById computations;
  for (const pb::HloComputationProto& computation : proto.computations()) {
    const absl::Status status =
        ReadComputation(computation, proto, &computations, &module);
    MW_RETURN_IF_ERROR(Annotate(
        status, absl::StrCat("computation \"", computation.name(), "\"")));
  }
  const auto entry = computations.find(proto.entry_computation_id());
  if (entry == computations.end()) {
    return absl::InvalidArgumentError(absl::StrCat("entry computation id ",
                                                   proto.entry_computation_id(),
                                                   " does not exist"));
  }
  module.set_entry(entry->second);
  MW_RETURN_IF_ERROR(ReadModuleFields(proto, &module));
  return module;
}

// Recognises other kinds of files by their first bytes.
absl::Status CheckKind(absl::string_view bytes) {
  if (bytes.empty()) return absl::InvalidArgumentError("the file is empty");
  const auto convert = [](absl::string_view kind) {
    return absl::InvalidArgumentError(absl::StrCat(
        "this is ", kind, ", not a serialized HloModuleProto; convert it with ",
        "`python -m meshwright.convert IN OUT.hlo.pb`"));
  };
  if (absl::StartsWith(bytes, "ML\xefR")) return convert("MLIR bytecode");
  const absl::string_view head = bytes.substr(0, 4096);
  if (absl::StartsWith(head, "module") || absl::StartsWith(head, "#loc") ||
      absl::StrContains(head, "func.func")) {
    return convert("MLIR text");
  }
  return absl::OkStatus();
}

bool Parse(absl::string_view bytes, google::protobuf::MessageLite* message) {
  return message->ParseFromArray(bytes.data(), static_cast<int>(bytes.size()));
}

}  // namespace

absl::StatusOr<Module> ReadModule(absl::string_view bytes) {
  std::string decompressed;
  if (DetectCompression(bytes) != Compression::kNone) {
    MW_ASSIGN_OR_RETURN(decompressed, Decompress(bytes));
    bytes = decompressed;
  }
  if (IsModuleText(bytes)) return ReadModuleText(bytes);
  MW_RETURN_IF_ERROR(CheckKind(bytes));
  if (std::ssize(bytes) > kMaxModuleBytes) {
    return absl::InvalidArgumentError(absl::StrCat(
        bytes.size(), " bytes; a module has at most ", kMaxModuleBytes));
  }
  google::protobuf::ArenaOptions options;
  options.max_block_size = size_t{1} << 20;
  google::protobuf::Arena arena(options);
  auto* proto =
      google::protobuf::Arena::CreateMessage<pb::HloModuleProto>(&arena);
  const bool parsed = Parse(bytes, proto);
  if (parsed && proto->has_host_program_shape()) return FromProto(*proto);
  // XLA's dumps wrap the module in an HloProto.
  auto* wrapper = google::protobuf::Arena::CreateMessage<pb::HloProto>(&arena);
  if (Parse(bytes, wrapper) && wrapper->hlo_module().computations_size() > 0) {
    return FromProto(wrapper->hlo_module());
  }
  if (!parsed || proto->computations_size() == 0) {
    return absl::InvalidArgumentError(
        "not a serialized HloModuleProto (damaged, truncated or another kind "
        "of file)");
  }
  return FromProto(*proto);
}

}  // namespace meshwright
