#include "meshwright/api/call_thread.h"

#include <algorithm>
#include <atomic>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/synchronization/notification.h"
#include "absl/time/clock.h"
#include "gtest/gtest.h"
#include "meshwright/api/call_for_test.h"
#include "meshwright/api/line_watchers.h"

namespace meshwright {
namespace {

TEST(CallThreadTest, WorkIsDoneInOrder) {
  CallThread thread;
  CallForTest call;
  std::vector<int> done;
  for (int i = 0; i < 10; ++i) {
    thread.Post([&, i] {
      done.push_back(i);
      return absl::OkStatus();
    });
  }
  EXPECT_EQ(thread.Do(call, [&] { return absl::NotFoundError("x"); }),
            absl::NotFoundError("x"));
  EXPECT_EQ(done.size(), 10);
  EXPECT_EQ(done.back(), 9);
}

TEST(CallThreadTest, WhatIsGivenUpGoesOnIfItHasBegun) {
  CallThread thread;
  CallForTest call;
  const auto may_end = std::make_shared<absl::Notification>();
  const auto has_ended = std::make_shared<std::atomic<bool>>(false);
  std::thread leaver([&] {
    absl::SleepFor(absl::Milliseconds(50));
    call.is_cancelled = true;
  });
  EXPECT_EQ(thread
                .Do(call,
                    [=] {
                      may_end->WaitForNotification();
                      *has_ended = true;
                      return absl::OkStatus();
                    })
                .code(),
            absl::StatusCode::kCancelled);
  leaver.join();
  EXPECT_FALSE(*has_ended);
  // What has not begun never does.
  CallForTest next;
  std::thread second([&] {
    absl::SleepFor(absl::Milliseconds(50));
    next.is_cancelled = true;
  });
  EXPECT_EQ(thread.Do(next, [] { return absl::InternalError("ran"); }).code(),
            absl::StatusCode::kCancelled);
  second.join();
  may_end->Notify();
  CallForTest last;
  EXPECT_EQ(thread.Do(last, [] { return absl::OkStatus(); }), absl::OkStatus());
  EXPECT_TRUE(*has_ended);
}

TEST(CallThreadTest, TheEndDropsWhatHasNotBegun) {
  absl::Notification begun;
  absl::Notification may_end;
  absl::Status waiting;
  auto thread = std::make_unique<CallThread>();
  thread->Post([&] {
    begun.Notify();
    may_end.WaitForNotification();
    return absl::OkStatus();
  });
  bool has_run = false;
  thread->Post([&] {
    has_run = true;
    return absl::OkStatus();
  });
  begun.WaitForNotification();
  std::thread ender([&] { thread = nullptr; });
  absl::SleepFor(absl::Milliseconds(50));
  may_end.Notify();
  ender.join();
  EXPECT_FALSE(has_run);
}

TEST(CallTurnsTest, OneCallAtATime) {
  CallTurns turns;
  int total = 0;
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&] {
      CallForTest call;
      for (int k = 0; k < 100; ++k) {
        const auto turn = turns.Take(call);
        EXPECT_TRUE(turn.ok());
        ++total;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(total, 400);
  CallForTest call;
  const auto turn = turns.Take(call);
  CallForTest other;
  other.is_cancelled = true;
  std::thread([&] {
    EXPECT_EQ(turns.Take(other).status().code(), absl::StatusCode::kCancelled);
  }).join();
}

TEST(LineWatchersTest, SlowWatchersAreToldWhatTheyMissed) {
  LineWatchers watchers;
  CallForTest call;
  std::atomic<bool> is_over = false;
  absl::Notification begun;
  absl::Notification may_go_on;
  std::vector<std::string> lines;
  std::thread watcher([&] {
    EXPECT_EQ(watchers.Watch(
                  3,
                  [&](const std::string& line) {
                    if (lines.empty()) {
                      begun.Notify();
                      may_go_on.WaitForNotification();
                    }
                    lines.push_back(line);
                    return absl::OkStatus();
                  },
                  call, [&] { return is_over.load(); }),
              absl::OkStatus());
  });
  while (!begun.HasBeenNotified()) {
    watchers.Send(3, "first");
    watchers.Send(4, "of another job");
    absl::SleepFor(absl::Milliseconds(5));
  }
  for (size_t i = 0; i < LineWatchers::kMaxLines + 10; ++i) {
    watchers.Send(3, absl::StrCat(i));
  }
  may_go_on.Notify();
  is_over = true;
  watcher.join();
  EXPECT_EQ(lines.back(), absl::StrCat(LineWatchers::kMaxLines + 9));
  // Some of the first ones may have come after it had begun.
  const auto told = std::ranges::find_if(lines, [](const std::string& line) {
    return line.find("{\"job\":3,\"dropped\":") == 0;
  });
  ASSERT_NE(told, lines.end());
  EXPECT_EQ(std::ranges::count(lines, "of another job"), 0);
}

TEST(LineWatchersTest, ASinkThatFailsEndsTheWatch) {
  LineWatchers watchers;
  CallForTest call;
  std::atomic<bool> is_ended = false;
  std::thread sender([&] {
    while (!is_ended) {
      watchers.Send(1, "line");
      absl::SleepFor(absl::Milliseconds(5));
    }
  });
  EXPECT_EQ(watchers.Watch(
                0, [](const std::string&) { return absl::DataLossError("x"); },
                call, [] { return false; }),
            absl::DataLossError("x"));
  is_ended = true;
  sender.join();
}

}  // namespace
}  // namespace meshwright
