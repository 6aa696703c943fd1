// Which instructions belong to which stage, in a file of the user's (JSON).
//
//   {"stages": [{"instructions": ["*embed*", "*blocks/0/*"], "mesh": "data=2"},
//               ["*blocks/1/*", "dot.17"]]}
//
// A stage is an object or, with the mesh left to the command, a list. What
// stands there is the name of an instruction or the name that the user's
// program gave it (op_name); * stands for any characters. Of several stages
// that match, the last counts. What none names runs as early as it can.
#ifndef MESHWRIGHT_PIPELINE_STAGE_FILE_H_
#define MESHWRIGHT_PIPELINE_STAGE_FILE_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "meshwright/hlo/computation.h"
#include "meshwright/mesh/mesh.h"
#include "meshwright/pipeline/cut_graph.h"

namespace meshwright {

struct StageEntry {
  std::vector<std::string> instructions;  // Names and patterns.
  std::optional<Mesh> mesh;
};

// kInvalidArgument in one line that names the culprit.
absl::StatusOr<std::vector<StageEntry>> ParseStageFile(absl::string_view text);

// The stage of every forward instruction, by id, kNoStage for the others.
// kInvalidArgument for a name that matches none, with the nearest.
absl::StatusOr<std::vector<int32_t>> StagesByName(
    const Computation& micro_batch, const CutGraph& graph,
    const std::vector<bool>& forward, const std::vector<StageEntry>& stages);

}  // namespace meshwright

#endif  // MESHWRIGHT_PIPELINE_STAGE_FILE_H_
