#include "meshwright/crossing/cross_process.h"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/strings/str_cat.h"
#include "meshwright/base/status_macros.h"
#include "meshwright/crossing/cross_builder.h"
#include "meshwright/crossing/cross_call.h"
#include "meshwright/crossing/cross_call_of.h"
#include "meshwright/crossing/cross_frame.h"
#include "meshwright/crossing/wire_type.h"

namespace meshwright {
namespace {

// The number of tags used by calls of a computation; those of callees count per
// call.
using TagCounts = absl::flat_hash_map<const Computation*, uint32_t>;

absl::StatusOr<TagCounts> CountTags(const Module& program,
                                    const ProcessPlace& place) {
  TagCounts counts;
  for (const auto& computation : program.computations()) {
    uint32_t count = 0;
    for (const auto& instruction : computation->instructions()) {
      if (HasDeviceGroups(*instruction)) {
        MW_ASSIGN_OR_RETURN(const DeviceGroups groups,
                            DeviceGroupsOf(*instruction, place));
        if (groups.crosses) {
          count += static_cast<uint32_t>(groups.groups.size());
        }
      }
      for (const Computation* called : instruction->called) {
        count += counts.at(called);
      }
    }
    counts[computation.get()] = count;
  }
  return counts;
}

class CrossLowering {
 public:
  CrossLowering(const Module& program, const ProcessPlace& place, int64_t job,
                uint32_t first_tag, TagCounts tags)
      : program_(program),
        place_(place),
        job_(job),
        next_tag_(first_tag),
        tags_(std::move(tags)),
        devices_(LocalDevices(place)),
        module_(program.name()),
        names_(program) {
    local_.assign(place_.process_of.size(), -1);
    for (size_t i = 0; i < devices_.size(); ++i) {
      local_[devices_[i]] = static_cast<int64_t>(i);
    }
  }

  absl::StatusOr<Module> Run() {
    if (devices_.empty()) {
      return absl::InvalidArgumentError(
          absl::StrCat("process ", place_.process, " has none of the devices"));
    }
    for (const auto& computation : program_.computations()) {
      const bool is_entry = computation.get() == program_.entry();
      if (!is_entry && tags_.at(computation.get()) > 0) continue;
      CrossFrame frame = NewFrame(*computation);
      MW_RETURN_IF_ERROR(Copy(*computation, frame));
      frame.build.to()->set_root(frame.ValueOf(computation->root()));
      computations_[computation.get()] = frame.build.to();
    }
    module_.set_entry(computations_.at(program_.entry()));
    module_.entry_layout = program_.entry_layout;
    module_.aliases = program_.aliases;
    module_.buffer_donors = program_.buffer_donors;
    module_.frontend_attributes = program_.frontend_attributes;
    module_.unknown_fields = program_.unknown_fields;
    module_.Finish();
    return std::move(module_);
  }

 private:
  CrossFrame NewFrame(const Computation& from) {
    Computation* to = module_.AddComputation(names_.OfCopy(from.name()));
    to->is_fusion = from.is_fusion;
    to->execution_thread = from.execution_thread;
    to->unknown_fields = from.unknown_fields;
    return {.build = CrossBuilder(to, &names_)};
  }

  // All instructions but parameters that have their value already.
  absl::Status Copy(const Computation& from, CrossFrame& frame) {
    for (const auto& instruction : from.instructions()) {
      if (!frame.HasValue(instruction.get())) {
        MW_RETURN_IF_ERROR(Lower(*instruction, frame));
      }
    }
    for (const auto& instruction : from.instructions()) {
      for (const Instruction* before : instruction->control_predecessors) {
        AddPredecessor(frame.CarrierOf(instruction.get()),
                       frame.CarrierOf(before));
      }
    }
    return absl::OkStatus();
  }

  absl::Status Lower(const Instruction& from, CrossFrame& frame) {
    switch (from.opcode) {
      case Opcode::kReplicaId:
        frame.copies[&from] = frame.Replica(devices_);
        return absl::OkStatus();
      case Opcode::kPartitionId:
        frame.copies[&from] =
            frame.build.Constant(from.shape, std::string(4, '\0'));
        return absl::OkStatus();
      case Opcode::kGetTupleElement:
        if (const auto found = frame.wide.find(from.operands[0]);
            found != frame.wide.end()) {
          frame.copies[&from] = Plain(from, {found->second}, frame);
          return absl::OkStatus();
        }
        break;
      default:
        break;
    }
    if (HasDeviceGroups(from)) return LowerCollective(from, frame);
    const bool calls = std::ranges::any_of(
        from.called, [&](const auto* called) { return tags_.at(called) > 0; });
    if (calls) return LowerCaller(from, frame);
    frame.copies[&from] = Plain(from, Operands(from, frame), frame);
    return absl::OkStatus();
  }

  std::vector<Instruction*> Operands(const Instruction& from,
                                     CrossFrame& frame) {
    std::vector<Instruction*> operands;
    operands.reserve(from.operands.size());
    for (const Instruction* operand : from.operands) {
      operands.push_back(frame.ValueOf(operand));
    }
    return operands;
  }

  Instruction* Plain(const Instruction& from,
                     std::vector<Instruction*> operands, CrossFrame& frame) {
    Computation* to = frame.build.to();
    std::string name = names_.OfCopy(from.name);
    Instruction* copy = from.opcode == Opcode::kParameter
                            ? to->AddParameter(from.shape, std::move(name))
                            : to->Add(from.opcode, from.shape,
                                      std::move(operands), std::move(name));
    for (const Computation* called : from.called) {
      // Computations that contain such calls are copied for each caller.
      if (tags_.at(called) == 0) {
        copy->called.push_back(computations_.at(called));
      }
    }
    copy->attributes = from.attributes;
    copy->metadata = from.metadata;
    copy->sharding = from.sharding;
    copy->frontend_attributes = from.frontend_attributes;
    copy->unknown_fields = from.unknown_fields;
    return copy;
  }

  absl::Status LowerCollective(const Instruction& from, CrossFrame& frame) {
    MW_ASSIGN_OR_RETURN(const DeviceGroups groups,
                        DeviceGroupsOf(from, place_));
    if (groups.crosses) return LowerCrossing(from, groups, frame);
    frame.copies[&from] = Local(from, groups, frame);
    return absl::OkStatus();
  }

  // Left to the compiler, among the local replicas.
  Instruction* Local(const Instruction& from, const DeviceGroups& groups,
                     CrossFrame& frame) {
    const bool permutes = !from.attributes->source_target_pairs.empty();
    std::vector<SourceTarget> pairs;
    for (SourceTarget pair : from.attributes->source_target_pairs) {
      if (local_[pair.source] < 0) continue;
      pair.source = local_[pair.source];
      pair.target = local_[pair.target];
      pairs.push_back(std::move(pair));
    }
    if (permutes && pairs.empty() && from.shape.IsArray()) {
      return frame.build.Zeros(from.shape);
    }
    Instruction* copy = Plain(from, Operands(from, frame), frame);
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

  absl::Status LowerCrossing(const Instruction& from,
                             const DeviceGroups& groups, CrossFrame& frame) {
    const uint32_t tag = next_tag_;
    next_tag_ += static_cast<uint32_t>(groups.groups.size());
    MW_ASSIGN_OR_RETURN(const CrossCall call,
                        CrossCallOf(from, groups, place_, tag));
    const bool reduces = Reduces(call.kind);
    std::vector<Instruction*> operands = Operands(from, frame);
    for (Instruction*& operand : operands) {
      operand = frame.build.Convert(
          operand, WireType(operand->shape.element_type, reduces));
    }
    Instruction* copy = AddCall(call, tag, std::move(operands),
                                Widened(WireShape(from.shape, reduces)),
                                names_.OfCopy(from.name), frame);
    copy->metadata = from.metadata;
    copy->frontend_attributes = from.frontend_attributes;
    BindCall(from, copy, frame);
    return absl::OkStatus();
  }

  // Maps a collective to the results of its call, in the collective's types.
  static void BindCall(const Instruction& from, Instruction* call,
                       CrossFrame& frame) {
    frame.calls[&from] = call;
    const std::vector<const Shape*> shapes = Leaves(from.shape);
    std::vector<Instruction*> results;
    bool converts = false;
    for (size_t i = 0; i < shapes.size(); ++i) {
      const ElementType type = shapes[i]->element_type;
      converts |= call->shape.tuple_shapes[i].element_type != type;
    }
    if (from.shape.IsTuple() && !converts) {
      frame.wide[&from] = call;
      return;
    }
    for (size_t i = 0; i < shapes.size(); ++i) {
      Instruction* result = frame.build.Element(call, static_cast<int64_t>(i));
      results.push_back(frame.build.Convert(result, shapes[i]->element_type));
    }
    frame.copies[&from] = from.shape.IsTuple()
                              ? frame.build.Tuple(std::move(results))
                              : results[0];
  }

  Instruction* AddCall(const CrossCall& call, int64_t tag,
                       std::vector<Instruction*> operands, const Shape& shape,
                       std::string name, CrossFrame& frame) {
    if (frame.device == nullptr) frame.device = frame.Replica(devices_);
    operands.push_back(frame.device);
    Instruction* copy =
        frame.build.to()->Add(Opcode::kCustomCall, RowMajor(shape),
                              std::move(operands), std::move(name));
    Attributes& attributes = copy->attributes.mutate();
    attributes.custom_call_target = std::string(kCrossCallTarget);
    attributes.custom_call_has_side_effect = true;
    attributes.custom_call_api_version = 4;  // API_VERSION_TYPED_FFI
    attributes.backend_config = AttributesOf(call, job_, place_.process, tag);
    attributes.constrain_layout = true;
    for (const Instruction* operand : copy->operands) {
      attributes.operand_shapes_with_layout.push_back(RowMajor(operand->shape));
    }
    if (frame.last_call != nullptr) AddPredecessor(copy, frame.last_call);
    frame.last_call = copy;
    return copy;
  }

  absl::Status LowerCaller(const Instruction& from, CrossFrame& frame) {
    switch (from.opcode) {
      case Opcode::kCall:
        return PutInPlace(from, frame);
      case Opcode::kWhile:
      case Opcode::kConditional:
        return LowerControlFlow(from, frame);
      default:
        return absl::UnimplementedError(absl::StrCat(
            from.name, " (", from.opcode_name(),
            "): calls a computation with collectives between processes"));
    }
  }

  // Inlines a called computation.
  absl::Status PutInPlace(const Instruction& from, CrossFrame& frame) {
    const Computation& called = *from.called[0];
    const std::vector<Instruction*> parameters = called.Parameters();
    auto outer = std::exchange(frame.copies, {});
    auto outer_wide = std::exchange(frame.wide, {});
    for (size_t i = 0; i < parameters.size(); ++i) {
      const Instruction* operand = from.operands[i];
      const auto found = outer.find(operand);
      if (found != outer.end()) {
        frame.copies[parameters[i]] = found->second;
      } else {
        frame.wide[parameters[i]] = outer_wide.at(operand);
      }
    }
    MW_RETURN_IF_ERROR(Copy(called, frame));
    Instruction* result = frame.ValueOf(called.root());
    frame.copies = std::move(outer);
    frame.wide = std::move(outer_wide);
    frame.copies[&from] = result;
    return absl::OkStatus();
  }

  // The device number is passed in with each operand and returned with the
  // result.
  absl::Status LowerControlFlow(const Instruction& from, CrossFrame& frame) {
    if (frame.DeviceAfterCalls() == nullptr) {
      frame.device = frame.Replica(devices_);
    }
    const size_t first = from.opcode == Opcode::kWhile ? 0 : 1;
    std::vector<Instruction*> operands = Operands(from, frame);
    for (size_t i = first; i < operands.size(); ++i) {
      operands[i] = frame.Widen(operands[i]);
    }
    Instruction* copy = Plain(from, std::move(operands), frame);
    copy->shape = Widened(from.shape);
    copy->sharding = {};
    copy->called.clear();
    for (size_t i = 0; i < from.called.size(); ++i) {
      const Callee callee = from.opcode == Opcode::kConditional
                                ? Callee::kBranch
                            : i == 0 ? Callee::kBody
                                     : Callee::kCondition;
      MW_ASSIGN_OR_RETURN(Computation * called,
                          WidenCallee(*from.called[i], callee));
      copy->called.push_back(called);
    }
    frame.Bind(&from, copy);
    return absl::OkStatus();
  }

  enum class Callee { kBody, kCondition, kBranch };

  // Its parameter and, unless it is a condition, its result have one more
  // element.
  absl::StatusOr<Computation*> WidenCallee(const Computation& from,
                                           Callee callee) {
    CrossFrame frame = NewFrame(from);
    const Instruction* parameter = from.Parameters()[0];
    Instruction* given = frame.build.to()->AddParameter(
        Widened(parameter->shape), names_.OfCopy(parameter->name));
    frame.Bind(parameter, given);
    Instruction* const device = frame.device;
    MW_RETURN_IF_ERROR(Copy(from, frame));
    Instruction* result = frame.ValueOf(from.root());
    // An element that passes through unchanged would be hoisted out of the
    // loop, and with it the ordering.
    if (callee == Callee::kBody && frame.last_call == nullptr &&
        frame.device == device) {
      AddCall({}, kPassTag, {}, Widened(Shape::Tuple({})), names_.New("pass"),
              frame);
    }
    if (callee != Callee::kCondition) result = frame.Widen(result);
    frame.build.to()->set_root(result);
    return frame.build.to();
  }

  static void AddPredecessor(Instruction* instruction, Instruction* before) {
    std::vector<Instruction*>& all = instruction->control_predecessors;
    if (std::ranges::find(all, before) == all.end()) all.push_back(before);
  }

  const Module& program_;
  const ProcessPlace& place_;
  const int64_t job_;
  uint32_t next_tag_;
  const TagCounts tags_;
  const std::vector<int64_t> devices_;
  std::vector<int64_t> local_;  // By device; -1: not local.
  Module module_;
  CrossNames names_;
  absl::flat_hash_map<const Computation*, Computation*> computations_;
};

}  // namespace

absl::StatusOr<Module> LowerForProcess(const Module& program,
                                       const ProcessPlace& place, int64_t job,
                                       uint32_t first_tag) {
  MW_ASSIGN_OR_RETURN(TagCounts tags, CountTags(program, place));
  return CrossLowering(program, place, job, first_tag, std::move(tags)).Run();
}

absl::StatusOr<uint32_t> CrossTagCount(const Module& program,
                                       const ProcessPlace& place) {
  MW_ASSIGN_OR_RETURN(const TagCounts tags, CountTags(program, place));
  return tags.at(program.entry());
}

}  // namespace meshwright
