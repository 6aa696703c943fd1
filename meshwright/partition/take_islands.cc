#include "meshwright/partition/take_islands.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/str_cat.h"
#include "meshwright/annotations/island_fit.h"
#include "meshwright/base/annotate.h"
#include "meshwright/base/status_macros.h"
#include "meshwright/hlo/inline_calls.h"
#include "meshwright/partition/island_body.h"
#include "meshwright/partition/island_specs.h"
#include "meshwright/rules/families.h"
#include "meshwright/rules/island.h"
#include "meshwright/rules/open_island.h"

namespace meshwright {
namespace {

absl::Status Broken(absl::string_view what) {
  return absl::InvalidArgumentError(what);
}

// The instructions of a computation that are inside of regions, grouped by
// region: arrays of a region are connected by what is computed from them.
class Regions {
 public:
  explicit Regions(const Computation& computation)
      : inside_(computation.size(), false), parent_(computation.size()) {
    std::iota(parent_.begin(), parent_.end(), 0);
    for (const auto& instruction : computation.instructions()) {
      const int32_t id = instruction->id;
      const bool enters = EntersRegion(*instruction);
      inside_[id] = enters || IsDeviceOfOpenIsland(*instruction) ||
                    IsCollectiveOfIslands(instruction->opcode);
      if (enters || LeavesRegion(*instruction) ||
          DescribesRegion(*instruction)) {
        calls_.push_back(instruction.get());
      }
      for (const Instruction* operand : instruction->operands) {
        if (!inside_[operand->id]) continue;
        if (EntersRegion(*instruction)) {
          nested_ = instruction.get();
          continue;
        }
        parent_[Find(id)] = Find(operand->id);
        inside_[id] = !LeavesRegion(*instruction);
      }
    }
  }

  bool IsInside(const Instruction& instruction) const {
    return inside_[instruction.id];
  }

  // A region that begins inside of another; null if there is none.
  const Instruction* nested() const { return nested_; }

  // In program order.
  std::vector<RegionCalls> List() {
    std::map<int32_t, size_t> numbers;
    std::vector<RegionCalls> list;
    for (Instruction* call : calls_) {
      const auto [entry, is_new] =
          numbers.try_emplace(Find(call->id), list.size());
      if (is_new) list.emplace_back();
      RegionCalls& region = list[entry->second];
      if (EntersRegion(*call)) {
        region.enter.push_back(call);
      } else if (LeavesRegion(*call)) {
        region.leave.push_back(call);
      } else {
        region.description = call;
      }
    }
    return list;
  }

 private:
  int32_t Find(int32_t id) {
    while (parent_[id] != id) id = parent_[id] = parent_[parent_[id]];
    return id;
  }

  std::vector<bool> inside_;
  std::vector<int32_t> parent_;
  std::vector<Instruction*> calls_;
  const Instruction* nested_ = nullptr;
};

// Whether the value depends on which device it is on, and on nothing else.
bool IsOfDevice(const Instruction& value) {
  if (value.opcode == Opcode::kPartitionId) return true;
  if (value.opcode == Opcode::kCall && value.operands.empty()) {
    return IsOfDevice(*value.called[0]->root());
  }
  bool is = false;
  for (const Instruction* operand : value.operands) {
    if (operand->opcode == Opcode::kConstant) continue;
    if (!IsOfDevice(*operand)) return false;
    is = true;
  }
  return is;
}

class Taker {
 public:
  explicit Taker(Module& module) : module_(module) {}

  absl::Status Run() {
    std::vector<Computation*> computations;
    for (const auto& computation : module_.computations()) {
      computations.push_back(computation.get());
    }
    for (Computation* computation : computations) {
      MW_RETURN_IF_ERROR(TakeAll(*computation));
    }
    module_.Finish();
    return absl::OkStatus();
  }

 private:
  // Everything outside of regions, without sharding hints of what enters.
  static std::vector<Instruction*> Outside(const Computation& computation,
                                           const Regions& regions) {
    const std::vector<std::vector<Instruction*>> users = Users(computation);
    std::vector<Instruction*> outside;
    for (const auto& instruction : computation.instructions()) {
      const std::vector<Instruction*>& used = users[instruction->id];
      const bool is_hint =
          IsPartitionerHint(*instruction) && !used.empty() &&
          std::ranges::all_of(used, [](const Instruction* user) {
            return EntersRegion(*user);
          });
      if (!is_hint && !regions.IsInside(*instruction) &&
          !LeavesRegion(*instruction)) {
        outside.push_back(instruction.get());
      }
    }
    return outside;
  }

  // In a region that is manual along some axes, axis_index is a region within
  // it, along the others, without operands. It is what that region computes.
  absl::Status DropAxisIndices(Computation& computation) {
    std::map<const Instruction*, Instruction*> dropped;
    for (const auto& instruction : computation.instructions()) {
      for (Instruction*& operand : instruction->operands) {
        const auto found = dropped.find(operand);
        if (found != dropped.end()) operand = found->second;
      }
      if (!LeavesRegion(*instruction) || instruction->operands.size() != 1 ||
          !instruction->shape.IsScalar() ||
          !IsOfDevice(*instruction->operands[0])) {
        continue;
      }
      MW_ASSIGN_OR_RETURN(const bool is_within,
                          LeavesIntoRegion(module_, *instruction));
      if (!is_within) continue;
      dropped[instruction.get()] = instruction->operands[0];
    }
    if (dropped.empty()) return absl::OkStatus();
    Instruction* root = computation.root();
    if (dropped.contains(root)) root = dropped[root];
    computation.set_root(root);
    std::vector<Instruction*> kept;
    for (const auto& instruction : computation.instructions()) {
      if (!dropped.contains(instruction.get())) {
        kept.push_back(instruction.get());
      }
    }
    computation.Keep(kept);
    return absl::OkStatus();
  }

  absl::Status TakeAll(Computation& computation) {
    MW_RETURN_IF_ERROR(DropAxisIndices(computation));
    Regions regions(computation);
    const std::vector<RegionCalls> list = regions.List();
    if (list.empty()) return absl::OkStatus();
    if (regions.nested() != nullptr) {
      return Annotate(Broken("it is inside another"),
                      RegionName(*regions.nested()));
    }
    replaced_.clear();
    Instruction* root = computation.root();
    const std::vector<Instruction*> outside = Outside(computation, regions);
    for (const RegionCalls& calls : list) {
      if (calls.leave.empty()) continue;  // Dead.
      absl::Status taken = Take(calls, computation);
      if (!taken.ok()) return Annotate(taken, RegionName(*calls.leave[0]));
    }
    if (regions.IsInside(*root)) {
      return absl::InvalidArgumentError(absl::StrCat(
          root->name, " is the result of a computation, inside a shard_map"));
    }
    if (const auto found = replaced_.find(root); found != replaced_.end()) {
      root = found->second;
    }
    computation.set_root(root);
    return Reorder(computation, outside, *root);
  }

  absl::Status Take(const RegionCalls& calls, Computation& computation) {
    MW_ASSIGN_OR_RETURN(const IslandSpecs specs, ReadSpecs(module_, calls));
    MW_ASSIGN_OR_RETURN(Computation * body,
                        MakeIslandBody(calls, specs.positions, module_));
    std::vector<Instruction*> operands;
    for (const Instruction* call : calls.enter) {
      for (size_t i = 0; i < call->operands.size(); ++i) {
        operands.push_back(EnteringValue(*call, i));
      }
    }
    const Instruction& first = *calls.leave[0];
    const bool is_alone = calls.leave.size() == 1;
    std::vector<Shape> shapes;
    for (const Instruction* call : calls.leave) shapes.push_back(call->shape);
    Instruction* island = computation.Add(
        Opcode::kCustomCall,
        is_alone ? first.shape : Shape::Tuple(std::move(shapes)),
        std::move(operands), first.name);
    island->called = {body};
    island->metadata = first.metadata;
    island->attributes.mutate().custom_call_target = kIslandTarget;
    island->attributes.mutate().backend_config = ToString(specs.island);
    MW_RETURN_IF_ERROR(IslandOf(*island).status());
    for (size_t i = 0; i < calls.leave.size(); ++i) {
      replaced_[calls.leave[i]] =
          is_alone ? island : Element(*island, i, *calls.leave[i], computation);
    }
    return absl::OkStatus();
  }

  Instruction* Element(Instruction& island, size_t index,
                       const Instruction& like, Computation& computation) {
    Instruction* element =
        computation.Add(Opcode::kGetTupleElement, like.shape, {&island},
                        absl::StrCat(like.name, ".result"));
    element->attributes.mutate().tuple_index = static_cast<int64_t>(index);
    element->metadata = like.metadata;
    return element;
  }

  // Keeps `kept` and the islands that they need, in topological order.
  absl::Status Reorder(Computation& computation,
                       const std::vector<Instruction*>& kept,
                       Instruction& root) {
    std::vector<Instruction*> order;
    // 1: being visited, 2: placed.
    std::vector<char> state(computation.size(), 0);
    std::vector<Instruction*> open(kept.rbegin(), kept.rend());
    open.insert(open.begin(), &root);
    while (!open.empty()) {
      Instruction* next = open.back();
      if (state[next->id] == 2) {
        open.pop_back();
        continue;
      }
      if (state[next->id] == 1) {
        state[next->id] = 2;
        order.push_back(next);
        open.pop_back();
        continue;
      }
      state[next->id] = 1;
      std::erase_if(next->control_predecessors, [&](const Instruction* before) {
        return std::ranges::find(kept, before) == kept.end();
      });
      for (Instruction*& operand : next->operands) {
        const auto found = replaced_.find(operand);
        if (found != replaced_.end()) operand = found->second;
        if (state[operand->id] == 1) {
          return Broken("what leaves a shard_map region enters it again");
        }
        if (state[operand->id] == 0) open.push_back(operand);
      }
    }
    computation.Keep(order);
    return absl::OkStatus();
  }

  Module& module_;
  absl::flat_hash_map<const Instruction*, Instruction*> replaced_;
};

}  // namespace

bool HasManualRegions(const Module& module) {
  return std::ranges::any_of(module.computations(), [](const auto& one) {
    return std::ranges::any_of(one->instructions(), [](const auto& it) {
      return EntersRegion(*it) || LeavesRegion(*it);
    });
  });
}

absl::StatusOr<Module> TakeIslands(Module module) {
  MW_RETURN_IF_ERROR(Taker(module).Run());
  return InlineCalls(module);
}

}  // namespace meshwright
