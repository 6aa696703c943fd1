#include "meshwright/cli/split_module.h"

#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "meshwright/base/annotate.h"
#include "meshwright/base/file.h"
#include "meshwright/base/status_macros.h"
#include "meshwright/base/units.h"
#include "meshwright/partition/annotations.h"
#include "meshwright/partition/infer_mesh.h"
#include "meshwright/partition/sharding_file.h"

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
}

}  // namespace

std::vector<FlagSpec> SplitFlags() {
  return {{"sharding", "FILE",
           "JSON: the mesh, and how parameters, outputs and instructions lie "
           "on it"},
          {"mesh", "AXES",
           "data=4,model=2; for a file without one, or a module that brings "
           "its own annotations"}};
}

absl::StatusOr<Partitioned> SplitModule(const Module& module,
                                        const ModuleRoles& roles,
                                        const CommandLine& line) {
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
    if (!file.ok()) return Annotate(file.status(), path);
    mesh = file->mesh;
    pins = std::move(file->annotations);
  }
  if (!mesh.has_value()) {
    absl::StatusOr<Mesh> inferred = InferMesh(module);
    if (absl::IsNotFound(inferred.status())) {
      return absl::InvalidArgumentError(
          "the module says nothing about devices; give --sharding FILE or "
          "--mesh AXES");
    }
    MW_RETURN_IF_ERROR(inferred.status());
    mesh = *std::move(inferred);
  }
  MW_ASSIGN_OR_RETURN(const Annotations own, ReadAnnotations(module, *mesh));
  Complete(pins, own);
  return Partition(module, *mesh, std::move(pins));
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
  struct Total {
    double count = 0;
    double bytes = 0;
  };
  std::map<std::pair<std::string, std::string>, Total> totals;
  for (const Collective& collective : collectives) {
    Total& total = totals[{collective.kind, collective.axes}];
    total.count += collective.count;
    total.bytes += collective.wire_bytes * collective.count;
  }
  if (totals.empty()) absl::PrintF("  no communication\n");
  for (const auto& [key, total] : totals) {
    absl::PrintF("  %-18s over %-14s %6g x  %s on the wire\n", key.first,
                 key.second, total.count,
                 FormatBytes(static_cast<int64_t>(total.bytes)));
  }
}

}  // namespace meshwright
