#include "meshwright/partition/island_specs.h"

#include <algorithm>
#include <optional>
#include <set>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "meshwright/annotations/shardy_text.h"
#include "meshwright/base/status_macros.h"
#include "meshwright/partition/gspmd_specs.h"
#include "meshwright/rules/families.h"
#include "meshwright/rules/open_island.h"

namespace meshwright {
namespace {

constexpr char kShardyEnter[] = "xla.sdy.GlobalToLocalShape";
constexpr char kShardyLeave[] = "xla.sdy.LocalToGlobalShape";
constexpr char kManualAxes[] = "xla.sdy.manual_axes";
constexpr char kGspmdEnter[] = "SPMDFullToShardShape";
constexpr char kGspmdLeave[] = "SPMDShardToFullShape";

bool IsCallOf(const Instruction& instruction, absl::string_view target) {
  return instruction.opcode == Opcode::kCustomCall &&
         instruction.attributes->custom_call_target == target;
}

// "#sdy<manual_axes{\"data\", \"model\"}>", in whichever brackets.
std::set<std::string> QuotedNames(absl::string_view text) {
  std::set<std::string> names;
  const std::vector<absl::string_view> parts = absl::StrSplit(text, '"');
  for (size_t i = 1; i + 1 < parts.size(); i += 2) {
    absl::string_view name = parts[i];
    while (!name.empty() && name.back() == '\\') name.remove_suffix(1);
    names.insert(AxisIdentifier(name));
  }
  return names;
}

absl::Status CheckOrder(const Mesh& mesh) {
  if (mesh.device_ids().empty()) return absl::OkStatus();
  return absl::InvalidArgumentError(
      "its mesh lists devices in another order than the module's");
}

// Converts shardings on one mesh to another that has some of its axes.
class OnManualAxes {
 public:
  OnManualAxes(const Mesh& from, const Mesh& to) : to_(to) {
    for (const SubAxis& sub : from.sub_axes()) {
      const MeshAxis& axis = from.axes()[sub.axis];
      std::optional<AxisId>& place = places_.emplace_back();
      for (size_t i = 0; i < to.sub_axes().size(); ++i) {
        const SubAxis& other = to.sub_axes()[i];
        if (to.axes()[other.axis] == axis && other.before == sub.before) {
          place = static_cast<AxisId>(i);
        }
      }
    }
  }

  Sharding operator()(const Sharding& sharding,
                      absl::Span<const int64_t> dimensions) const {
    Sharding result = Sharding::Replicated(dimensions);
    for (size_t i = 0; i < dimensions.size(); ++i) {
      Part part{.size = dimensions[i]};
      for (const AxisId axis : AxesOf(sharding.dims[i])) {
        if (places_[axis].has_value()) part.axes.push_back(*places_[axis]);
      }
      result.dims[i] = Normalised({&part, 1}, to_);
    }
    return result;
  }

 private:
  const Mesh& to_;
  std::vector<std::optional<AxisId>> places_;  // By axis of `from`.
};

// Shardy's calls: all arrays at once, with the manual axes.
class ShardyReader {
 public:
  ShardyReader(const Module& module, const RegionCalls& calls)
      : module_(module), calls_(calls) {}

  absl::StatusOr<IslandSpecs> Read() {
    const auto meshes = module_.frontend_attributes.find("xla.sdy.meshes");
    if (meshes != module_.frontend_attributes.end()) {
      MW_ASSIGN_OR_RETURN(meshes_, ParseShardyMeshes(meshes->second));
    }
    if (calls_.description != nullptr &&
        (calls_.enter.size() > 1 || calls_.leave.size() > 1)) {
      return absl::InvalidArgumentError(
          absl::StrCat(calls_.description->name,
                       " does not say which array is split in which way"));
    }
    for (const Instruction* call : calls_.enter) {
      std::vector<const Shape*> shapes;
      for (const Instruction* operand : call->operands) {
        shapes.push_back(&operand->shape);
      }
      MW_RETURN_IF_ERROR(Add(*call, "xla.sdy.in_shardings", shapes, operands_));
    }
    for (const Instruction* call : calls_.leave) {
      MW_RETURN_IF_ERROR(
          Add(*call, "xla.sdy.out_shardings", Leaves(call->shape), results_));
    }
    if (!mesh_.has_value()) {
      return absl::InvalidArgumentError("it takes and gives no arrays");
    }
    MW_RETURN_IF_ERROR(CheckOrder(*mesh_));
    MW_ASSIGN_OR_RETURN(Mesh manual, ManualMesh());
    IslandSpecs specs{.island = {.mesh = std::move(manual)},
                      .positions = Positions()};
    const OnManualAxes convert(*mesh_, specs.island.mesh);
    for (const auto& [sharding, shape] : operands_) {
      specs.island.operands.push_back(convert(sharding, shape->dimensions));
    }
    for (const auto& [sharding, shape] : results_) {
      specs.island.results.push_back(convert(sharding, shape->dimensions));
    }
    return specs;
  }

 private:
  using Spec = std::pair<Sharding, const Shape*>;

  absl::Status Add(const Instruction& call, const char* key,
                   const std::vector<const Shape*>& shapes,
                   std::vector<Spec>& specs) {
    const FrontendAttributes& attributes =
        calls_.description != nullptr ? calls_.description->frontend_attributes
                                      : call.frontend_attributes;
    const auto axes = attributes.find(kManualAxes);
    const auto text = attributes.find(key);
    if (axes == attributes.end() || text == attributes.end()) {
      return absl::InvalidArgumentError(
          absl::StrCat(call.name, " does not say how its arrays are split"));
    }
    manual_ = QuotedNames(axes->second);
    MW_ASSIGN_OR_RETURN(const std::vector<ShardySharding> shardings,
                        ParseShardyShardings(text->second, meshes_, shapes));
    for (size_t i = 0; i < shardings.size(); ++i) {
      if (mesh_.has_value() && !(*mesh_ == shardings[i].mesh)) {
        return absl::InvalidArgumentError("its arrays are on several meshes");
      }
      if (shardings[i].sharding.IsPending()) {
        return absl::InvalidArgumentError(
            "it takes or gives partial sums (unreduced)");
      }
      mesh_ = shardings[i].mesh;
      specs.emplace_back(shardings[i].sharding, shapes[i]);
    }
    return absl::OkStatus();
  }

  bool IsManual(const MeshAxis& axis) const {
    return manual_.contains(axis.name);
  }

  absl::StatusOr<Mesh> ManualMesh() const {
    std::vector<MeshAxis> axes;
    for (const MeshAxis& axis : mesh_->axes()) {
      if (IsManual(axis)) axes.push_back(axis);
    }
    if (axes.empty()) {
      return absl::InvalidArgumentError("its mesh has none of its axes");
    }
    return Mesh::Create(std::move(axes));
  }

  std::vector<int64_t> Positions() const {
    std::vector<int64_t> positions(mesh_->device_count(), 0);
    for (size_t device = 0; device < positions.size(); ++device) {
      for (size_t i = 0; i < mesh_->axes().size(); ++i) {
        const MeshAxis& axis = mesh_->axes()[i];
        const int64_t at =
            mesh_->Coordinate(static_cast<int64_t>(device),
                              mesh_->SubAxes(static_cast<int32_t>(i)));
        if (!IsManual(axis)) {
          if (at != 0) positions[device] = -1;
        } else if (positions[device] >= 0) {
          positions[device] = positions[device] * axis.size + at;
        }
      }
    }
    return positions;
  }

  const Module& module_;
  const RegionCalls& calls_;
  ShardyMeshes meshes_;
  std::optional<Mesh> mesh_;
  std::set<std::string> manual_;
  std::vector<Spec> operands_;
  std::vector<Spec> results_;
};

// Of a region that was an island, opened.
absl::StatusOr<IslandSpecs> ReadOpen(const RegionCalls& calls) {
  MW_ASSIGN_OR_RETURN(const RegionEdge any, RegionEdgeOf(*calls.leave[0]));
  IslandSpecs specs{.island = {.mesh = any.mesh}};
  for (const Instruction* call : calls.enter) {
    MW_ASSIGN_OR_RETURN(RegionEdge edge, RegionEdgeOf(*call));
    specs.island.operands.push_back(std::move(edge.sharding));
  }
  for (const Instruction* call : calls.leave) {
    MW_ASSIGN_OR_RETURN(RegionEdge edge, RegionEdgeOf(*call));
    specs.island.results.push_back(std::move(edge.sharding));
  }
  for (int64_t i = 0; i < any.mesh.device_count(); ++i) {
    specs.positions.push_back(i);
  }
  return specs;
}

}  // namespace

bool EntersRegion(const Instruction& instruction) {
  return IsCallOf(instruction, kShardyEnter) ||
         IsCallOf(instruction, kGspmdEnter) || EntersOpenIsland(instruction);
}

bool LeavesRegion(const Instruction& instruction) {
  return IsCallOf(instruction, kShardyLeave) ||
         IsCallOf(instruction, kGspmdLeave) || LeavesOpenIsland(instruction);
}

bool DescribesRegion(const Instruction& instruction) {
  return instruction.opcode == Opcode::kCall &&
         instruction.frontend_attributes.contains(kManualAxes);
}

Instruction* EnteringValue(const Instruction& call, size_t index) {
  Instruction* value = call.operands[index];
  const bool is_marked =
      IsCallOf(call, kGspmdEnter) && IsPartitionerHint(*value);
  return is_marked ? value->operands[0] : value;
}

absl::StatusOr<bool> LeavesIntoRegion(const Module& module,
                                      Instruction& leave) {
  if (IsCallOf(leave, kGspmdLeave)) return IsPartlyManual(leave);
  MW_ASSIGN_OR_RETURN(const IslandSpecs specs,
                      ReadSpecs(module, {.leave = {&leave}}));
  return std::ranges::count(specs.positions, -1) > 0;
}

absl::StatusOr<IslandSpecs> ReadSpecs(const Module& module,
                                      const RegionCalls& calls) {
  if (LeavesOpenIsland(*calls.leave[0])) return ReadOpen(calls);
  return IsCallOf(*calls.leave[0], kShardyLeave)
             ? ShardyReader(module, calls).Read()
             : ReadGspmdSpecs(calls);
}

}  // namespace meshwright
