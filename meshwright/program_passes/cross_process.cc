#include "meshwright/program_passes/cross_process.h"

#include <algorithm>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/strings/str_cat.h"
#include "meshwright/base/status_macros.h"
#include "meshwright/program_passes/cross_call.h"
#include "meshwright/program_passes/cross_call_of.h"

namespace meshwright {
namespace {

Shape RowMajor(Shape shape) {
  for (Shape& element : shape.tuple_shapes) element = RowMajor(element);
  if (!shape.IsArray()) return shape;
  shape.layout.emplace();
  for (int64_t i = shape.rank(); i-- > 0;) {
    shape.layout->minor_to_major.push_back(i);
  }
  return shape;
}

template <typename T>
std::string BytesOf(const std::vector<T>& values) {
  return std::string(reinterpret_cast<const char*>(values.data()),
                     values.size() * sizeof(T));
}

class Lowering {
 public:
  Lowering(const Module& program, const ProcessPlace& place, int64_t job,
           uint32_t first_tag)
      : program_(program),
        place_(place),
        job_(job),
        next_tag_(first_tag),
        devices_(LocalDevices(place)),
        module_(program.name()) {}

  absl::StatusOr<Module> Run() {
    if (devices_.empty()) {
      return absl::InvalidArgumentError(
          absl::StrCat("process ", place_.process, " has none of the devices"));
    }
    local_.assign(place_.process_of.size(), -1);
    for (size_t i = 0; i < devices_.size(); ++i) {
      local_[devices_[i]] = static_cast<int64_t>(i);
    }
    for (const auto& computation : program_.computations()) {
      for (const auto& instruction : computation->instructions()) {
        names_.insert(instruction->name);
      }
    }
    for (const auto& computation : program_.computations()) {
      MW_RETURN_IF_ERROR(Copy(*computation));
    }
    module_.set_entry(computations_.at(program_.entry()));
    module_.entry_layout = program_.entry_layout;
    module_.aliases = program_.aliases;
    module_.buffer_donors = program_.buffer_donors;
    module_.frontend_attributes = program_.frontend_attributes;
    module_.spmd_output_sharding = program_.spmd_output_sharding;
    module_.spmd_parameters_shardings = program_.spmd_parameters_shardings;
    module_.is_scheduled = program_.is_scheduled;
    module_.unknown_fields = program_.unknown_fields;
    module_.Finish();
    return std::move(module_);
  }

 private:
  absl::Status Copy(const Computation& from) {
    to_ = module_.AddComputation(from.name());
    to_->is_fusion = from.is_fusion;
    to_->is_scheduled = from.is_scheduled;
    to_->execution_thread = from.execution_thread;
    to_->unknown_fields = from.unknown_fields;
    computations_[&from] = to_;
    copies_.clear();
    device_ = nullptr;
    last_call_ = nullptr;
    for (const auto& instruction : from.instructions()) {
      MW_ASSIGN_OR_RETURN(Instruction * copy, Lower(*instruction));
      copies_[instruction.get()] = copy;
      if (!IsCall(*copy)) continue;
      calling_.insert(to_);
      Follow(copy);
    }
    for (const auto& instruction : from.instructions()) {
      Instruction* const copy = copies_.at(instruction.get());
      for (const Instruction* before : instruction->control_predecessors) {
        AddPredecessor(copy, copies_.at(before));
      }
    }
    to_->set_root(copies_.at(from.root()));
    return absl::OkStatus();
  }

  absl::StatusOr<Instruction*> Lower(const Instruction& from) {
    if (from.opcode == Opcode::kReplicaId) return Device();
    if (from.opcode == Opcode::kPartitionId) {
      return Constant(Shape::Scalar(ElementType::kU32), BytesOf<uint32_t>({0}),
                      from.name);
    }
    if (!HasDeviceGroups(from)) return Plain(from);
    MW_ASSIGN_OR_RETURN(const DeviceGroups groups,
                        DeviceGroupsOf(from, place_));
    return groups.crosses ? Cross(from, groups) : Local(from, groups);
  }

  Instruction* Plain(const Instruction& from) {
    std::vector<Instruction*> operands;
    operands.reserve(from.operands.size());
    for (const Instruction* operand : from.operands) {
      operands.push_back(copies_.at(operand));
    }
    Instruction* copy =
        from.opcode == Opcode::kParameter
            ? to_->AddParameter(from.shape, from.name)
            : to_->Add(from.opcode, from.shape, std::move(operands), from.name);
    for (const Computation* called : from.called) {
      copy->called.push_back(computations_.at(called));
    }
    copy->attributes = from.attributes;
    copy->metadata = from.metadata;
    copy->sharding = from.sharding;
    copy->frontend_attributes = from.frontend_attributes;
    copy->unknown_fields = from.unknown_fields;
    return copy;
  }

  // The compiler's, among the replicas that are here.
  Instruction* Local(const Instruction& from, const DeviceGroups& groups) {
    const bool permutes = !from.attributes->source_target_pairs.empty();
    std::vector<SourceTarget> pairs;
    for (SourceTarget pair : from.attributes->source_target_pairs) {
      if (local_[pair.source] < 0) continue;
      pair.source = local_[pair.source];
      pair.target = local_[pair.target];
      pairs.push_back(std::move(pair));
    }
    if (permutes && pairs.empty() && from.shape.IsArray()) return Zeros(from);
    Instruction* copy = Plain(from);
    Attributes& attributes = copy->attributes.mutate();
    attributes.source_target_pairs = std::move(pairs);
    attributes.replica_groups.clear();
    if (permutes) return copy;
    for (std::vector<int64_t> group : groups.groups) {
      if (group.empty() || local_[group[0]] < 0) continue;
      for (int64_t& device : group) device = local_[device];
      attributes.replica_groups.push_back(std::move(group));
    }
    return copy;
  }

  absl::StatusOr<Instruction*> Cross(const Instruction& from,
                                     const DeviceGroups& groups) {
    const uint32_t tag = next_tag_;
    next_tag_ += static_cast<uint32_t>(groups.groups.size());
    MW_ASSIGN_OR_RETURN(const CrossCall call,
                        CrossCallOf(from, groups, place_, tag));
    std::vector<Instruction*> operands;
    for (const Instruction* operand : from.operands) {
      operands.push_back(copies_.at(operand));
    }
    operands.push_back(Device());
    Instruction* copy = to_->Add(Opcode::kCustomCall, RowMajor(from.shape),
                                 std::move(operands), from.name);
    Attributes& attributes = copy->attributes.mutate();
    attributes.custom_call_target = std::string(kCrossCallTarget);
    attributes.custom_call_has_side_effect = true;
    attributes.custom_call_api_version = 4;  // API_VERSION_TYPED_FFI
    attributes.backend_config = absl::StrCat(
        "{job = ", job_, " : i64, member = ", place_.process,
        " : i64, tag = ", tag, " : i64, kind = \"", Name(call.kind),
        "\", op = \"", ReduceOpName(call.op),
        "\", dimension = ", call.dimension, " : i64, groups = \"",
        ToString(call.groups), "\", pairs = \"", ToString(call.pairs), "\"}");
    attributes.constrain_layout = true;
    for (const Instruction* operand : copy->operands) {
      attributes.operand_shapes_with_layout.push_back(RowMajor(operand->shape));
    }
    copy->metadata = from.metadata;
    copy->frontend_attributes = from.frontend_attributes;
    return copy;
  }

  // Zeros where `from` stands.
  Instruction* Zeros(const Instruction& from) {
    const ElementType type = from.shape.element_type;
    Instruction* zero =
        Constant(Shape::Scalar(type), std::string(HostBytes(type), '\0'),
                 Unique("zero"));
    return to_->Add(Opcode::kBroadcast, from.shape, {zero}, from.name);
  }

  // u32[]: the device's number in the mesh.
  Instruction* Device() {
    if (device_ != nullptr) return device_;
    const std::vector<uint32_t> numbers(devices_.begin(), devices_.end());
    const Shape scalar = Shape::Scalar(ElementType::kU32);
    if (numbers.size() == 1) {
      return device_ = Constant(scalar, BytesOf(numbers), Unique("device"));
    }
    Instruction* replica =
        to_->Add(Opcode::kReplicaId, scalar, {}, Unique("local_device"));
    if (numbers.back() - numbers.front() + 1 != numbers.size()) {
      return device_ = Lookup(numbers, replica);
    }
    if (numbers.front() == 0) return device_ = replica;
    Instruction* first = Constant(scalar, BytesOf<uint32_t>({numbers.front()}),
                                  Unique("first_device"));
    return device_ = to_->Add(Opcode::kAdd, scalar, {replica, first},
                              Unique("device"));
  }

  // numbers[index].
  Instruction* Lookup(const std::vector<uint32_t>& numbers,
                      Instruction* index) {
    const auto vector = [](size_t size) {
      return Shape::Array(ElementType::kU32, {static_cast<int64_t>(size)});
    };
    Instruction* table =
        Constant(vector(numbers.size()), BytesOf(numbers), Unique("devices"));
    Instruction* one = to_->Add(Opcode::kDynamicSlice, vector(1),
                                {table, index}, Unique("one_device"));
    one->attributes.mutate().dynamic_slice_sizes = {1};
    return to_->Add(Opcode::kReshape, Shape::Scalar(ElementType::kU32), {one},
                    Unique("device"));
  }

  Instruction* Constant(Shape shape, std::string bytes, std::string name) {
    Literal literal;
    literal.shape = RowMajor(std::move(shape));
    literal.data = std::move(bytes);
    Instruction* constant =
        to_->Add(Opcode::kConstant, literal.shape, {}, std::move(name));
    constant->attributes.mutate().literal =
        std::make_shared<const Literal>(std::move(literal));
    return constant;
  }

  std::string Unique(absl::string_view stem) {
    std::string name(stem);
    for (int64_t i = 1; !names_.insert(name).second; ++i) {
      name = absl::StrCat(stem, ".", i);
    }
    return name;
  }

  bool IsCall(const Instruction& copy) const {
    return (copy.opcode == Opcode::kCustomCall &&
            copy.attributes->custom_call_target == kCrossCallTarget) ||
           std::ranges::any_of(copy.called, [&](const Computation* called) {
             return calling_.contains(called);
           });
  }

  // Calls come in one order, which is the same in all processes.
  void Follow(Instruction* call) {
    if (last_call_ != nullptr) AddPredecessor(call, last_call_);
    last_call_ = call;
  }

  static void AddPredecessor(Instruction* instruction, Instruction* before) {
    std::vector<Instruction*>& all = instruction->control_predecessors;
    if (std::ranges::find(all, before) == all.end()) all.push_back(before);
  }

  const Module& program_;
  const ProcessPlace& place_;
  const int64_t job_;
  uint32_t next_tag_;
  const std::vector<int64_t> devices_;
  std::vector<int64_t> local_;  // By device; -1: not here.
  Module module_;
  absl::flat_hash_set<std::string> names_;
  absl::flat_hash_map<const Computation*, Computation*> computations_;
  absl::flat_hash_set<const Computation*> calling_;  // Those with calls.

  // Of the computation that is being copied.
  Computation* to_ = nullptr;
  absl::flat_hash_map<const Instruction*, Instruction*> copies_;
  Instruction* device_ = nullptr;
  Instruction* last_call_ = nullptr;
};

}  // namespace

absl::StatusOr<Module> LowerForProcess(const Module& program,
                                       const ProcessPlace& place, int64_t job,
                                       uint32_t first_tag) {
  return Lowering(program, place, job, first_tag).Run();
}

absl::StatusOr<uint32_t> CrossTagCount(const Module& program,
                                       const ProcessPlace& place) {
  uint32_t count = 0;
  for (const auto& computation : program.computations()) {
    for (const auto& instruction : computation->instructions()) {
      if (!HasDeviceGroups(*instruction)) continue;
      MW_ASSIGN_OR_RETURN(const DeviceGroups groups,
                          DeviceGroupsOf(*instruction, place));
      if (groups.crosses) count += static_cast<uint32_t>(groups.groups.size());
    }
  }
  return count;
}

}  // namespace meshwright
