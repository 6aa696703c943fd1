// The members of a group by process.
//
// Group "0@0,4@2,1@0,5@2" (device@process), seen from process 2: processes
// {0, 2}, of which this is number 1; positions {{0, 2}, {1, 3}}; two members
// each, not in order.
#ifndef MESHWRIGHT_CROSSING_CROSS_PLACES_H_
#define MESHWRIGHT_CROSSING_CROSS_PLACES_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "meshwright/crossing/cross_call.h"

namespace meshwright {

struct CrossPlaces {
  std::vector<int> processes;  // Ascending, each once.
  size_t here = 0;             // The index of this process in `processes`.
  // By process: the positions of its devices among the group's members.
  std::vector<std::vector<size_t>> positions;
  std::vector<size_t> process_of;  // By position: index into `processes`.

  bool is_alone() const { return processes.size() == 1; }
  // How many members each process has; 0 if they differ.
  size_t members_each() const;
  // Whether members are ordered by process.
  bool in_order() const;
};

CrossPlaces PlacesOf(const CrossGroup& group, int process);

// Requires: it is a member.
size_t PositionOf(int64_t device, const CrossGroup& group);

}  // namespace meshwright

#endif  // MESHWRIGHT_CROSSING_CROSS_PLACES_H_
