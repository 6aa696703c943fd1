#include "meshwright/schedule/schedule_kind.h"

#include "absl/strings/str_cat.h"

namespace meshwright {

absl::string_view ToString(ScheduleKind kind) {
  switch (kind) {
    case ScheduleKind::kGPipe:
      return "gpipe";
    case ScheduleKind::k1F1B:
      return "1f1b";
    case ScheduleKind::kInterleaved:
      return "interleaved";
    case ScheduleKind::kBreadthFirst:
      return "breadth-first";
    case ScheduleKind::kZeroBubble:
      return "zero-bubble";
    case ScheduleKind::kZeroBubbleV:
      return "zero-bubble-v";
    case ScheduleKind::kAuto:
      break;
  }
  return "auto";
}

absl::StatusOr<ScheduleKind> ParseScheduleKind(absl::string_view name) {
  for (const ScheduleKind kind : kNamedSchedules) {
    if (name == ToString(kind)) return kind;
  }
  if (name == ToString(ScheduleKind::kAuto)) return ScheduleKind::kAuto;
  return absl::InvalidArgumentError(
      absl::StrCat("unknown schedule \"", name,
                   "\": gpipe, 1f1b, interleaved, breadth-first, zero-bubble, "
                   "zero-bubble-v or auto"));
}

std::vector<int> LoopedPlacement(int stages, int ranks) {
  std::vector<int> placement;
  for (StageId stage{0}; stage < stages; ++stage) {
    placement.push_back(stage % ranks);
  }
  return placement;
}

std::vector<int> VPlacement(int stages, int ranks) {
  std::vector<int> placement;
  for (StageId stage{0}; stage < stages; ++stage) {
    const int step = stage % (2 * ranks);
    placement.push_back(step < ranks ? step : 2 * ranks - 1 - step);
  }
  return placement;
}

int DefaultRanks(ScheduleKind kind, int stages) {
  const bool in_turns = kind == ScheduleKind::kInterleaved ||
                        kind == ScheduleKind::kBreadthFirst ||
                        kind == ScheduleKind::kZeroBubbleV;
  return in_turns && stages % 2 == 0 ? stages / 2 : stages;
}

std::vector<int> DefaultPlacement(ScheduleKind kind, int stages, int ranks) {
  return kind == ScheduleKind::kZeroBubbleV ? VPlacement(stages, ranks)
                                            : LoopedPlacement(stages, ranks);
}

}  // namespace meshwright
