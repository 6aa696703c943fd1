#include "meshwright/api/plan_pins.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "meshwright/annotations/infer_mesh.h"
#include "meshwright/annotations/island_fit.h"
#include "meshwright/annotations/raw_annotations.h"
#include "meshwright/api/file_kind.h"
#include "meshwright/base/file.h"
#include "meshwright/base/status_macros.h"

namespace meshwright {

namespace {

TensorNames NamesOf(const Module& module, const ModuleRoles& roles) {
  TensorNames names;
  size_t number = 0;
  for (const Instruction* parameter : module.entry()->Parameters()) {
    const std::string& name = roles.parameters[number++].name;
    if (!parameter->shape.IsTuple()) {
      names.parameters.push_back(name);
      continue;
    }
    for (size_t leaf = 0; leaf < Leaves(parameter->shape).size(); ++leaf) {
      names.parameters.push_back(absl::StrCat(name, "/", leaf));
    }
  }
  for (const OutputInfo& output : roles.outputs) {
    names.outputs.push_back(output.name);
  }
  return names;
}

absl::StatusOr<ShardingFile> ParseShardings(const std::string& name,
                                            const std::string& text,
                                            const Module& module,
                                            const ModuleRoles& roles,
                                            const std::optional<Mesh>& mesh) {
  absl::StatusOr<ShardingFile> file =
      ParseShardingFile(text, module, NamesOf(module, roles), {.mesh = mesh});
  if (file.ok()) return file;
  return ExplainContent(file.status(), name, text, FileKind::kSharding);
}

}  // namespace

void Complete(Annotations& given, const Annotations& more) {
  const auto fill = [](std::vector<std::optional<Annotation>>& to,
                       const std::vector<std::optional<Annotation>>& from) {
    to.resize(std::max(to.size(), from.size()));
    for (size_t i = 0; i < from.size(); ++i) {
      if (!to[i].has_value()) to[i] = from[i];
    }
  };
  fill(given.parameters, more.parameters);
  fill(given.outputs, more.outputs);
  for (const auto& [instruction, annotation] : more.instructions) {
    given.instructions.try_emplace(instruction, annotation);
  }
  if (given.sharding_groups.empty())
    given.sharding_groups = more.sharding_groups;
}

absl::StatusOr<ShardingFile> LoadShardings(const std::string& path,
                                           const Module& module,
                                           const ModuleRoles& roles,
                                           const std::optional<Mesh>& mesh) {
  MW_ASSIGN_OR_RETURN(const std::string text, ReadFile(path));
  return ParseShardings(path, text, module, roles, mesh);
}

absl::Status ReadPinsText(const Module& module, const ModuleRoles& roles,
                          const std::string& name, const std::string& text,
                          PlanRequest& request) {
  MW_ASSIGN_OR_RETURN(ShardingFile file,
                      ParseShardings(name, text, module, roles, request.mesh));
  request.mesh = file.mesh;
  MW_ASSIGN_OR_RETURN(const Annotations own,
                      ReadAnnotations(module, file.mesh));
  Complete(file.annotations, own);
  request.annotations = [pins = std::move(file.annotations)](const Mesh&) {
    return absl::StatusOr<Annotations>(pins);
  };
  return absl::OkStatus();
}

absl::Status ReadPins(const Module& module, const ModuleRoles& roles,
                      const std::optional<std::string>& path,
                      PlanRequest& request) {
  if (path.has_value()) {
    MW_ASSIGN_OR_RETURN(const std::string text, ReadFile(*path));
    return ReadPinsText(module, roles, *path, text, request);
  }
  if (!IslandsIn(module).empty()) {
    // Without annotations any mesh will do that has the islands' axes.
    MW_ASSIGN_OR_RETURN(const RawAnnotations raw, CollectAnnotations(module));
    if (raw.list.empty()) return absl::OkStatus();
  }
  absl::StatusOr<Mesh> inferred = InferMesh(module);
  if (absl::IsNotFound(inferred.status())) return absl::OkStatus();
  MW_RETURN_IF_ERROR(inferred.status());
  // The module names axes; it can only be planned on a mesh that has them.
  if (!request.mesh.has_value()) request.mesh = *std::move(inferred);
  request.annotations = [&module](const Mesh& mesh) {
    return ReadAnnotations(module, mesh);
  };
  return absl::OkStatus();
}

}  // namespace meshwright
