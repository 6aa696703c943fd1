// Which collectives of a program span processes, and which processes.
#ifndef MESHWRIGHT_CROSSING_CROSS_GROUPS_H_
#define MESHWRIGHT_CROSSING_CROSS_GROUPS_H_

#include <cstdint>
#include <vector>

#include "absl/status/statusor.h"
#include "meshwright/hlo/module.h"

namespace meshwright {

// The processes of a mesh's devices, as seen from one of these.
// Processes are numbered as the workers of a wire (wire.h).
struct ProcessPlace {
  std::vector<int> process_of;  // By device (replica) of the mesh.
  int process = 0;
};

// The devices of place.process, ascending: local replica i is the i-th.
std::vector<int64_t> LocalDevices(const ProcessPlace& place);

// Whether it communicates within groups of devices.
bool HasDeviceGroups(const Instruction& instruction);

struct DeviceGroups {
  // As written; all devices if none are. Of permutes: the connected components
  // of its pairs, ascending.
  std::vector<std::vector<int64_t>> groups;
  bool crosses = false;  // At least one group has devices of several processes.
};

// The same in all processes. Requires: HasDeviceGroups. kInvalidArgument, with
// the instruction's name, for devices that the mesh does not have.
absl::StatusOr<DeviceGroups> DeviceGroupsOf(const Instruction& instruction,
                                            const ProcessPlace& place);

// The sets of at least two processes, each ascending and containing
// place.process, that share calls in the program as LowerForProcess makes it.
// If all processes request their groups (Wire::GroupOf) in this order, none
// waits forever.
absl::StatusOr<std::vector<std::vector<int>>> ProcessGroupsOf(
    const Module& program, const ProcessPlace& place);

}  // namespace meshwright

#endif  // MESHWRIGHT_CROSSING_CROSS_GROUPS_H_
