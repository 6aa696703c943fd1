// Where to split a step's scans over layers so that pipeline stages have about
// equal work.
//
//   12 layers in a loop, 2 stages: pieces of 6
//   a head as heavy as 2 layers after them: pieces of 7 and 5
//   10 layers, 4 stages: [0,2) 2 [3,5) [5,7) 7 [8,10), where layers 2 and 7
//   are no loops, so that stages can begin inside of them
//
// There are at most two pieces per stage and boundary, however many layers
// there are.
#ifndef MESHWRIGHT_PIPELINE_SEARCH_SPLIT_FOR_STAGES_H_
#define MESHWRIGHT_PIPELINE_SEARCH_SPLIT_FOR_STAGES_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "meshwright/analysis/roles.h"
#include "meshwright/hlo/module.h"
#include "meshwright/loops/split_loops.h"

namespace meshwright {

// The iterations, ascending, at which pieces begin, for a loop of `count`
// iterations whose work is the part from `begin` to `end` of the step's (0 to
// 1). Stages end at `boundaries`, which may be missed by `tolerance`.
std::vector<int64_t> PiecesOf(int64_t count, double begin, double end,
                              absl::Span<const double> boundaries,
                              double tolerance);

// nullopt: there is no loop to split for this many stages, or the forward pass
// could not be told from the backward pass. Requires: `module` passed Verify.
absl::StatusOr<std::optional<SplitStep>> SplitLoopsForStages(
    const Module& module, const ModuleRoles& roles, int32_t stages);

// Iterations [begin, end) of the forward loops whose instruction name or
// op_name metadata matches `loop` (* is a wildcard).
struct LoopRange {
  std::string loop;
  int64_t begin = 0;
  int64_t end = 0;
};

// "*encoder*[0:6]" -> "*encoder*", 0, 6. nullopt for text without such an end.
std::optional<LoopRange> ParseLoopRange(absl::string_view text);

// As SplitLoopsForStages with these ranges as pieces; instructions in such a
// piece are named after it ("jit(step)/encoder/while[0:6]"). nullopt also if no
// loop has such a name. kInvalidArgument for iterations that a loop does not
// have.
absl::StatusOr<std::optional<SplitStep>> SplitLoopsAt(
    const Module& module, const ModuleRoles& roles,
    const std::vector<LoopRange>& ranges);

}  // namespace meshwright

#endif  // MESHWRIGHT_PIPELINE_SEARCH_SPLIT_FOR_STAGES_H_
