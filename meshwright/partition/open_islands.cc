#include "meshwright/partition/open_islands.h"

#include <algorithm>
#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "meshwright/annotations/island_fit.h"
#include "meshwright/base/annotate.h"
#include "meshwright/base/bad.h"
#include "meshwright/base/check.h"
#include "meshwright/base/status_macros.h"
#include "meshwright/hlo/inline_calls.h"
#include "meshwright/hlo/opcode_traits.h"
#include "meshwright/partition/take_islands.h"
#include "meshwright/rules/island.h"
#include "meshwright/rules/open_island.h"

namespace meshwright {
namespace {

using Order = std::vector<Instruction*>;

class Opener {
 public:
  explicit Opener(Module module) : open_{.module = std::move(module)} {}

  absl::StatusOr<OpenedIslands> Run() {
    std::vector<Computation*> computations;
    for (const auto& computation : open_.module.computations()) {
      computations.push_back(computation.get());
    }
    for (Computation* computation : computations) {
      if (std::ranges::any_of(
              computation->instructions(),
              [](const auto& instruction) { return IsIsland(*instruction); })) {
        MW_RETURN_IF_ERROR(OpenAll(*computation));
      }
    }
    open_.module.Finish();
    return std::move(open_);
  }

 private:
  using Copies = absl::flat_hash_map<const Instruction*, Instruction*>;

  absl::Status OpenAll(Computation& computation) {
    Order before;
    for (const auto& instruction : computation.instructions()) {
      before.push_back(instruction.get());
    }
    Instruction* root = computation.root();
    Copies opened;
    Order order;
    for (Instruction* instruction : before) {
      for (Instruction*& operand : instruction->operands) {
        const auto found = opened.find(operand);
        if (found != opened.end()) operand = found->second;
      }
      std::erase_if(instruction->control_predecessors, IsIslandPointer);
      if (!IsIsland(*instruction)) {
        order.push_back(instruction);
        continue;
      }
      absl::StatusOr<Instruction*> result =
          Open(*instruction, computation, order);
      if (!result.ok()) {
        return Annotate(result.status(), RegionName(*instruction));
      }
      opened[instruction] = *result;
      if (root == instruction) root = *result;
    }
    computation.set_root(root);
    computation.Keep(order);
    return absl::OkStatus();
  }

  static bool IsIslandPointer(const Instruction* instruction) {
    return IsIsland(*instruction);
  }

  int32_t region() const {
    return static_cast<int32_t>(open_.regions.size()) - 1;
  }

  // Adds what the island does to `order`; its result.
  absl::StatusOr<Instruction*> Open(const Instruction& instruction,
                                    Computation& to, Order& order) {
    MW_ASSIGN_OR_RETURN(const Island island, IslandOf(instruction));
    open_.regions.push_back({RegionName(instruction), island.mesh});
    nested_.clear();
    const Computation& body = *instruction.called[0];
    Copies copies;
    const std::vector<Instruction*> parameters = body.Parameters();
    for (size_t i = 0; i < parameters.size(); ++i) {
      copies[parameters[i]] =
          Edge(kRegionEnter, parameters[i]->shape, instruction.operands[i],
               island.operands[i], instruction,
               absl::StrCat(instruction.name, ".in"), to, order);
    }
    for (const auto& inside : body.instructions()) {
      if (inside->opcode == Opcode::kParameter) continue;
      copies[inside.get()] = Copy(*inside, to, copies, order);
    }
    Instruction* root = copies.at(body.root());
    if (!instruction.shape.IsTuple()) {
      return Edge(kRegionLeave, instruction.shape, root, island.results[0],
                  instruction, instruction.name, to, order);
    }
    std::vector<Instruction*> results;
    for (size_t i = 0; i < instruction.shape.tuple_shapes.size(); ++i) {
      const Shape& shape = instruction.shape.tuple_shapes[i];
      if (!shape.IsArray()) return Bad("it gives a tuple inside a tuple");
      Instruction* element =
          to.Add(Opcode::kGetTupleElement, root->shape.tuple_shapes[i], {root},
                 absl::StrCat(instruction.name, ".element"));
      element->attributes.mutate().tuple_index = static_cast<int64_t>(i);
      Place(element, order);
      // The first is what the island is called again.
      results.push_back(Edge(
          kRegionLeave, shape, element, island.results[i], instruction,
          i == 0 ? instruction.name : absl::StrCat(instruction.name, ".out", i),
          to, order));
    }
    Instruction* tuple = Tuple(std::move(results), instruction.name, to, order);
    open_.region_of.erase(tuple);
    return tuple;
  }

  Instruction* Place(Instruction* instruction, Order& order) {
    open_.region_of[instruction] = region();
    order.push_back(instruction);
    return instruction;
  }

  Instruction* Edge(const char* target, const Shape& shape,
                    Instruction* operand, const Sharding& sharding,
                    const Instruction& island, std::string name,
                    Computation& to, Order& order) {
    Instruction* edge =
        to.Add(Opcode::kCustomCall, shape, {operand}, std::move(name));
    edge->metadata = island.metadata;
    Attributes& attributes = edge->attributes.mutate();
    attributes.custom_call_target = target;
    attributes.backend_config =
        ToString(RegionEdge{region(), open_.regions.back().mesh, sharding});
    return Place(edge, order);
  }

  Instruction* Tuple(std::vector<Instruction*> values, const std::string& name,
                     Computation& to, Order& order) {
    std::vector<Shape> shapes;
    for (const Instruction* value : values) shapes.push_back(value->shape);
    return Place(to.Add(Opcode::kTuple, Shape::Tuple(std::move(shapes)),
                        std::move(values), name),
                 order);
  }

  Instruction* Copy(const Instruction& from, Computation& to,
                    const Copies& copies, Order& order) {
    std::vector<Instruction*> operands;
    for (const Instruction* operand : from.operands) {
      operands.push_back(copies.at(operand));
    }
    if (from.opcode == Opcode::kPartitionId) return Device(from, to, order);
    if (from.opcode == Opcode::kReplicaId) {
      Instruction* zero = to.Add(Opcode::kConstant, from.shape, {}, from.name);
      zero->attributes.mutate().literal =
          std::make_shared<const Literal>(Literal{
              .shape = from.shape,
              .data = std::string(HostBytes(from.shape.element_type), '\0')});
      return Place(zero, order);
    }
    if (!IsCollectiveOfIslands(from.opcode) || from.operands.size() < 2 ||
        from.opcode == Opcode::kAllToAll ||
        from.opcode == Opcode::kRaggedAllToAll) {
      return CopyWith(from, from.shape, std::move(operands), to, order);
    }
    // One for each array, so that each is followed by itself.
    std::vector<Instruction*> each;
    for (size_t i = 0; i < operands.size(); ++i) {
      each.push_back(
          CopyWith(from, from.shape.tuple_shapes[i], {operands[i]}, to, order));
    }
    return Tuple(std::move(each), from.name, to, order);
  }

  Instruction* Device(const Instruction& from, Computation& to, Order& order) {
    Instruction* device =
        to.Add(Opcode::kCustomCall, from.shape, {}, from.name);
    device->metadata = from.metadata;
    device->attributes.mutate().custom_call_target = kRegionDevice;
    device->attributes.mutate().backend_config = absl::StrCat(region());
    return Place(device, order);
  }

  Instruction* CopyWith(const Instruction& from, const Shape& shape,
                        std::vector<Instruction*> operands, Computation& to,
                        Order& order) {
    Instruction* copy =
        to.Add(from.opcode, shape, std::move(operands), from.name);
    copy->attributes = from.attributes;
    copy->metadata = from.metadata;
    copy->frontend_attributes = from.frontend_attributes;
    copy->unknown_fields = from.unknown_fields;
    // Those of two regions are not one, whatever they work on.
    if (IsCollectiveOfIslands(from.opcode)) {
      copy->attributes.mutate().channel_id = region() + 1;
    }
    for (Computation* called : from.called) {
      copy->called.push_back(IsLoopOrBranch(from.opcode) ? CopyOf(*called)
                                                         : called);
    }
    return Place(copy, order);
  }

  Computation* CopyOf(const Computation& from) {
    if (const auto known = nested_.find(&from); known != nested_.end()) {
      return known->second;
    }
    Computation* to = open_.module.AddComputation(
        absl::StrCat(from.name(), ".region", region()));
    Copies copies;
    Order order;
    for (const Instruction* parameter : from.Parameters()) {
      Instruction* copy = to->AddParameter(parameter->shape, parameter->name);
      copies[parameter] = Place(copy, order);
    }
    for (const auto& instruction : from.instructions()) {
      if (instruction->opcode == Opcode::kParameter) continue;
      copies[instruction.get()] = Copy(*instruction, *to, copies, order);
    }
    to->set_root(copies.at(from.root()));
    return nested_[&from] = to;
  }

  OpenedIslands open_;
  absl::flat_hash_map<const Computation*, Computation*> nested_;
};

// Lets enter what operations inside regions take from outside.
class Capturer {
 public:
  explicit Capturer(Computation& computation)
      : computation_(computation),
        region_(computation.size(), -1),
        is_given_(computation.size(), false) {}

  absl::Status Run() {
    std::vector<Instruction*> before;
    for (const auto& instruction : computation_.instructions()) {
      before.push_back(instruction.get());
    }
    if (std::ranges::none_of(before, [](const Instruction* one) {
          return EntersOpenIsland(*one) || LeavesOpenIsland(*one);
        })) {
      return absl::OkStatus();
    }
    MW_RETURN_IF_ERROR(FindRegions(before));
    Instruction* const root = computation_.root();
    Order order;
    for (Instruction* instruction : before) {
      if (region_[instruction->id] >= 0 || LeavesOpenIsland(*instruction)) {
        MW_RETURN_IF_ERROR(Capture(*instruction, order));
      }
      order.push_back(instruction);
    }
    computation_.set_root(root);
    computation_.Keep(order);
    return absl::OkStatus();
  }

 private:
  // The region that an operation of it makes itself known by; -1 for none.
  static int64_t OwnRegion(const Instruction& instruction) {
    int64_t region = -1;
    if (IsCollectiveOfIslands(instruction.opcode)) {
      region = instruction.attributes->channel_id - 1;
    } else if (IsDeviceOfOpenIsland(instruction)) {
      MW_CHECK(
          absl::SimpleAtoi(instruction.attributes->backend_config, &region));
    }
    return region;
  }

  // Of a computation without regions of its own.
  static int64_t RegionInside(const Computation& computation) {
    int64_t region = -1;
    for (const auto& instruction : computation.instructions()) {
      if (EntersOpenIsland(*instruction) || LeavesOpenIsland(*instruction)) {
        return -1;
      }
      region = std::max(region, OwnRegion(*instruction));
      for (const Computation* called : instruction->called) {
        region = std::max(region, RegionInside(*called));
      }
    }
    return region;
  }

  absl::Status FindRegions(const std::vector<Instruction*>& instructions) {
    for (const Instruction* instruction : instructions) {
      int64_t& region = region_[instruction->id];
      if (EntersOpenIsland(*instruction) || LeavesOpenIsland(*instruction)) {
        MW_ASSIGN_OR_RETURN(RegionEdge edge, RegionEdgeOf(*instruction));
        meshes_.try_emplace(edge.region, edge.mesh);
        if (EntersOpenIsland(*instruction)) region = edge.region;
        is_given_[instruction->id] = true;
        continue;
      }
      region = OwnRegion(*instruction);
      for (const Computation* called : instruction->called) {
        region = std::max(region, RegionInside(*called));
      }
      bool is_given = instruction->opcode == Opcode::kParameter;
      for (const Instruction* operand : instruction->operands) {
        region = std::max(region, region_[operand->id]);
        is_given = is_given || is_given_[operand->id];
      }
      is_given_[instruction->id] = is_given;
    }
    return absl::OkStatus();
  }

  absl::Status Capture(Instruction& instruction, Order& order) {
    if (EntersOpenIsland(instruction)) return absl::OkStatus();
    int64_t region = region_[instruction.id];
    if (LeavesOpenIsland(instruction)) {
      MW_ASSIGN_OR_RETURN(const RegionEdge edge, RegionEdgeOf(instruction));
      region = edge.region;
    }
    for (Instruction*& operand : instruction.operands) {
      const bool is_inside = region_[operand->id] >= 0;
      if (is_inside || !is_given_[operand->id]) continue;
      if (!operand->shape.IsArray()) {
        return Bad("internal error: ", operand->name, " enters a shard_map");
      }
      operand = Entered(region, *operand, order);
    }
    return absl::OkStatus();
  }

  Instruction* Entered(int64_t region, Instruction& value, Order& order) {
    Instruction*& entered = entered_[{region, &value}];
    if (entered != nullptr) return entered;
    entered =
        computation_.Add(Opcode::kCustomCall, value.shape, {&value}, "entered");
    entered->metadata = value.metadata;
    Attributes& attributes = entered->attributes.mutate();
    attributes.custom_call_target = kRegionEnter;
    attributes.backend_config =
        ToString(RegionEdge{region, meshes_.at(region),
                            Sharding::Replicated(value.shape.dimensions)});
    order.push_back(entered);
    return entered;
  }

  Computation& computation_;
  std::vector<int64_t> region_;  // By id; -1 outside.
  std::vector<bool> is_given_;   // By id: is no constant.
  absl::flat_hash_map<int64_t, Mesh> meshes_;
  absl::flat_hash_map<std::pair<int64_t, const Instruction*>, Instruction*>
      entered_;
};

}  // namespace

absl::StatusOr<OpenedIslands> OpenIslands(const Module& module) {
  return Opener(InlineCalls(module)).Run();
}

absl::StatusOr<Module> CloseIslands(Module module) {
  for (const auto& computation : module.computations()) {
    MW_RETURN_IF_ERROR(Capturer(*computation).Run());
  }
  return TakeIslands(std::move(module));
}

}  // namespace meshwright
