#include "meshwright/rules/exchange_plan.h"

#include <random>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace meshwright {
namespace {

using Groups = std::vector<std::vector<int64_t>>;

// Contiguous shards of `size` elements, the last ones partly padding.
ElementLists Blocks(int64_t size, int64_t devices) {
  const int64_t local = (size + devices - 1) / devices;
  ElementLists lists(devices);
  for (int64_t i = 0; i < devices * local; ++i) {
    lists[i / local].push_back(i < size ? i : kAnything);
  }
  return lists;
}

Groups OneGroup(int64_t devices) {
  Groups groups(1);
  for (int64_t i = 0; i < devices; ++i) groups[0].push_back(i);
  return groups;
}

std::vector<int64_t> Cut(const std::vector<int64_t>& list, int64_t start,
                         int64_t size) {
  EXPECT_GE(start, 0);
  EXPECT_LE(start + size, std::ssize(list));
  return {list.begin() + start, list.begin() + start + size};
}

void Append(std::vector<int64_t>& list, const std::vector<int64_t>& more) {
  list.insert(list.end(), more.begin(), more.end());
}

// What the devices have in the end when they follow the plan.
ElementLists Follow(const ExchangePlan& plan, ElementLists held,
                    const Groups& groups) {
  const int64_t unit = plan.unit;
  const size_t devices = held.size();
  if (plan.gathers) {
    const ElementLists before = held;
    for (const auto& group : groups) {
      for (const int64_t device : group) {
        held[device].clear();
        for (const int64_t other : group) Append(held[device], before[other]);
      }
    }
  }
  ElementLists results(devices);
  for (size_t device = 0; device < devices; ++device) {
    std::vector<int64_t> joined(plan.pad_low * unit, kFilled);
    for (const int32_t part : plan.order) {
      if (part == ExchangePlan::kOwn) {
        Append(joined,
               Cut(held[device], plan.own_start * unit, plan.own_size * unit));
        continue;
      }
      const ExchangeRound& round = plan.rounds[part];
      std::vector<int64_t> received(
          round.size * unit, round.non_receivers_fill ? kFilled : kAnything);
      for (const auto& [from, to] : round.pairs) {
        if (to != static_cast<int64_t>(device)) continue;
        received = Cut(held[from], round.start[from] * unit, round.size * unit);
      }
      Append(joined, received);
    }
    joined.insert(joined.end(), plan.pad_high * unit, kFilled);
    results[device].assign(plan.fill_low * unit, kFilled);
    for (const ExchangeSegment& segment : plan.segments) {
      Append(results[device],
             Cut(joined, segment.start[device] * unit, segment.size * unit));
    }
    results[device].insert(results[device].end(), plan.fill_high * unit,
                           kFilled);
  }
  return results;
}

ExchangePlan CheckedPlan(const ElementLists& held, const ElementLists& needed,
                         const Groups& groups) {
  ExchangePlan plan = PlanExchange(held, needed, groups);
  for (const ExchangeRound& round : plan.rounds) {
    std::vector<bool> sends(held.size());
    std::vector<bool> receives(held.size());
    for (const auto& [from, to] : round.pairs) {
      EXPECT_FALSE(sends[from]) << "device " << from << " sends twice";
      EXPECT_FALSE(receives[to]) << "device " << to << " receives twice";
      sends[from] = receives[to] = true;
    }
  }
  const ElementLists results = Follow(plan, held, groups);
  for (size_t device = 0; device < needed.size(); ++device) {
    EXPECT_EQ(results[device].size(), needed[device].size());
    for (size_t i = 0; i < needed[device].size(); ++i) {
      if (needed[device][i] == kAnything) continue;
      EXPECT_EQ(results[device][i], needed[device][i])
          << "device " << device << " element " << i;
    }
  }
  return plan;
}

// Elements sent by one device in all rounds together.
int64_t Sent(const ExchangePlan& plan) {
  int64_t sent = 0;
  for (const ExchangeRound& round : plan.rounds) sent += round.size;
  return sent * plan.unit;
}

TEST(PlanExchangeTest, HaloIsOneRoundPerSide) {
  const ElementLists held = Blocks(64, 8);
  ElementLists needed(8);
  for (int64_t device = 0; device < 8; ++device) {
    for (int64_t i = 8 * device - 2; i < 8 * device + 9; ++i) {
      needed[device].push_back(i < 0 || i >= 64 ? kFilled : i);
    }
  }
  const ExchangePlan plan = CheckedPlan(held, needed, OneGroup(8));
  ASSERT_EQ(plan.rounds.size(), 2u);
  EXPECT_EQ(plan.rounds[0].size, 2);
  EXPECT_EQ(plan.rounds[1].size, 1);
  EXPECT_EQ(plan.segments.size(), 1u);
  EXPECT_EQ(plan.pad_low + plan.pad_high, 0);
}

TEST(PlanExchangeTest, WholeShardsMoveInOneRound) {
  const ElementLists held = Blocks(64, 8);
  const ElementLists needed(held.rbegin(), held.rend());
  const ExchangePlan plan = CheckedPlan(held, needed, OneGroup(8));
  EXPECT_EQ(plan.unit, 8);
  ASSERT_EQ(plan.rounds.size(), 1u);
  EXPECT_EQ(Sent(plan), 8);
}

TEST(PlanExchangeTest, WhatIsHeldStays) {
  const ElementLists held = Blocks(64, 8);
  const ExchangePlan plan = CheckedPlan(held, held, OneGroup(8));
  EXPECT_TRUE(plan.rounds.empty());
  EXPECT_EQ(plan.segments.size(), 1u);
}

TEST(PlanExchangeTest, PiecesFromTheMiddle) {
  ElementLists needed(8);
  for (int64_t i = 0; i < 256; ++i) needed[i / 32].push_back(256 + i);
  const ExchangePlan plan = CheckedPlan(Blocks(768, 8), needed, OneGroup(8));
  EXPECT_EQ(plan.unit, 32);
  EXPECT_EQ(Sent(plan), 64);  // The busiest device sends two pieces.
}

TEST(PlanExchangeTest, EverythingEverywhereIsGathered) {
  ElementLists needed(4);
  for (auto& list : needed) {
    for (int64_t i = 0; i < 16; ++i) list.push_back(i);
  }
  const ExchangePlan plan = CheckedPlan(Blocks(16, 4), needed, OneGroup(4));
  EXPECT_TRUE(plan.gathers);
}

TEST(PlanExchangeTest, UnevenShiftIsOneRound) {
  // 64 elements on 8 devices without the first: 63, 8 each but the last.
  ElementLists needed(8);
  for (int64_t i = 0; i < 64; ++i) {
    needed[i / 8].push_back(i < 63 ? i + 1 : kAnything);
  }
  const ExchangePlan plan = CheckedPlan(Blocks(64, 8), needed, OneGroup(8));
  EXPECT_EQ(Sent(plan), 1);
  EXPECT_EQ(plan.rounds.size(), 1u);
}

TEST(PlanExchangeTest, RandomNeedsAreMet) {
  std::mt19937 random(7);
  const auto pick = [&](int64_t below) {
    return static_cast<int64_t>(random() % static_cast<uint64_t>(below));
  };
  for (int trial = 0; trial < 3000; ++trial) {
    const int64_t size = 1 + pick(24);
    const int64_t shards = 1 + pick(4);
    const int64_t copies = 1 + pick(2);
    // Group g holds devices g, g + copies, ...
    const ElementLists blocks = Blocks(size, shards);
    ElementLists held(shards * copies);
    Groups groups(copies);
    for (int64_t device = 0; device < shards * copies; ++device) {
      held[device] = blocks[device / copies];
      groups[device % copies].push_back(device);
    }
    const int64_t wanted = 1 + pick(12);
    ElementLists needed(held.size());
    const bool scattered = pick(3) == 0;
    for (auto& list : needed) {
      const int64_t start = pick(size + 4) - 4;
      for (int64_t i = 0; i < wanted; ++i) {
        int64_t index = scattered ? pick(size) : start + i;
        if (index < 0 || index >= size) index = kFilled;
        if (pick(20) == 0) index = pick(2) == 0 ? kFilled : kAnything;
        list.push_back(index);
      }
    }
    CheckedPlan(held, needed, groups);
    if (HasFailure()) FAIL() << "trial " << trial;
  }
}

}  // namespace
}  // namespace meshwright
