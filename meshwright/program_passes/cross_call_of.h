// From a collective of HLO to the call that takes its place.
#ifndef MESHWRIGHT_PROGRAM_PASSES_CROSS_CALL_OF_H_
#define MESHWRIGHT_PROGRAM_PASSES_CROSS_CALL_OF_H_

#include <cstdint>

#include "absl/status/statusor.h"
#include "meshwright/hlo/module.h"
#include "meshwright/program_passes/cross_call.h"
#include "meshwright/program_passes/cross_groups.h"

namespace meshwright {

// As place.process makes it; its groups have the tags from `tag` on. Requires:
// groups.crosses. kUnimplemented, with the instruction's name, for what has no
// such call.
absl::StatusOr<CrossCall> CrossCallOf(const Instruction& instruction,
                                      const DeviceGroups& groups,
                                      const ProcessPlace& place, uint32_t tag);

}  // namespace meshwright

#endif  // MESHWRIGHT_PROGRAM_PASSES_CROSS_CALL_OF_H_
