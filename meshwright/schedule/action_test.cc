#include "meshwright/schedule/action.h"

#include <gtest/gtest.h>

namespace meshwright {
namespace {

TEST(ActionTest, TextAndBack) {
  const std::vector<std::pair<std::string, Action>> cases = {
      {"2F0", {StageId(2), ActionKind::kForward, 0}},
      {"1I3", {StageId(1), ActionKind::kInputGrad, 3}},
      {"1W3", {StageId(1), ActionKind::kWeightGrad, 3}},
      {"0B12", {StageId(0), ActionKind::kBackward, 12}},
      {"1SEND_F0", {StageId(1), ActionKind::kSendForward, 0, StageId(2)}},
      {"2RECV_F0", {StageId(2), ActionKind::kReceiveForward, 0, StageId(1)}},
      {"2SEND_B7", {StageId(2), ActionKind::kSendBackward, 7, StageId(1)}},
      {"1RECV_B7", {StageId(1), ActionKind::kReceiveBackward, 7, StageId(2)}},
      {"0SEND_F1>3", {StageId(0), ActionKind::kSendForward, 1, StageId(3)}},
      {"3RECV_F1<0", {StageId(3), ActionKind::kReceiveForward, 1, StageId(0)}},
      {"3SEND_B1>0", {StageId(3), ActionKind::kSendBackward, 1, StageId(0)}},
      {"0RECV_B1<3", {StageId(0), ActionKind::kReceiveBackward, 1, StageId(3)}},
      {"5A", {StageId(5), ActionKind::kApply}}};
  for (const auto& [text, action] : cases) {
    EXPECT_EQ(ToString(action), text);
    const auto parsed = ParseAction(text);
    ASSERT_TRUE(parsed.ok()) << parsed.status();
    EXPECT_EQ(*parsed, action) << text;
    if (IsTransfer(action.kind)) {
      EXPECT_EQ(OtherEnd(OtherEnd(action)), action);
      EXPECT_NE(IsSend(OtherEnd(action).kind), IsSend(action.kind));
    }
  }
}

TEST(ActionTest, OtherCells) {
  for (const char* cell :
       {"", "F0", "2F", "2", "2X0", "2f0", "2F0 ", "-1F0", "2F-1", "2FF0",
        "99999999999F0", "1SEND_F0>", "1SEND_F0<2", "1F0>2", "2A0", "0UNSHARD",
        "(0F1;1B0)OVERLAP_F_B"}) {
    const auto parsed = ParseAction(cell);
    EXPECT_EQ(parsed.status().code(), absl::StatusCode::kInvalidArgument)
        << cell;
    EXPECT_EQ(parsed.status().message().find('\n'), std::string::npos);
  }
}

}  // namespace
}  // namespace meshwright
