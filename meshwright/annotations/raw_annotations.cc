#include "meshwright/annotations/raw_annotations.h"

#include <algorithm>
#include <map>
#include <utility>

#include "absl/container/flat_hash_set.h"
#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "meshwright/annotations/op_sharding_conversion.h"
#include "meshwright/base/annotate.h"
#include "meshwright/base/status_macros.h"
#include "meshwright/base/text_cursor.h"

namespace meshwright {
namespace {

using Target = RawAnnotation::Target;

constexpr char kShardyMeshes[] = "xla.sdy.meshes";
constexpr char kShardySharding[] = "xla.sdy.sharding";
constexpr char kShardyGroupId[] = "xla.sdy.sharding_group_id";
constexpr char kFunctionResult[] = "xla.sdy.FuncResultSharding";

const std::string* FindAttribute(const Instruction& instruction,
                                 const char* key) {
  const auto found = instruction.frontend_attributes.find(key);
  return found == instruction.frontend_attributes.end() ? nullptr
                                                        : &found->second;
}

// Null if there are too few.
const OpSharding* LeafOf(const OpSharding& sharding, size_t leaf) {
  if (sharding.kind != OpSharding::Kind::kTuple) return &sharding;
  return leaf < sharding.tuple.size() ? &sharding.tuple[leaf] : nullptr;
}

bool IsCallOf(const Instruction& instruction, absl::string_view target) {
  return instruction.attributes->custom_call_target == target;
}

// Whether the instruction is a copy of the value, with which jax annotates
// results.
bool IsCopyOf(const Instruction& instruction, const Instruction& value) {
  return instruction.operands.size() == 1 &&
         instruction.operands[0] == &value &&
         Compatible(instruction.shape, value.shape);
}

// "unspecified_dims=[0,2]" of a Sharding call.
absl::StatusOr<std::vector<bool>> FreeDimensions(const Instruction& call) {
  std::vector<bool> free(call.shape.rank(), false);
  TextCursor cursor(call.attributes->backend_config);
  if (!cursor.Take("unspecified_dims=[")) return free;
  while (!cursor.Take("]")) {
    MW_ASSIGN_OR_RETURN(const int64_t dim, cursor.Number());
    if (dim >= std::ssize(free)) {
      return absl::InvalidArgumentError(
          absl::StrCat("unspecified_dims names dimension ", dim));
    }
    free[dim] = true;
    cursor.Take(",");
  }
  return free;
}

class Collector {
 public:
  explicit Collector(const Module& module)
      : module_(module), entry_(*module.entry()), users_(Users(entry_)) {}

  absl::StatusOr<RawAnnotations> Collect() {
    const auto meshes = module_.frontend_attributes.find(kShardyMeshes);
    if (meshes != module_.frontend_attributes.end()) {
      MW_ASSIGN_OR_RETURN(result_.meshes, ParseShardyMeshes(meshes->second));
    }
    MW_RETURN_IF_ERROR(CollectParameters());
    MW_RETURN_IF_ERROR(CollectOutputs());
    for (const auto& computation : module_.computations()) {
      MW_RETURN_IF_ERROR(CollectInstructions(*computation));
    }
    for (auto& [id, group] : groups_)
      result_.sharding_groups.push_back(std::move(group));
    return std::move(result_);
  }

 private:
  absl::Status AddHlo(RawAnnotation annotation, const OpSharding* sharding) {
    if (sharding == nullptr || sharding->kind == OpSharding::Kind::kUnknown) {
      return absl::OkStatus();
    }
    if (sharding->kind == OpSharding::Kind::kManual) {
      return absl::InvalidArgumentError(
          absl::StrCat(annotation.where,
                       " is split by hand (shard_map), which is not "
                       "supported"));
    }
    annotation.free.resize(annotation.dimensions.size(), false);
    annotation.hlo = sharding;
    result_.list.push_back(std::move(annotation));
    return absl::OkStatus();
  }

  absl::Status AddShardy(RawAnnotation annotation, const std::string& text,
                         const Shape& shape) {
    const absl::StatusOr<std::vector<ShardySharding>> shardings =
        ParseShardyShardings(text, result_.meshes, {&shape});
    if (!shardings.ok()) {
      return Annotate(shardings.status(), annotation.where);
    }
    annotation.free = (*shardings)[0].free;
    annotation.shardy = (*shardings)[0];
    result_.list.push_back(std::move(annotation));
    return absl::OkStatus();
  }

  absl::Status CollectParameters() {
    int64_t first_leaf = 0;
    const std::vector<Instruction*> parameters = entry_.Parameters();
    for (size_t number = 0; number < parameters.size(); ++number) {
      const Instruction& parameter = *parameters[number];
      taken_.insert(&parameter);
      const OpSharding* sharding = nullptr;
      if (parameter.sharding.has_value()) {
        sharding = &*parameter.sharding;
      } else if (number < module_.spmd_parameters_shardings.size()) {
        sharding = &module_.spmd_parameters_shardings[number];
      }
      const std::string* shardy = FindAttribute(parameter, kShardySharding);
      const std::vector<const Shape*> leaves = Leaves(parameter.shape);
      for (size_t i = 0; i < leaves.size(); ++i) {
        RawAnnotation annotation = {
            .target = Target::kParameter,
            .leaf = first_leaf++,
            .instruction = &parameter,
            .where =
                absl::StrCat("parameter ", number, " (", parameter.name, ")"),
            .dimensions = leaves[i]->dimensions};
        if (shardy != nullptr && leaves.size() == 1) {
          MW_RETURN_IF_ERROR(
              AddShardy(std::move(annotation), *shardy, *leaves[i]));
        } else if (sharding != nullptr) {
          MW_RETURN_IF_ERROR(
              AddHlo(std::move(annotation), LeafOf(*sharding, i)));
        }
      }
    }
    return absl::OkStatus();
  }

  absl::Status CollectOutputs() {
    const Instruction& root = *entry_.root();
    taken_.insert(&root);
    const OpSharding* sharding = nullptr;
    if (root.sharding.has_value()) {
      sharding = &*root.sharding;
    } else if (module_.spmd_output_sharding.has_value()) {
      sharding = &*module_.spmd_output_sharding;
    }
    const std::vector<const Shape*> leaves = Leaves(root.shape);
    const bool flat =
        root.shape.IsTuple() && root.operands.size() == leaves.size();
    const std::vector<bool> open =
        flat ? OpenOutputs(root) : std::vector<bool>(leaves.size());
    for (size_t i = 0; i < leaves.size(); ++i) {
      RawAnnotation annotation = {.target = Target::kOutput,
                                  .leaf = static_cast<int64_t>(i),
                                  .instruction = &root,
                                  .where = absl::StrCat("output ", i),
                                  .dimensions = leaves[i]->dimensions};
      const Instruction* value = flat ? root.operands[i] : &root;
      if (const Instruction* call = FunctionResult(*value); call != nullptr) {
        taken_.insert(call);
        MW_RETURN_IF_ERROR(AddShardy(std::move(annotation),
                                     *FindAttribute(*call, kShardySharding),
                                     *leaves[i]));
      } else if (sharding != nullptr && !open[i]) {
        MW_RETURN_IF_ERROR(AddHlo(std::move(annotation), LeafOf(*sharding, i)));
      }
    }
    return absl::OkStatus();
  }

  // Shardy's marker of a result, which may come before a copy.
  static const Instruction* FunctionResult(const Instruction& value) {
    const auto is_mark = [](const Instruction& instruction) {
      return IsCallOf(instruction, kFunctionResult) &&
             FindAttribute(instruction, kShardySharding) != nullptr;
    };
    if (is_mark(value)) return &value;
    if (value.operands.size() == 1 && IsCopyOf(value, *value.operands[0]) &&
        is_mark(*value.operands[0])) {
      return value.operands[0];
    }
    return nullptr;
  }

  // The instructions that annotate output `i`: copies without users, or else
  // the output itself, if it is a copy.
  std::vector<const Instruction*> MarksOf(const Instruction& root, size_t i) {
    const Instruction& value = *root.operands[i];
    std::vector<const Instruction*> marks;
    for (const Instruction* user : users_[value.id]) {
      if (users_[user->id].empty() && IsCopyOf(*user, value)) {
        marks.push_back(user);
      }
    }
    if (marks.empty() && value.operands.size() == 1 &&
        IsCopyOf(value, *value.operands[0])) {
      marks.push_back(&value);
    }
    return marks;
  }

  // The outputs that have no annotation although the root has one: as soon as
  // one output is annotated, the root says {replicated} for all others.
  // Annotated outputs have copies with the sharding, the others copies without.
  std::vector<bool> OpenOutputs(const Instruction& root) {
    const size_t count = root.operands.size();
    // Shardy has its own marker for outputs with an annotation.
    std::vector<bool> open(count, !result_.meshes.empty());
    if (!result_.meshes.empty()) return open;
    bool any_annotated = false;
    for (size_t i = 0; i < count; ++i) {
      const std::vector<const Instruction*> marks = MarksOf(root, i);
      const bool annotated = std::any_of(
          marks.begin(), marks.end(),
          [](const Instruction* mark) { return mark->sharding.has_value(); });
      any_annotated = any_annotated || annotated;
      open[i] = !marks.empty() && !annotated;
    }
    if (!any_annotated) open.assign(count, false);
    return open;
  }

  absl::Status CollectInstructions(const Computation& computation) {
    const std::vector<std::vector<Instruction*>> users =
        &computation == &entry_ ? users_ : Users(computation);
    for (const auto& instruction : computation.instructions()) {
      MW_RETURN_IF_ERROR(CheckNotManual(*instruction));
      if (CollectGroup(*instruction) || !instruction->shape.IsArray() ||
          taken_.contains(instruction.get())) {
        continue;
      }
      const bool used = !users[instruction->id].empty() ||
                        instruction.get() == computation.root();
      if (used) MW_RETURN_IF_ERROR(CollectInstruction(*instruction));
    }
    return absl::OkStatus();
  }

  absl::Status CollectInstruction(const Instruction& instruction) {
    RawAnnotation annotation = {
        .instruction = &instruction,
        .where = absl::StrCat("instruction ", instruction.name),
        .dimensions = instruction.shape.dimensions};
    if (const std::string* text = FindAttribute(instruction, kShardySharding);
        text != nullptr) {
      return AddShardy(std::move(annotation), *text, instruction.shape);
    }
    if (!instruction.sharding.has_value()) return absl::OkStatus();
    absl::StatusOr<std::vector<bool>> free = FreeDimensions(instruction);
    if (!free.ok()) return Annotate(free.status(), annotation.where);
    annotation.free = *std::move(free);
    return AddHlo(std::move(annotation), &*instruction.sharding);
  }

  // Collects values that must be sharded alike; the call itself has no value.
  bool CollectGroup(const Instruction& call) {
    const std::string* id = FindAttribute(call, kShardyGroupId);
    if (id == nullptr || call.operands.size() != 1) return false;
    groups_[*id].push_back(&call);
    return true;
  }

  static absl::Status CheckNotManual(const Instruction& instruction) {
    const absl::string_view target = instruction.attributes->custom_call_target;
    for (const char* manual :
         {"SPMDFullToShardShape", "SPMDShardToFullShape",
          "xla.sdy.GlobalToLocalShape", "xla.sdy.LocalToGlobalShape"}) {
      if (target == manual) {
        return absl::InvalidArgumentError(
            absl::StrCat("instruction ", instruction.name,
                         " begins or ends a region that is split by hand "
                         "(shard_map), which is not supported"));
      }
    }
    return absl::OkStatus();
  }

  const Module& module_;
  const Computation& entry_;
  std::vector<std::vector<Instruction*>> users_;  // In the entry.
  absl::flat_hash_set<const Instruction*> taken_;
  std::map<std::string, std::vector<const Instruction*>> groups_;
  RawAnnotations result_;
};

absl::StatusOr<Sharding> ShardingOnMesh(const RawAnnotation& annotation,
                                        const Mesh& mesh) {
  if (!annotation.shardy.has_value()) {
    return FromOpSharding(*annotation.hlo, annotation.dimensions, mesh);
  }
  const ShardySharding& shardy = *annotation.shardy;
  if (shardy.mesh == mesh) return shardy.sharding;
  MW_ASSIGN_OR_RETURN(const OpSharding hlo,
                      ToOpSharding(shardy.sharding, shardy.mesh));
  return FromOpSharding(hlo, annotation.dimensions, mesh);
}

}  // namespace

absl::StatusOr<RawAnnotations> CollectAnnotations(const Module& module) {
  return Collector(module).Collect();
}

absl::StatusOr<Sharding> OnMesh(const RawAnnotation& annotation,
                                const Mesh& mesh) {
  absl::StatusOr<Sharding> sharding = ShardingOnMesh(annotation, mesh);
  if (!sharding.ok()) return Annotate(sharding.status(), annotation.where);
  for (size_t i = 0; i < annotation.free.size(); ++i) {
    if (annotation.free[i]) {
      sharding->dims[i] = {{annotation.dimensions[i], {}}};
    }
  }
  return sharding;
}

}  // namespace meshwright
