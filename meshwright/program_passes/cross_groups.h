// Which collectives of a program go between processes, and between which.
#ifndef MESHWRIGHT_PROGRAM_PASSES_CROSS_GROUPS_H_
#define MESHWRIGHT_PROGRAM_PASSES_CROSS_GROUPS_H_

#include <cstdint>
#include <vector>

#include "absl/status/statusor.h"
#include "meshwright/hlo/module.h"

namespace meshwright {

// Where the devices of a mesh lie, seen from one of the processes. Processes
// have the numbers that a wire (wire.h) gives its workers.
struct ProcessPlace {
  std::vector<int> process_of;  // By device (replica) of the mesh.
  int process = 0;
};

// The devices of place.process, ascending: local replica i is the i-th.
std::vector<int64_t> LocalDevices(const ProcessPlace& place);

// Whether devices exchange data in it, groups of them at a time.
bool HasDeviceGroups(const Instruction& instruction);

struct DeviceGroups {
  // As written; none written means all devices. Of permutes: devices that are
  // sources or targets of each other, directly or not, ascending.
  std::vector<std::vector<int64_t>> groups;
  bool crosses = false;  // At least one has devices of several processes.
};

// The same in all processes. Requires: HasDeviceGroups. kInvalidArgument, with
// the instruction's name, for devices that the mesh does not have.
absl::StatusOr<DeviceGroups> DeviceGroupsOf(const Instruction& instruction,
                                            const ProcessPlace& place);

// The sets of at least two processes, each ascending, that have calls in common
// in the program as LowerForProcess makes it, place.process among them. If all
// processes ask for their groups (Wire::GroupOf) in this order, none waits for
// ever.
absl::StatusOr<std::vector<std::vector<int>>> ProcessGroupsOf(
    const Module& program, const ProcessPlace& place);

}  // namespace meshwright

#endif  // MESHWRIGHT_PROGRAM_PASSES_CROSS_GROUPS_H_
