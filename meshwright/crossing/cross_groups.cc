#include "meshwright/crossing/cross_groups.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <set>

#include "absl/strings/str_cat.h"
#include "meshwright/base/status_macros.h"
#include "meshwright/hlo/opcode_traits.h"

namespace meshwright {
namespace {

bool IsPermute(const Instruction& instruction) {
  return CollectiveOf(instruction.opcode) == Opcode::kCollectivePermute;
}

absl::Status CheckDevice(int64_t device, const Instruction& instruction,
                         const ProcessPlace& place) {
  const int64_t count = std::ssize(place.process_of);
  if (device >= 0 && device < count) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat(instruction.name, " (", instruction.opcode_name(),
                   "): names device ", device, " of ", count));
}

// Connected components of devices, by their smallest.
std::vector<std::vector<int64_t>> Components(
    const std::vector<SourceTarget>& pairs, size_t device_count) {
  std::vector<int64_t> smallest(device_count);
  std::iota(smallest.begin(), smallest.end(), 0);
  const auto find = [&](int64_t device) {
    while (smallest[device] != device) device = smallest[device];
    return device;
  };
  std::set<int64_t> devices;
  for (const SourceTarget& pair : pairs) {
    const auto [low, high] = std::minmax(find(pair.source), find(pair.target));
    smallest[high] = low;
    devices.insert({pair.source, pair.target});
  }
  std::map<int64_t, std::vector<int64_t>> components;
  for (const int64_t device : devices) {
    components[find(device)].push_back(device);
  }
  std::vector<std::vector<int64_t>> groups;
  for (auto& [first, component] : components) {
    groups.push_back(std::move(component));
  }
  return groups;
}

std::vector<int> ProcessesOf(const std::vector<int64_t>& devices,
                             const ProcessPlace& place) {
  std::set<int> processes;
  for (const int64_t device : devices) {
    processes.insert(place.process_of[device]);
  }
  return {processes.begin(), processes.end()};
}

}  // namespace

std::vector<int64_t> LocalDevices(const ProcessPlace& place) {
  std::vector<int64_t> devices;
  for (int64_t device = 0; device < std::ssize(place.process_of); ++device) {
    if (place.process_of[device] == place.process) devices.push_back(device);
  }
  return devices;
}

bool HasDeviceGroups(const Instruction& instruction) {
  return CollectiveOf(instruction.opcode) != Opcode::kUnknown;
}

absl::StatusOr<DeviceGroups> DeviceGroupsOf(const Instruction& instruction,
                                            const ProcessPlace& place) {
  DeviceGroups result;
  const Attributes& attributes = *instruction.attributes;
  if (IsPermute(instruction)) {
    for (const SourceTarget& pair : attributes.source_target_pairs) {
      for (const int64_t device : {pair.source, pair.target}) {
        MW_RETURN_IF_ERROR(CheckDevice(device, instruction, place));
      }
    }
    result.groups =
        Components(attributes.source_target_pairs, place.process_of.size());
  } else if (attributes.replica_groups.empty()) {
    std::vector<int64_t> all(place.process_of.size());
    std::iota(all.begin(), all.end(), 0);
    result.groups = {std::move(all)};
  } else {
    result.groups = attributes.replica_groups;
  }
  for (const std::vector<int64_t>& group : result.groups) {
    for (const int64_t device : group) {
      MW_RETURN_IF_ERROR(CheckDevice(device, instruction, place));
      result.crosses |=
          place.process_of[device] != place.process_of[group.front()];
    }
  }
  return result;
}

absl::StatusOr<std::vector<std::vector<int>>> ProcessGroupsOf(
    const Module& program, const ProcessPlace& place) {
  std::set<std::vector<int>> sets;
  for (const auto& computation : program.computations()) {
    for (const auto& instruction : computation->instructions()) {
      if (!HasDeviceGroups(*instruction)) continue;
      MW_ASSIGN_OR_RETURN(const DeviceGroups groups,
                          DeviceGroupsOf(*instruction, place));
      for (const std::vector<int64_t>& group : groups.groups) {
        std::vector<int> processes = ProcessesOf(group, place);
        if (processes.size() > 1 &&
            std::ranges::binary_search(processes, place.process)) {
          sets.insert(std::move(processes));
        }
      }
    }
  }
  return std::vector<std::vector<int>>(sets.begin(), sets.end());
}

}  // namespace meshwright
