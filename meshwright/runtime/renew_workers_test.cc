#include "meshwright/runtime/renew_workers.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <memory>
#include <thread>
#include <utility>

#include "absl/time/clock.h"
#include "meshwright/runtime/coordinator.h"
#include "meshwright/runtime/memory_link.h"
#include "meshwright/runtime/team_history.h"

namespace meshwright {
namespace {

TEST(TeamHistoryTest, PlacesKeepTheirMembers) {
  TeamHistory history;
  EXPECT_TRUE(history.Allows({3, 4}));
  history.Spoil();  // It was in no team yet.
  EXPECT_TRUE(history.Allows({3, 4}));

  TeamHistory member;
  member.Add({3, 4});
  EXPECT_TRUE(member.Allows({3, 4}));
  EXPECT_TRUE(member.Allows({3, 4, 5}));
  EXPECT_FALSE(member.Allows({3, 5}));
  EXPECT_FALSE(member.Allows({3, 5, 4}));
  member.Add({3, 4, 5});
  member.Add({3, 4});
  EXPECT_FALSE(member.Allows({3, 4, 6}));
  member.Spoil();
  EXPECT_FALSE(member.Allows({3, 4, 5}));
}

class RenewWorkersTest : public testing::Test {
 protected:
  void Join(int rank) {
    proto::Hello hello;
    hello.set_host("host");
    hello.set_pid(100 + rank);
    hello.set_rank(rank);
    MemoryLink link = MakeMemoryLink(hello, nullptr);
    links_[rank] = std::move(link.coordinator);
    coordinator_.Admit(std::move(link.worker));
    EXPECT_TRUE(links_[rank]->Next()->has_welcome());
  }

  Team Living() const {
    Team team;
    for (const auto& worker : coordinator_.workers()) {
      if (worker->health().ok()) team.push_back(worker);
    }
    return team;
  }

  absl::StatusOr<bool> Renew() {
    return RenewWorkers(Living(), watch_,
                        [&] { return coordinator_.workers(); });
  }

  // What a worker does that is told to.
  void BeginAnew(int rank) {
    EXPECT_TRUE(links_[rank]->Next()->has_renew());
    links_[rank] = nullptr;
    // A process takes longer to come back than its end to be noticed.
    while (std::ranges::any_of(Living(), [&](const auto& worker) {
      return worker->hello().rank() == rank;
    })) {
      absl::SleepFor(absl::Milliseconds(1));
    }
    Join(rank);
    watch_.Notify();
  }

  std::map<int, std::unique_ptr<CoordinatorLink>> links_;
  Coordinator coordinator_{{}};
  WorkerWatch watch_{{}, nullptr};
};

TEST_F(RenewWorkersTest, OnlyThoseWhoseTeamHasChanged) {
  Join(0);
  Join(2);
  EXPECT_FALSE(*Renew());
  EXPECT_FALSE(*Renew());  // The same.
  Join(3);
  EXPECT_FALSE(*Renew());  // One more, at the end.
  Join(1);                 // Between them.
  std::thread workers([&] {
    for (const int rank : {0, 2, 3}) BeginAnew(rank);
  });
  EXPECT_TRUE(*Renew());
  workers.join();
  EXPECT_EQ(Living().size(), 4u);
  EXPECT_FALSE(*Renew());
}

TEST_F(RenewWorkersTest, AfterAJobThatFailed) {
  Join(0);
  Join(1);
  EXPECT_FALSE(*Renew());
  Living()[1]->history().Spoil();
  std::thread worker([&] { BeginAnew(1); });
  EXPECT_TRUE(*Renew());
  worker.join();
  // Worker 0 had a group with the one that is gone.
  std::thread other([&] { BeginAnew(0); });
  EXPECT_TRUE(*Renew());
  other.join();
  EXPECT_FALSE(*Renew());
}

}  // namespace
}  // namespace meshwright
