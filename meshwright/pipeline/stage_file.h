// A file (JSON) in which a user assigns instructions to stages.
//
//   {"stages": [{"instructions": ["*embed*", "*blocks/0/*"], "mesh": "data=2"},
//               ["*blocks/1/*", "dot.17"]]}
//
// A stage is an object or, if the mesh is given on the command line, a list.
// Its strings are instruction names or names given by the user's program
// (op_name metadata); * matches any characters. If several stages match an
// instruction, the last one counts. Instructions that none matches run on the
// earliest possible stage.
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
#include "meshwright/pipeline/stage_id.h"

namespace meshwright {

struct StageEntry {
  std::vector<std::string> instructions;  // Names and patterns.
  std::optional<Mesh> mesh;
};

// kInvalidArgument in one line that names the offending entry.
absl::StatusOr<std::vector<StageEntry>> ParseStageFile(absl::string_view text);

// By instruction id: the stage of every forward instruction, kNoStage for the
// others. kInvalidArgument for a name that matches nothing, with the most
// similar one.
absl::StatusOr<std::vector<StageId>> StagesByName(
    const Computation& micro_batch, const CutGraph& graph,
    const std::vector<bool>& forward, const std::vector<StageEntry>& stages);

}  // namespace meshwright

#endif  // MESHWRIGHT_PIPELINE_STAGE_FILE_H_
