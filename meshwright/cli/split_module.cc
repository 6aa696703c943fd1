#include "meshwright/cli/split_module.h"

#include <nlohmann/json.hpp>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "meshwright/annotations/annotations.h"
#include "meshwright/annotations/infer_mesh.h"
#include "meshwright/annotations/island_fit.h"
#include "meshwright/annotations/raw_annotations.h"
#include "meshwright/annotations/sharding_file.h"
#include "meshwright/base/annotate.h"
#include "meshwright/base/file.h"
#include "meshwright/base/status_macros.h"
#include "meshwright/cli/file_kind.h"
#include "meshwright/cli/load_module.h"
#include "meshwright/cli/print_traffic.h"
#include "meshwright/plan/plan.h"

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

// Fills what `given` leaves out from `more`.
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
  if (given.alike.empty()) given.alike = more.alike;
}

}  // namespace

std::vector<FlagSpec> SplitFlags() {
  return {{"plan", "FILE", "a plan of meshwright plan"},
          {"sharding", "FILE",
           "JSON: the mesh, and how parameters, outputs and instructions lie "
           "on it"},
          {"mesh", "AXES",
           "data=4,model=2; for a file without one, or a module that brings "
           "its own annotations"},
          RulesFlag(),
          RequireRulesFlag()};
}

absl::StatusOr<Partitioned> SplitModule(const Module& module,
                                        const ModuleRoles& roles,
                                        const CommandLine& line) {
  if (line.Has("plan")) {
    for (const char* other : {"sharding", "mesh"}) {
      if (!line.Has(other)) continue;
      return absl::InvalidArgumentError(absl::StrCat(
          "--plan and --", other, " exclude each other: the plan has its own"));
    }
    MW_ASSIGN_OR_RETURN(const Plan plan, LoadPlan(line.Text("plan", "")));
    absl::StatusOr<Partitioned> split = PartitionPlan(module, plan);
    if (!split.ok()) return Annotate(split.status(), line.Text("plan", ""));
    return split;
  }
  std::optional<Mesh> mesh;
  if (line.Has("mesh")) {
    MW_ASSIGN_OR_RETURN(mesh, Mesh::Parse(line.Text("mesh", "")));
  }
  Annotations pins;
  if (line.Has("sharding")) {
    const std::string path = line.Text("sharding", "");
    MW_ASSIGN_OR_RETURN(const std::string text, ReadFile(path));
    absl::StatusOr<ShardingFile> file =
        ParseShardingFile(text, module, NamesOf(module, roles), {.mesh = mesh});
    if (!file.ok()) {
      return ExplainContent(file.status(), path, text, FileKind::kSharding);
    }
    mesh = file->mesh;
    pins = std::move(file->annotations);
  }
  if (!mesh.has_value()) {
    absl::StatusOr<Mesh> inferred = InferMesh(module);
    if (absl::IsNotFound(inferred.status())) {
      return absl::InvalidArgumentError(
          "the module says nothing about devices; give --plan FILE "
          "(meshwright plan writes one), --sharding FILE or --mesh AXES");
    }
    MW_RETURN_IF_ERROR(inferred.status());
    mesh = *std::move(inferred);
  }
  MW_ASSIGN_OR_RETURN(const Annotations own, ReadAnnotations(module, *mesh));
  Complete(pins, own);
  return Partition(module, *mesh, std::move(pins));
}

absl::StatusOr<Plan> LoadPlan(const std::string& path) {
  MW_ASSIGN_OR_RETURN(const std::string text, ReadFile(path));
  absl::StatusOr<Plan> plan = ParsePlan(text);
  if (plan.ok()) return plan;
  return ExplainContent(plan.status(), path, text, FileKind::kPlan);
}

absl::Status ReadPins(const Module& module, const ModuleRoles& roles,
                      const CommandLine& line, PlanRequest& request) {
  if (line.Has("mesh")) {
    MW_ASSIGN_OR_RETURN(request.mesh, Mesh::Parse(line.Text("mesh", "")));
  }
  if (line.Has("pin")) {
    const std::string path = line.Text("pin", "");
    MW_ASSIGN_OR_RETURN(const std::string text, ReadFile(path));
    absl::StatusOr<ShardingFile> file = ParseShardingFile(
        text, module, NamesOf(module, roles), {.mesh = request.mesh});
    if (!file.ok()) {
      return ExplainContent(file.status(), path, text, FileKind::kSharding);
    }
    request.mesh = file->mesh;
    MW_ASSIGN_OR_RETURN(const Annotations own,
                        ReadAnnotations(module, file->mesh));
    Complete(file->annotations, own);
    request.annotations = [pins = file->annotations](const Mesh&) {
      return absl::StatusOr<Annotations>(pins);
    };
    return absl::OkStatus();
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

nlohmann::ordered_json ToJson(const std::vector<Collective>& collectives) {
  nlohmann::ordered_json json = nlohmann::ordered_json::array();
  for (const Collective& collective : collectives) {
    json.push_back({{"kind", collective.kind},
                    {"axes", collective.axes},
                    {"devices", collective.devices},
                    {"bytes", collective.bytes},
                    {"wire_bytes", collective.wire_bytes},
                    {"count", collective.count},
                    {"tensor", collective.tensor}});
  }
  return json;
}

double WireBytes(const std::vector<Collective>& collectives) {
  double bytes = 0;
  for (const Collective& collective : collectives) {
    bytes += collective.wire_bytes * collective.count;
  }
  return bytes;
}

void PrintCollectives(const std::vector<Collective>& collectives) {
  Traffic traffic;
  for (const Collective& one : collectives) {
    traffic.Add(one.kind, one.axes, one.count, one.wire_bytes);
  }
  absl::PrintF("  %s\n", traffic.empty()
                             ? "no communication"
                             : "communication, sent by a device in a step");
  traffic.Print();
}

}  // namespace meshwright
