#include "meshwright/partition/island_body.h"

#include <algorithm>
#include <memory>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "meshwright/base/bad.h"
#include "meshwright/base/status_macros.h"
#include "meshwright/hlo/literal.h"
#include "meshwright/rules/families.h"
#include "meshwright/rules/open_island.h"

namespace meshwright {
namespace {

class BodyMaker {
 public:
  BodyMaker(const std::vector<int64_t>& positions, Module& module)
      : positions_(positions), module_(module) {}

  absl::StatusOr<Computation*> Make(const RegionCalls& calls) {
    Computation* body = module_.AddComputation("shard_map");
    for (const Instruction* call : calls.enter) {
      for (const Shape* shape : Leaves(call->shape)) {
        entered_[call].push_back(body->AddParameter(*shape, "arg"));
      }
    }
    std::vector<Instruction*> results;
    for (const Instruction* call : calls.leave) {
      for (Instruction* result : call->operands) {
        MW_ASSIGN_OR_RETURN(results.emplace_back(), CopyWith(*result, *body));
      }
    }
    const bool is_one = calls.leave.size() == 1 && results.size() == 1 &&
                        !calls.leave[0]->shape.IsTuple();
    body->set_root(is_one ? results[0] : Tuple(results, *body));
    return body;
  }

 private:
  Instruction* Tuple(const std::vector<Instruction*>& values,
                     Computation& body) {
    std::vector<Shape> shapes;
    for (const Instruction* value : values) shapes.push_back(value->shape);
    return body.Add(Opcode::kTuple, Shape::Tuple(std::move(shapes)), values,
                    "results");
  }

  // Copies `result` with everything that it is computed from inside of the
  // region.
  absl::StatusOr<Instruction*> CopyWith(Instruction& result,
                                        Computation& body) {
    std::vector<const Instruction*> open = {&result};
    while (!open.empty()) {
      const Instruction* next = open.back();
      bool is_ready = copies_.contains(next);
      if (is_ready) {
        open.pop_back();
        continue;
      }
      MW_ASSIGN_OR_RETURN(Instruction * entered, Entered(*next));
      if (entered != nullptr) {
        copies_[next] = entered;
        continue;
      }
      is_ready = true;
      for (const Instruction* operand : next->operands) {
        if (copies_.contains(operand)) continue;
        open.push_back(operand);
        is_ready = false;
      }
      if (!is_ready) continue;
      MW_ASSIGN_OR_RETURN(copies_[next], Copy(*next, body, copies_));
    }
    return copies_.at(&result);
  }

  // The parameter for a value that enters by a call; null for other values.
  absl::StatusOr<Instruction*> Entered(const Instruction& instruction) {
    if (const auto found = entered_.find(&instruction);
        found != entered_.end()) {
      if (!instruction.shape.IsTuple()) return found->second[0];
      return Bad("what enters it is used as a tuple");
    }
    if (instruction.opcode == Opcode::kGetTupleElement) {
      const auto found = entered_.find(instruction.operands[0]);
      if (found != entered_.end()) {
        return found->second[instruction.attributes->tuple_index];
      }
    }
    if (instruction.opcode == Opcode::kParameter) {
      return Bad("it uses a value from outside that does not enter it");
    }
    return nullptr;
  }

  using Copies = absl::flat_hash_map<const Instruction*, Instruction*>;

  absl::StatusOr<Instruction*> Copy(const Instruction& from, Computation& to,
                                    const Copies& copies) {
    std::vector<Instruction*> operands;
    for (const Instruction* operand : from.operands) {
      operands.push_back(copies.at(operand));
    }
    if (IsPartitionerHint(from)) return operands[0];
    if (IsDeviceOfOpenIsland(from)) {
      return to.Add(Opcode::kPartitionId, from.shape, {}, from.name);
    }
    if (from.opcode == Opcode::kPartitionId) return Device(from, to);
    Instruction* copy =
        from.opcode == Opcode::kParameter
            ? to.AddParameter(from.shape, from.name)
            : to.Add(from.opcode, from.shape, std::move(operands), from.name);
    copy->attributes = from.attributes;
    copy->metadata = from.metadata;
    for (const auto& [key, value] : from.frontend_attributes) {
      if (!absl::StartsWith(key, "xla.sdy.")) {
        copy->frontend_attributes[key] = value;
      }
    }
    copy->unknown_fields = from.unknown_fields;
    for (const Computation* called : from.called) {
      MW_ASSIGN_OR_RETURN(copy->called.emplace_back(), CopyOf(*called));
    }
    MW_RETURN_IF_ERROR(Renumber(*copy));
    return copy;
  }

  bool IsPartial() const { return std::ranges::count(positions_, -1) > 0; }

  // The device's number in the region's whole mesh, in which it is the first
  // along axes that are not manual.
  Instruction* Device(const Instruction& from, Computation& to) const {
    Instruction* position =
        to.Add(Opcode::kPartitionId, from.shape, {}, from.name);
    if (!IsPartial()) return position;
    const int64_t count =
        std::ssize(positions_) - std::ranges::count(positions_, int64_t{-1});
    const ElementType type = from.shape.element_type;
    const int64_t width = HostBytes(type);
    Literal numbers;
    numbers.shape = Shape::Array(type, {count});
    numbers.shape.layout = Layout{.minor_to_major = {0}};
    numbers.data.assign(count * width, '\0');
    for (int64_t device = 0; device < std::ssize(positions_); ++device) {
      if (positions_[device] < 0) continue;
      for (int64_t i = 0; i < width; ++i) {
        numbers.data[positions_[device] * width + i] =
            static_cast<char>(device >> (8 * i));
      }
    }
    Instruction* all = to.Add(Opcode::kConstant, numbers.shape, {},
                              absl::StrCat(from.name, ".devices"));
    all->attributes.mutate().literal =
        std::make_shared<const Literal>(std::move(numbers));
    Instruction* one =
        to.Add(Opcode::kDynamicSlice, Shape::Array(type, {1}), {all, position},
               absl::StrCat(from.name, ".device"));
    one->attributes.mutate().dynamic_slice_sizes = {1};
    return to.Add(Opcode::kReshape, from.shape, {one},
                  absl::StrCat(from.name, ".number"));
  }

  absl::StatusOr<Computation*> CopyOf(const Computation& from) {
    const auto known = computations_.find(&from);
    if (known != computations_.end()) return known->second;
    Computation* to = module_.AddComputation(from.name());
    to->is_fusion = from.is_fusion;
    to->execution_thread = from.execution_thread;
    to->unknown_fields = from.unknown_fields;
    Copies copies;
    // In the order of parameter numbers, whatever the order of instructions.
    for (const Instruction* parameter : from.Parameters()) {
      MW_ASSIGN_OR_RETURN(copies[parameter], Copy(*parameter, *to, copies));
    }
    for (const auto& instruction : from.instructions()) {
      if (instruction->opcode == Opcode::kParameter) continue;
      MW_ASSIGN_OR_RETURN(copies[instruction.get()],
                          Copy(*instruction, *to, copies));
    }
    to->set_root(copies.at(from.root()));
    return computations_[&from] = to;
  }

  // Renumbers the devices of a collective to positions.
  absl::Status Renumber(Instruction& instruction) const {
    if (instruction.attributes->replica_groups.empty() &&
        instruction.attributes->source_target_pairs.empty()) {
      return absl::OkStatus();
    }
    Attributes& attributes = instruction.attributes.mutate();
    absl::Status status;
    const auto position = [&](int64_t device) {
      if (device < 0 || device >= std::ssize(positions_)) {
        status = Bad(absl::StrCat("a collective names device ", device, " of ",
                                  positions_.size()));
        return int64_t{-1};
      }
      return positions_[device];
    };
    std::vector<std::vector<int64_t>> groups;
    for (std::vector<int64_t>& group : attributes.replica_groups) {
      for (int64_t& device : group) device = position(device);
      const auto copies = std::ranges::count(group, -1);
      if (copies > 0 && copies < std::ssize(group)) {
        return Bad("a collective goes along axes that are not manual");
      }
      if (copies == 0) groups.push_back(std::move(group));
    }
    attributes.replica_groups = std::move(groups);
    for (SourceTarget& pair : attributes.source_target_pairs) {
      pair.source = position(pair.source);
      pair.target = position(pair.target);
      if ((pair.source < 0) != (pair.target < 0)) {
        return Bad("a collective goes along axes that are not manual");
      }
    }
    std::erase_if(attributes.source_target_pairs,
                  [](const SourceTarget& pair) { return pair.source < 0; });
    return status;
  }

  const std::vector<int64_t>& positions_;
  Module& module_;
  absl::flat_hash_map<const Instruction*, std::vector<Instruction*>> entered_;
  Copies copies_;
  absl::flat_hash_map<const Computation*, Computation*> computations_;
};

}  // namespace

absl::StatusOr<Computation*> MakeIslandBody(
    const RegionCalls& calls, const std::vector<int64_t>& positions,
    Module& module) {
  return BodyMaker(positions, module).Make(calls);
}

}  // namespace meshwright
