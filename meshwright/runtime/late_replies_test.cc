#include "meshwright/runtime/late_replies.h"

#include <gtest/gtest.h>

#include <memory>
#include <optional>
#include <thread>

#include "absl/synchronization/notification.h"
#include "meshwright/runtime/memory_link.h"
#include "meshwright/wire/memory_key_value_store.h"

namespace meshwright {
namespace {

TEST(LateRepliesTest, RepliesAreSentByTheLastWhoNeedsTheCommand) {
  MemoryKeyValueStore store;
  MemoryLink link = MakeMemoryLink({}, &store);
  absl::Notification is_there;
  proto::Reply reply;
  link.worker->Start({.report =
                          [&](proto::WorkerReport report) {
                            reply = report.reply();
                            is_there.Notify();
                          },
                      .lost = [](absl::Status) {}});
  std::optional<LateReplies> replies(link.coordinator.get());
  auto late = replies->Make(7);
  std::shared_ptr<const void> device = late;  // Still reads.
  late->status = absl::AbortedError("the job was ended");
  late = nullptr;
  EXPECT_FALSE(is_there.WaitForNotificationWithTimeout(absl::Milliseconds(50)));
  std::thread([&] { device = nullptr; }).join();
  is_there.WaitForNotification();
  EXPECT_EQ(reply.id(), 7u);
  EXPECT_EQ(reply.code(), static_cast<int>(absl::StatusCode::kAborted));
  EXPECT_EQ(reply.message(), "the job was ended");

  // A device may read for longer than the worker lives: a second notification
  // would end the test.
  late = replies->Make(8);
  replies.reset();
  link.coordinator = nullptr;
  late = nullptr;
}

}  // namespace
}  // namespace meshwright
