// A program for the devices of a whole mesh, as each of several processes
// compiles it for its own devices.
//
// Four devices, two in each process. This is the program of all:
//
//   id  = u32[] replica-id()
//   sum = f32[8] all-reduce(x), replica_groups={{0,1},{2,3}}, to_apply=add
//   all = f32[32] all-gather(sum), replica_groups={{0,1,2,3}}, dimensions={0}
//
// and this the program of process 1, for two replicas:
//
//   local = u32[] replica-id()
//   two   = u32[] constant(2)
//   id    = u32[] add(local, two)
//   sum   = f32[8] all-reduce(x), replica_groups={{0,1}}, to_apply=add
//   call  = (f32[32], u32[]) custom-call(sum, id),
//       custom_call_target="meshwright_collective",
//       api_version=API_VERSION_TYPED_FFI, custom_call_has_side_effect=true,
//       backend_config={kind = "all-gather", groups = "0:0@0,1@0,2@1,3@1", ...}
//   all   = f32[32] get-tuple-element(call), index=0
//
// The all-reduce stays the compiler's: all of its groups lie within one
// process. What calls do is in runtime/cross_collectives.h.
//
// Calls follow one another in the same order in all processes, so that none
// waits for one that another is yet to make: compilers may start a call only
// when the one before is over. Straight on that is by control dependences;
// loops and conditionals get the number of the device that the call before them
// has returned, and hand one on (cross_frame.h).
#ifndef MESHWRIGHT_PROGRAM_PASSES_CROSS_PROCESS_H_
#define MESHWRIGHT_PROGRAM_PASSES_CROSS_PROCESS_H_

#include <cstdint>

#include "absl/status/statusor.h"
#include "meshwright/hlo/module.h"
#include "meshwright/program_passes/cross_groups.h"

namespace meshwright {

// The program of place.process, to be compiled with as many replicas as it has
// devices. Its calls (cross_call.h) are for `job`; their groups are numbered
// from `first_tag` on, which programs of one job must choose apart. Calls of
// computations that have such are put in place.
//
// kInvalidArgument if devices are named that the mesh does not have, or the
// process has none; kUnimplemented, naming the instruction, for what cannot go
// between processes: asynchronous pairs, reductions other than sum, product,
// maximum, minimum, and, or; types narrower than a byte.
absl::StatusOr<Module> LowerForProcess(const Module& program,
                                       const ProcessPlace& place, int64_t job,
                                       uint32_t first_tag = 0);

// How many tags that takes; the same in all processes.
absl::StatusOr<uint32_t> CrossTagCount(const Module& program,
                                       const ProcessPlace& place);

}  // namespace meshwright

#endif  // MESHWRIGHT_PROGRAM_PASSES_CROSS_PROCESS_H_
