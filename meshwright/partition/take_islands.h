// Regions of a module that are written per device (shard_map), each made one
// operation (rules/island.h) that everything else takes as it is.
//
//   xla.sdy.GlobalToLocalShape(x, w)   one call each way and a body that is
//     call(...) xla.sdy.manual...      called: Shardy's form
//   xla.sdy.LocalToGlobalShape(y)
//
//   SPMDFullToShardShape(Sharding(x))  one call per array: GSPMD's form
//   SPMDShardToFullShape(Sharding(y))
//
//   -> y = custom-call(x, w), custom_call_target="mw.island"
#ifndef MESHWRIGHT_PARTITION_TAKE_ISLANDS_H_
#define MESHWRIGHT_PARTITION_TAKE_ISLANDS_H_

#include "absl/status/statusor.h"
#include "meshwright/hlo/module.h"

namespace meshwright {

// Whether a region begins or ends anywhere in the module.
bool HasManualRegions(const Module& module);

// The module with its calls inlined (InlineCalls) and its regions taken; hints
// for partitioners inside them are dropped. kInvalidArgument, naming the region
// by its op_name, where one cannot be taken.
// Requires: `module` passed Verify. The result does.
absl::StatusOr<Module> TakeIslands(Module module);

}  // namespace meshwright

#endif  // MESHWRIGHT_PARTITION_TAKE_ISLANDS_H_
