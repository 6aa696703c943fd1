// One cell of a timetable: what a stage does for one micro-batch.
//
//   2F0         stage 2 runs the forward pass of micro-batch 0
//   1I3, 1W3    input gradients and weight gradients
//   0B2         both in one
//   1SEND_F0    stage 1 sends its forward result to stage 2
//   2RECV_F0    ... and stage 2 receives it
//   0SEND_F0>3  to a stage that is not the next one; 3RECV_F0<0 is its receive
//   2A          once per step: stage 2 runs its optimizer update
//
// PyTorch's pipelining uses the same cells, except for the peer and A.
#ifndef MESHWRIGHT_SCHEDULE_ACTION_H_
#define MESHWRIGHT_SCHEDULE_ACTION_H_

#include <cstdint>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "meshwright/pipeline/stage_id.h"

namespace meshwright {

enum class ActionKind : uint8_t {
  kForward,
  kInputGrad,
  kWeightGrad,
  kBackward,
  kSendForward,
  kReceiveForward,
  kSendBackward,
  kReceiveBackward,
  kApply,
};

struct Action {
  StageId stage;
  ActionKind kind = ActionKind::kForward;
  int micro_batch = 0;      // 0 for kApply.
  StageId peer = kNoStage;  // The stage at the other end of a transfer.

  bool operator==(const Action&) const = default;
};

// As in cells: "F", "SEND_B".
absl::string_view KindText(ActionKind kind);

bool IsTransfer(ActionKind kind);
bool IsSend(ActionKind kind);
// Whether it sends or receives a forward result.
bool IsForwardTransfer(ActionKind kind);
// kBackward or kInputGrad: needs the gradients of later stages.
bool TakesGradients(ActionKind kind);

// The receive of a send, and vice versa.
Action OtherEnd(const Action& transfer);

std::string ToString(const Action& action);
// kInvalidArgument in one line: the cell and what was expected.
absl::StatusOr<Action> ParseAction(absl::string_view cell);

}  // namespace meshwright

#endif  // MESHWRIGHT_SCHEDULE_ACTION_H_
