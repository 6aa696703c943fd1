#include "meshwright/cli/split_module.h"

#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "meshwright/analysis/flops.h"
#include "meshwright/annotations/annotations.h"
#include "meshwright/annotations/infer_mesh.h"
#include "meshwright/api/plan_pins.h"
#include "meshwright/api/planned_runner.h"
#include "meshwright/api/traffic_text.h"
#include "meshwright/base/annotate.h"
#include "meshwright/base/status_macros.h"
#include "meshwright/cli/load_module.h"
#include "meshwright/microbatch/sort_in_blocks.h"
#include "meshwright/plan/plan.h"

namespace meshwright {
namespace {

// The numbers of devices along some of the axes.
std::set<int64_t> GroupSizes(const Mesh& mesh) {
  std::set<int64_t> sizes = {1};
  for (const MeshAxis& axis : mesh.axes()) {
    const std::set<int64_t> others = sizes;
    for (const int64_t size : others) sizes.insert(size * axis.size);
  }
  return sizes;
}

// At the prices by which Partition chooses.
double PriceOf(const Partitioned& split) {
  const Prices prices;
  const Work work = ModuleWork(split.module).total();
  double price =
      work.flops * prices.per_flop + work.bytes * prices.per_local_byte;
  for (const Collective& collective : split.collectives) {
    price += collective.count *
             (prices.collective.latency +
              collective.wire_bytes * prices.collective.per_wire_byte);
  }
  return price;
}

// As Partition, but if it costs less that devices sort their own rows
// (sort_in_blocks.h), they do.
absl::StatusOr<Partitioned> PartitionSortingRows(const Module& module,
                                                 const Mesh& mesh,
                                                 const Annotations& pins) {
  MW_ASSIGN_OR_RETURN(Partitioned best, Partition(module, mesh, pins));
  int64_t best_blocks = 1;
  for (const int64_t blocks : GroupSizes(mesh)) {
    if (blocks == 1) continue;
    const std::optional<Module> sorted = SortInBlocks(module, 1, blocks);
    if (!sorted.has_value()) continue;
    // A pin may be for what is sorted.
    absl::StatusOr<Partitioned> split = Partition(*sorted, mesh, pins);
    if (!split.ok() || PriceOf(*split) >= PriceOf(best)) continue;
    best = *std::move(split);
    best_blocks = blocks;
  }
  if (best_blocks > 1) best.notes.push_back(SortedRowsNote(best_blocks));
  return best;
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
    MW_ASSIGN_OR_RETURN(
        ShardingFile file,
        LoadShardings(line.Text("sharding", ""), module, roles, mesh));
    mesh = file.mesh;
    pins = std::move(file.annotations);
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
  return PartitionSortingRows(module, *mesh, pins);
}

absl::StatusOr<std::string> PlatformFor(const CommandLine& line) {
  if (line.Has("platform") || !line.Has("plan")) {
    return line.Text("platform", "");
  }
  MW_ASSIGN_OR_RETURN(const Plan plan, LoadPlan(line.Text("plan", "")));
  return PlatformFor(plan);
}

absl::Status ReadPins(const Module& module, const ModuleRoles& roles,
                      const CommandLine& line, PlanRequest& request) {
  if (line.Has("mesh")) {
    MW_ASSIGN_OR_RETURN(request.mesh, Mesh::Parse(line.Text("mesh", "")));
  }
  return ReadPins(module, roles, line.Optional("pin"), request);
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
  absl::PrintF("%s", traffic.ToString());
}

}  // namespace meshwright
