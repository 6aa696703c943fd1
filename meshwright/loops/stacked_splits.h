// Which values of a step are divided when its scans over layers are split: the
// arrays that the loops read and write slot by slot, and what is computed from
// them.
//
//   loop of 12 iterations, split at 6:
//     w f32[12,64,64]       [0,6) [6,12): read by one piece each
//     dw f32[12,64,64]      written by one piece each, of the backward loop
//     m = 0.9 * m + 0.1 * dw, w = w - m, both state: all in these two parts
//
// The reverse scan, which reads what the forward scan wrote, is split at the
// same iterations.
#ifndef MESHWRIGHT_LOOPS_STACKED_SPLITS_H_
#define MESHWRIGHT_LOOPS_STACKED_SPLITS_H_

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "meshwright/hlo/module.h"
#include "meshwright/loops/counted_loop.h"
#include "meshwright/loops/op_restriction.h"
#include "meshwright/pipeline/stage_sums.h"

namespace meshwright {

struct LoopSplitOptions {
  // By name of a while in the entry: the iterations, ascending and not the
  // first, at which pieces begin.
  std::map<std::string, std::vector<int64_t>> at;
  // By parameter: whether it may be divided.
  std::vector<bool> may_split;
  std::vector<NextValue> state;
};

struct LoopPieces {
  CountedLoop loop;
  std::vector<int64_t> bounds;  // 0, where pieces begin, the iteration count.
};

struct StackedSplits {
  // By instruction id of the entry.
  std::vector<std::optional<DimensionSplit>> values;
  std::map<int32_t, LoopPieces> loops;  // The whiles that are split.

  // The instruction that computes the same value: looks through tuples, and
  // through elements that a split loop does not change.
  const Instruction& Source(const Instruction& value) const;
};

// Requires: the module has no calls, its root is a flat tuple.
StackedSplits FindStackedSplits(const Module& module,
                                const LoopSplitOptions& options);

}  // namespace meshwright

#endif  // MESHWRIGHT_LOOPS_STACKED_SPLITS_H_
