// The named schedules, and the placement of stages that each uses.
#ifndef MESHWRIGHT_SCHEDULE_SCHEDULE_KIND_H_
#define MESHWRIGHT_SCHEDULE_SCHEDULE_KIND_H_

#include <array>
#include <cstdint>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace meshwright {

enum class ScheduleKind : uint8_t {
  kGPipe,         // "gpipe"
  k1F1B,          // "1f1b"
  kInterleaved,   // "interleaved"
  kBreadthFirst,  // "breadth-first"
  kZeroBubble,    // "zero-bubble"
  kZeroBubbleV,   // "zero-bubble-v"
  kAuto,          // "auto"
};

// All but kAuto.
inline constexpr std::array<ScheduleKind, 6> kNamedSchedules = {
    ScheduleKind::kGPipe,       ScheduleKind::k1F1B,
    ScheduleKind::kInterleaved, ScheduleKind::kBreadthFirst,
    ScheduleKind::kZeroBubble,  ScheduleKind::kZeroBubbleV};

absl::string_view ToString(ScheduleKind kind);
absl::StatusOr<ScheduleKind> ParseScheduleKind(absl::string_view name);

// Stage s on rank s mod ranks: 0 1 2 3 0 1 2 3.
std::vector<int> LoopedPlacement(int stages, int ranks);
// There and back: 0 1 2 3 3 2 1 0.
std::vector<int> VPlacement(int stages, int ranks);
// The number of ranks for so many stages: as many or, for schedules with
// several stages per rank, half as many.
int DefaultRanks(ScheduleKind kind, int stages);
// The placement that `kind` uses.
std::vector<int> DefaultPlacement(ScheduleKind kind, int stages, int ranks);

}  // namespace meshwright

#endif  // MESHWRIGHT_SCHEDULE_SCHEDULE_KIND_H_
