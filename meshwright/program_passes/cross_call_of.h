// Translates a collective of HLO into the call that replaces it.
#ifndef MESHWRIGHT_PROGRAM_PASSES_CROSS_CALL_OF_H_
#define MESHWRIGHT_PROGRAM_PASSES_CROSS_CALL_OF_H_

#include <cstdint>

#include "absl/status/statusor.h"
#include "meshwright/hlo/module.h"
#include "meshwright/program_passes/cross_call.h"
#include "meshwright/program_passes/cross_groups.h"

namespace meshwright {

// For place.process; its groups get consecutive tags starting at `tag`.
// Requires: groups.crosses. kUnimplemented, with the instruction's name, if
// there is no such call.
absl::StatusOr<CrossCall> CrossCallOf(const Instruction& instruction,
                                      const DeviceGroups& groups,
                                      const ProcessPlace& place, uint32_t tag);

}  // namespace meshwright

#endif  // MESHWRIGHT_PROGRAM_PASSES_CROSS_CALL_OF_H_
