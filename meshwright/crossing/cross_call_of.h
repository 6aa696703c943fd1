// Translates a collective of HLO into the call that replaces it.
#ifndef MESHWRIGHT_CROSSING_CROSS_CALL_OF_H_
#define MESHWRIGHT_CROSSING_CROSS_CALL_OF_H_

#include <cstdint>

#include "absl/status/statusor.h"
#include "meshwright/crossing/cross_call.h"
#include "meshwright/crossing/cross_groups.h"
#include "meshwright/hlo/module.h"

namespace meshwright {

// For place.process; its groups get consecutive tags starting at `tag`.
// Requires: groups.crosses. kUnimplemented, with the instruction's name, if
// there is no such call.
absl::StatusOr<CrossCall> CrossCallOf(const Instruction& instruction,
                                      const DeviceGroups& groups,
                                      const ProcessPlace& place, uint32_t tag);

}  // namespace meshwright

#endif  // MESHWRIGHT_CROSSING_CROSS_CALL_OF_H_
