// Turns a program for the devices of a whole mesh into the programs that each
// of several processes compiles for its own devices.
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
// The all-reduce is left to the compiler, since each of its groups is within
// one process. For what calls do see crossing/cross_collectives.h.
//
// Calls run in the same order in all processes, so that none waits for one that
// another process has yet to make: compilers may start a call only when the one
// before is done. In straight-line code control dependences enforce that; loops
// and conditionals receive the device number that the preceding call returned,
// and pass one on (cross_frame.h).
#ifndef MESHWRIGHT_CROSSING_CROSS_PROCESS_H_
#define MESHWRIGHT_CROSSING_CROSS_PROCESS_H_

#include <cstdint>

#include "absl/status/statusor.h"
#include "meshwright/crossing/cross_groups.h"
#include "meshwright/hlo/module.h"

namespace meshwright {

// The program of place.process, to be compiled with as many replicas as it has
// devices. Its calls (cross_call.h) are for `job`; their groups are numbered
// from `first_tag` on, which must not overlap between programs of one job.
// Computations that contain such calls are inlined where they are called.
//
// kInvalidArgument if devices are named that the mesh does not have, or the
// process has none; kUnimplemented, naming the instruction, for what is not
// supported between processes: asynchronous pairs, reductions other than sum,
// product, maximum, minimum, and, or, or of values that have no such reduction.
absl::StatusOr<Module> LowerForProcess(const Module& program,
                                       const ProcessPlace& place, int64_t job,
                                       uint32_t first_tag = 0);

// How many tags that uses; the same in all processes.
absl::StatusOr<uint32_t> CrossTagCount(const Module& program,
                                       const ProcessPlace& place);

}  // namespace meshwright

#endif  // MESHWRIGHT_CROSSING_CROSS_PROCESS_H_
