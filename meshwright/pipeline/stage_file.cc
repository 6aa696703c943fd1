#include "meshwright/pipeline/stage_file.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "meshwright/annotations/name_pattern.h"
#include "meshwright/base/annotate.h"
#include "meshwright/base/json_fault.h"
#include "meshwright/base/status_macros.h"
#include "meshwright/pipeline/stage_backward.h"

namespace meshwright {
namespace {

using Json = nlohmann::json;

absl::StatusOr<StageEntry> ParseEntry(const Json& json) {
  StageEntry entry;
  const Json* names = &json;
  if (json.is_object()) {
    for (const auto& [key, value] : json.items()) {
      if (key != "instructions" && key != "mesh") {
        return absl::InvalidArgumentError(absl::StrCat(
            "\"", key, "\" is none of \"instructions\", \"mesh\""));
      }
    }
    if (!json.contains("instructions")) {
      return absl::InvalidArgumentError("has no \"instructions\"");
    }
    names = &json["instructions"];
    if (json.contains("mesh")) {
      if (!json["mesh"].is_string()) {
        return absl::InvalidArgumentError("\"mesh\" must be text: data=2");
      }
      MW_ASSIGN_OR_RETURN(entry.mesh,
                          Mesh::Parse(json["mesh"].get<std::string>()));
    }
  }
  if (!names->is_array()) {
    return absl::InvalidArgumentError("must list names of instructions");
  }
  for (const Json& name : *names) {
    if (!name.is_string()) {
      return absl::InvalidArgumentError(
          absl::StrCat(name.dump(), " is no name of an instruction"));
    }
    entry.instructions.push_back(name.get<std::string>());
  }
  return entry;
}

bool IsNamed(const Instruction& instruction, const std::string& name) {
  return Matches(name, instruction.name) ||
         Matches(name, instruction.metadata.op_name);
}

}  // namespace

absl::StatusOr<std::vector<StageEntry>> ParseStageFile(absl::string_view text) {
  const Json json = Json::parse(text, nullptr, /*allow_exceptions=*/false);
  if (json.is_discarded()) return absl::InvalidArgumentError(NotJson(text));
  if (!json.is_object() || !json.contains("stages") ||
      !json["stages"].is_array() || json["stages"].empty()) {
    return absl::InvalidArgumentError("has no list \"stages\"");
  }
  std::vector<StageEntry> stages;
  for (const Json& entry : json["stages"]) {
    absl::StatusOr<StageEntry> parsed = ParseEntry(entry);
    if (!parsed.ok()) {
      return Annotate(parsed.status(), absl::StrCat("stage ", stages.size()));
    }
    stages.push_back(*std::move(parsed));
  }
  return stages;
}

absl::StatusOr<std::vector<StageId>> StagesByName(
    const Computation& micro_batch, const CutGraph& graph,
    const std::vector<bool>& forward, const std::vector<StageEntry>& stages) {
  std::vector<StageId> named(micro_batch.size(), kNoStage);
  std::vector<std::string> names;
  for (const auto& instruction : micro_batch.instructions()) {
    if (forward[instruction->id]) names.push_back(instruction->name);
  }
  for (size_t stage = 0; stage < stages.size(); ++stage) {
    for (const std::string& name : stages[stage].instructions) {
      bool found = false;
      for (const auto& instruction : micro_batch.instructions()) {
        if (!forward[instruction->id] || !IsNamed(*instruction, name)) continue;
        named[graph.owner[instruction->id]] = StageId(stage);
        found = true;
      }
      if (found) continue;
      return absl::InvalidArgumentError(absl::StrCat(
          "stage ", stage, ": no instruction of the forward pass is \"", name,
          "\"; near: ", absl::StrJoin(NearestNames(name, names, 3), ", ")));
    }
  }
  const StageId last(stages.size() - 1);
  std::vector<StageId> stage(micro_batch.size(), kNoStage);
  std::vector<bool> moves(micro_batch.size());  // Depends on parameters only.
  for (int32_t id = 0; id < micro_batch.size(); ++id) {
    if (!forward[id] || !graph.IsNode(id)) continue;
    stage[id] = std::max(named[id], StageId(0));
    if (named[id] != kNoStage) continue;
    moves[id] = true;
    for (const Instruction* source : graph.sources[id]) {
      const int32_t owner = graph.owner[source->id];
      if (graph.parameter[owner]) continue;
      stage[id] = std::max(stage[id], stage[owner]);
      moves[id] = moves[id] && moves[owner];
    }
    if (moves[id]) stage[id] = StageId(0);
  }
  // What does not depend on another stage moves to its first user.
  std::vector<StageId> first_user(micro_batch.size(), last);
  for (int32_t id = micro_batch.size(); id-- > 0;) {
    if (stage[id] == kNoStage) continue;
    if (moves[id]) stage[id] = first_user[id];
    for (const Instruction* source : graph.sources[id]) {
      StageId& first = first_user[graph.owner[source->id]];
      first = std::min(first, stage[id]);
    }
  }
  return stage;
}

}  // namespace meshwright
