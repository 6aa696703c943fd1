// Turns each shard_map region of a module into one operation (rules/island.h),
// which all other passes treat like any op.
//
//   xla.sdy.GlobalToLocalShape(x, w)   one call each way and a body that is
//     call(...) xla.sdy.manual...      called: Shardy's form
//   xla.sdy.LocalToGlobalShape(y)
//
//   SPMDFullToShardShape(Sharding(x))  one call per array: GSPMD's form
//   SPMDShardToFullShape(Sharding(y))
//
//   mw.region.enter(x)                 islands opened (open_islands.h)
//   mw.region.leave(y)
//
//   -> y = custom-call(x, w), custom_call_target="mw.island"
#ifndef MESHWRIGHT_PARTITION_TAKE_ISLANDS_H_
#define MESHWRIGHT_PARTITION_TAKE_ISLANDS_H_

#include "absl/status/statusor.h"
#include "meshwright/hlo/module.h"

namespace meshwright {

// Whether the module contains the beginning or the end of a region.
bool HasManualRegions(const Module& module);

// The module with its calls inlined (InlineCalls) and each region replaced by
// one operation; partitioner hints inside regions are dropped.
// kInvalidArgument, naming the region by its op_name, if one cannot be
// converted. Requires: `module` passed Verify. The result passes, too.
absl::StatusOr<Module> TakeIslands(Module module);

}  // namespace meshwright

#endif  // MESHWRIGHT_PARTITION_TAKE_ISLANDS_H_
