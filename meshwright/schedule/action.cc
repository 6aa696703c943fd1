#include "meshwright/schedule/action.h"

#include <array>

#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"

namespace meshwright {
namespace {

constexpr std::array<absl::string_view, 9> kTexts = {
    "F", "I", "W", "B", "SEND_F", "RECV_F", "SEND_B", "RECV_B", "A"};

// The other end of a transfer in a plain chain of stages.
StageId NeighbourOf(StageId stage, ActionKind kind) {
  switch (kind) {
    case ActionKind::kSendForward:
    case ActionKind::kReceiveBackward:
      return stage + 1;
    case ActionKind::kReceiveForward:
    case ActionKind::kSendBackward:
      return stage - 1;
    default:
      return kNoStage;
  }
}

// Takes digits from the front of `rest`; false if there are none or too many.
bool TakeNumber(absl::string_view& rest, int& number) {
  size_t length = 0;
  while (length < rest.size() && absl::ascii_isdigit(rest[length])) ++length;
  if (length == 0 || !absl::SimpleAtoi(rest.substr(0, length), &number)) {
    return false;
  }
  rest.remove_prefix(length);
  return true;
}

bool TakeStage(absl::string_view& rest, StageId& stage) {
  int number = 0;
  if (!TakeNumber(rest, number)) return false;
  stage = StageId(number);
  return true;
}

bool TakeKind(absl::string_view& rest, ActionKind& kind) {
  size_t length = 0;
  while (length < rest.size() &&
         (absl::ascii_isupper(rest[length]) || rest[length] == '_')) {
    ++length;
  }
  for (size_t i = 0; i < kTexts.size(); ++i) {
    if (rest.substr(0, length) == kTexts[i]) {
      kind = static_cast<ActionKind>(i);
      rest.remove_prefix(length);
      return true;
    }
  }
  return false;
}

}  // namespace

absl::string_view KindText(ActionKind kind) {
  return kTexts[static_cast<size_t>(kind)];
}

bool IsTransfer(ActionKind kind) {
  return kind >= ActionKind::kSendForward &&
         kind <= ActionKind::kReceiveBackward;
}

bool IsSend(ActionKind kind) {
  return kind == ActionKind::kSendForward || kind == ActionKind::kSendBackward;
}

bool IsForwardTransfer(ActionKind kind) {
  return kind == ActionKind::kSendForward ||
         kind == ActionKind::kReceiveForward;
}

bool TakesGradients(ActionKind kind) {
  return kind == ActionKind::kBackward || kind == ActionKind::kInputGrad;
}

Action OtherEnd(const Action& transfer) {
  ActionKind kind = transfer.kind;
  switch (transfer.kind) {
    case ActionKind::kSendForward:
      kind = ActionKind::kReceiveForward;
      break;
    case ActionKind::kReceiveForward:
      kind = ActionKind::kSendForward;
      break;
    case ActionKind::kSendBackward:
      kind = ActionKind::kReceiveBackward;
      break;
    case ActionKind::kReceiveBackward:
      kind = ActionKind::kSendBackward;
      break;
    default:
      break;
  }
  return {.stage = transfer.peer,
          .kind = kind,
          .micro_batch = transfer.micro_batch,
          .peer = transfer.stage};
}

std::string ToString(const Action& action) {
  std::string text = absl::StrCat(int{action.stage}, KindText(action.kind));
  if (action.kind == ActionKind::kApply) return text;
  absl::StrAppend(&text, action.micro_batch);
  if (IsTransfer(action.kind) &&
      action.peer != NeighbourOf(action.stage, action.kind)) {
    absl::StrAppend(&text, IsSend(action.kind) ? ">" : "<", int{action.peer});
  }
  return text;
}

absl::StatusOr<Action> ParseAction(absl::string_view cell) {
  absl::string_view rest = cell;
  Action action;
  bool good = TakeStage(rest, action.stage) && TakeKind(rest, action.kind);
  if (good && action.kind != ActionKind::kApply) {
    good = TakeNumber(rest, action.micro_batch);
  }
  if (good && IsTransfer(action.kind)) {
    action.peer = NeighbourOf(action.stage, action.kind);
    const char mark = IsSend(action.kind) ? '>' : '<';
    if (!rest.empty() && rest[0] == mark) {
      rest.remove_prefix(1);
      good = TakeStage(rest, action.peer);
    }
  }
  if (good && rest.empty()) return action;
  return absl::InvalidArgumentError(
      absl::StrCat("\"", cell,
                   "\" is no action: stage, then F, I, W, B, SEND_F, RECV_F, "
                   "SEND_B or RECV_B, then micro-batch, such as 2F0"));
}

}  // namespace meshwright
