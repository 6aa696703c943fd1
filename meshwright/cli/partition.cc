// meshwright partition: the program that each device of a mesh runs.
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "meshwright/analysis/display_names.h"
#include "meshwright/base/file.h"
#include "meshwright/base/fold_names.h"
#include "meshwright/base/progress.h"
#include "meshwright/base/status_macros.h"
#include "meshwright/base/stopwatch.h"
#include "meshwright/base/units.h"
#include "meshwright/cli/commands.h"
#include "meshwright/cli/load_module.h"
#include "meshwright/cli/split_module.h"
#include "meshwright/expand/expand.h"
#include "meshwright/hlo/print_module.h"
#include "meshwright/hlo/write_module.h"
#include "meshwright/mesh/sharding_text.h"

namespace meshwright {
namespace {

using Json = nlohmann::ordered_json;

const CommandSpec& PartitionSpec() {
  static const auto* const spec = [] {
    auto* made = new CommandSpec{
        .name = "partition",
        .summary = "split a module over a mesh, given how its tensors lie",
        .positional = {"MODULE"},
        .flags = SplitFlags()};
    made->flags.push_back(
        {"output", "FILE", "write the program, .hlo.pb", FileUse::kWritten});
    made->flags.push_back({"platform", "NAME",
                           "with --output: as this platform's compiler gets "
                           "it, cpu, cuda or tpu (default: as it was split)"});
    made->flags.push_back({"text", "", "print the program as HLO text"});
    made->flags.push_back({"json", "", "one JSON object on stdout"});
    return made;
  }();
  return *spec;
}

Json ShardingsToJson(const std::vector<Sharding>& shardings, const Mesh& mesh) {
  Json json = Json::array();
  for (const Sharding& sharding : shardings) {
    json.push_back(ToString(sharding, mesh));
  }
  return json;
}

Json ResultToJson(const Partitioned& split, double seconds) {
  Json mesh = Json::object();
  for (const MeshAxis& axis : split.mesh.axes()) mesh[axis.name] = axis.size;
  return {{"mesh", mesh},
          {"devices", split.mesh.device_count()},
          {"instructions", split.module.instruction_count()},
          {"shardings",
           {{"parameters", ShardingsToJson(split.parameters, split.mesh)},
            {"outputs", ShardingsToJson(split.outputs, split.mesh)}}},
          {"wire_bytes", WireBytes(split.collectives)},
          {"collectives", ToJson(split.collectives)},
          {"fallbacks", split.fallbacks},
          {"notes", split.notes},
          {"seconds", seconds}};
}

// User-visible names.
std::vector<std::string> ShownNames(const Module& module,
                                    const ModuleRoles& roles,
                                    const std::vector<std::string>& hlo_names) {
  const DisplayNames names(module, roles);
  const std::set<std::string> wanted(hlo_names.begin(), hlo_names.end());
  std::vector<std::string> shown;
  for (const auto& computation : module.computations()) {
    for (const auto& instruction : computation->instructions()) {
      if (wanted.contains(instruction->name)) {
        shown.push_back(names.Of(*instruction));
      }
    }
  }
  return shown;
}

// The content of the program's file.
absl::StatusOr<std::string> BytesOf(const Module& program,
                                    const CommandLine& line) {
  if (!line.Has("platform")) return WriteModule(program);
  return WriteModuleFor(line.Text("platform", ""), program);
}

absl::Status CheckPlatform(const CommandLine& line) {
  if (!line.Has("platform")) return absl::OkStatus();
  const std::string name = line.Text("platform", "");
  if (!std::set<std::string>{"cpu", "cuda", "tpu"}.contains(name)) {
    return absl::InvalidArgumentError(
        absl::StrCat("--platform: ", name, " is none of cpu, cuda, tpu"));
  }
  if (line.Has("output")) return absl::OkStatus();
  return absl::InvalidArgumentError(
      "--platform is about the file that is written: it needs --output");
}

absl::Status RunPartition(const CommandLine& line) {
  MW_RETURN_IF_ERROR(line.CheckNotBoth("text", "json"));
  MW_RETURN_IF_ERROR(CheckPlatform(line));
  MW_ASSIGN_OR_RETURN(const Module module, LoadStep(line.positional(0), line));
  const ModuleRoles roles = AnalyzeRoles(module);
  const Stopwatch watch;
  const Progress progress("partitioning");
  MW_ASSIGN_OR_RETURN(const Partitioned split,
                      SplitModule(module, roles, line));
  const double seconds = watch.seconds();
  if (line.Has("output")) {
    MW_ASSIGN_OR_RETURN(const std::string bytes, BytesOf(split.module, line));
    MW_RETURN_IF_ERROR(WriteFileAtomically(line.Text("output", ""), bytes));
  }
  if (line.Has("json")) {
    absl::PrintF("%s\n", ResultToJson(split, seconds).dump(2));
    return absl::OkStatus();
  }
  if (line.Has("text")) {
    absl::PrintF("%s", ToString(split.module));
    return absl::OkStatus();
  }
  absl::PrintF("%s: %d devices (%s), %d instructions each, in %s\n",
               module.name(), split.mesh.device_count(), split.mesh.ToString(),
               split.module.instruction_count(), FormatSeconds(seconds));
  PrintCollectives(split.collectives);
  absl::PrintF("  %s per device and step in all\n",
               FormatBytes(static_cast<int64_t>(WireBytes(split.collectives))));
  if (!split.fallbacks.empty()) {
    absl::PrintF("  computed whole on every device: %s\n",
                 FoldedList(ShownNames(module, roles, split.fallbacks), 8));
  }
  for (const std::string& note : split.notes) {
    absl::PrintF("note: %s\n", note);
  }
  return absl::OkStatus();
}

}  // namespace

extern const Command kPartitionCommand = {&PartitionSpec, &RunPartition};

}  // namespace meshwright
