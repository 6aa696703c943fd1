#include "meshwright/crossing/cross_places.h"

#include <algorithm>
#include <set>

#include "meshwright/base/check.h"

namespace meshwright {

size_t CrossPlaces::members_each() const {
  for (const std::vector<size_t>& one : positions) {
    if (one.size() != positions[0].size()) return 0;
  }
  return positions[0].size();
}

bool CrossPlaces::in_order() const {
  size_t next = 0;
  for (const std::vector<size_t>& one : positions) {
    for (const size_t position : one) {
      if (position != next++) return false;
    }
  }
  return true;
}

CrossPlaces PlacesOf(const CrossGroup& group, int process) {
  std::set<int> processes;
  for (const CrossGroup::Member& member : group.members) {
    processes.insert(member.process);
  }
  CrossPlaces places;
  places.processes.assign(processes.begin(), processes.end());
  const auto number = [&](int one) {
    return static_cast<size_t>(std::ranges::lower_bound(places.processes, one) -
                               places.processes.begin());
  };
  places.here = number(process);
  places.positions.resize(processes.size());
  for (size_t i = 0; i < group.members.size(); ++i) {
    places.process_of.push_back(number(group.members[i].process));
    places.positions[places.process_of[i]].push_back(i);
  }
  return places;
}

size_t PositionOf(int64_t device, const CrossGroup& group) {
  const auto found =
      std::ranges::find(group.members, device, &CrossGroup::Member::device);
  MW_CHECK(found != group.members.end()) << "device " << device;
  return static_cast<size_t>(found - group.members.begin());
}

}  // namespace meshwright
