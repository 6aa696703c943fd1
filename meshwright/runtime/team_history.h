// The teams with which a worker's process has opened its devices.
//
// NCCL communicators last as long as the process, and are looked up by the
// positions of their members in the team. Suppose workers 0 and 2 were a team;
// in a team of 0, 1 and 2, worker 0 would mistake the communicator of the first
// two positions for the one that it has with 2:
//
//   history.Add({10, 12});           // Serial numbers of connections.
//   history.Allows({10, 12, 13});    // true: positions 0 and 1 are unchanged.
//   history.Allows({10, 11, 12});    // false: it has to restart.
#ifndef MESHWRIGHT_RUNTIME_TEAM_HISTORY_H_
#define MESHWRIGHT_RUNTIME_TEAM_HISTORY_H_

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace meshwright {

// Single-threaded, except for Spoil.
class TeamHistory {
 public:
  using Members = std::vector<int64_t>;

  bool Allows(const Members& team) const {
    const size_t shared = std::min(team.size(), members_.size());
    return members_.empty() ||
           (!is_spoiled_ &&
            std::equal(team.begin(), team.begin() + shared, members_.begin()));
  }
  void Add(const Members& team) {
    if (team.size() > members_.size()) members_ = team;
  }
  // A job of its team has failed: its communicators may be in use, or broken.
  void Spoil() { is_spoiled_ = true; }

 private:
  Members members_;  // Of the largest team.
  std::atomic<bool> is_spoiled_ = false;
};

}  // namespace meshwright

#endif  // MESHWRIGHT_RUNTIME_TEAM_HISTORY_H_
