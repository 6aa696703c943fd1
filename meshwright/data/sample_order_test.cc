#include "meshwright/data/sample_order.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <set>
#include <string>
#include <vector>

#include "meshwright/data/why_not_for_test.h"

namespace meshwright {
namespace {

using testing::HasSubstr;
using ShardBy = DatasetSpec::ShardBy;
using Counts = std::vector<int64_t>;

absl::StatusOr<SampleOrder> Make(const DatasetSpec& spec, const Counts& counts,
                                 int64_t batch) {
  return SampleOrder::Create(spec, std::ssize(counts), batch,
                             [counts](int64_t file) -> absl::StatusOr<int64_t> {
                               return counts[file];
                             });
}

std::vector<SampleOrder::At> Rows(const SampleOrder& order, int64_t position,
                                  int64_t batch) {
  std::vector<SampleOrder::At> rows;
  for (int64_t row = 0; row < batch; ++row) {
    rows.push_back(order.Locate(position, row).value());
  }
  return rows;
}

TEST(SampleOrderTest, InOrderFilesFollowEachOther) {
  const auto order = Make({.shard_by = ShardBy::kSample}, {2, 3}, 4);
  ASSERT_TRUE(order.ok()) << order.status();
  using At = SampleOrder::At;
  EXPECT_EQ(Rows(*order, 0, 4),
            (std::vector<At>{{0, 0}, {0, 1}, {1, 0}, {1, 1}}));
  EXPECT_EQ(Rows(*order, 4, 4),
            (std::vector<At>{{1, 2}, {0, 0}, {0, 1}, {1, 0}}));
}

TEST(SampleOrderTest, EveryEpochHasEverySampleOnceInAnOrderOfItsOwn) {
  const Counts counts = {7, 1, 12};
  const auto order =
      Make({.shuffle = 5, .shard_by = ShardBy::kSample}, counts, 6);
  ASSERT_TRUE(order.ok()) << order.status();
  std::set<std::vector<int64_t>> orders;
  for (int64_t epoch = 0; epoch < 4; ++epoch) {
    std::set<std::pair<int64_t, int64_t>> seen;
    std::vector<int64_t> in_order;
    for (int64_t i = 0; i < 20; ++i) {
      const auto at = order->Locate(epoch * 20 + i, 0).value();
      seen.insert({at.file, at.sample});
      in_order.push_back(at.file * 100 + at.sample);
    }
    EXPECT_EQ(seen.size(), 20u);
    orders.insert(in_order);
  }
  EXPECT_EQ(orders.size(), 4u);
}

TEST(SampleOrderTest, APositionIsAllThereIsToResume) {
  for (const ShardBy by : {ShardBy::kSample, ShardBy::kFile}) {
    const DatasetSpec spec{.shuffle = 9, .shard_by = by};
    const auto order = Make(spec, {10, 11, 12, 13}, 8);
    const auto again = Make(spec, {10, 11, 12, 13}, 8);
    Rows(*order, 0, 8);
    for (int64_t step = 20; step-- > 0;) {
      EXPECT_EQ(Rows(*order, step * 8, 8), Rows(*again, step * 8, 8));
    }
  }
}

// Where rows of a file are read by one reader, whatever the number of readers.
TEST(SampleOrderTest, ByFileReadersHaveFilesOfTheirOwn) {
  for (const int64_t files : {4, 8, 16, 32}) {
    const auto order =
        Make({.shuffle = 1, .shard_by = ShardBy::kFile}, Counts(files, 50), 16);
    ASSERT_TRUE(order.ok()) << order.status();
    for (const int64_t readers : {1, 2, 4}) {
      std::map<int64_t, std::set<int64_t>> readers_of;
      for (int64_t step = 0; step < 40; ++step) {
        for (int64_t row = 0; row < 16; ++row) {
          const auto at = order->Locate(step * 16, row).value();
          readers_of[at.file].insert(row * readers / 16);
        }
      }
      EXPECT_EQ(std::ssize(readers_of), files);
      for (const auto& [file, of] : readers_of) EXPECT_EQ(of.size(), 1u);
    }
  }
}

TEST(SampleOrderTest, ByFileEveryFileHasEpochs) {
  const Counts counts = {6, 8};
  const auto order =
      Make({.shuffle = 1, .shard_by = ShardBy::kFile}, counts, 4);
  std::map<int64_t, std::vector<int64_t>> taken;
  for (int64_t step = 0; step < 12; ++step) {
    for (const auto& at : Rows(*order, step * 4, 4)) {
      taken[at.file].push_back(at.sample);
    }
  }
  for (const auto& [file, samples] : taken) {
    ASSERT_EQ(samples.size(), 24u);
    for (int64_t epoch = 0; epoch < 24 / counts[file]; ++epoch) {
      const auto begin = samples.begin() + epoch * counts[file];
      EXPECT_EQ(std::set<int64_t>(begin, begin + counts[file]).size(),
                static_cast<size_t>(counts[file]));
    }
  }
}

TEST(SampleOrderTest, AutoIsByFileWhereEveryRowHasAsManyFiles) {
  EXPECT_FALSE(Make({}, Counts(4, 9), 8)->is_by_file());
  EXPECT_TRUE(Make({}, Counts(8, 9), 8)->is_by_file());
  EXPECT_TRUE(Make({}, Counts(16, 9), 8)->is_by_file());
  EXPECT_FALSE(Make({}, Counts(12, 9), 8)->is_by_file());
}

TEST(SampleOrderTest, SunkBatchesComeAgain) {
  const auto order =
      Make({.shuffle = 1, .shard_by = ShardBy::kSample, .sink = 3}, {50}, 4);
  for (int64_t step = 0; step < 3; ++step) {
    EXPECT_EQ(Rows(*order, step * 4, 4), Rows(*order, (step + 6) * 4, 4));
  }
  EXPECT_NE(Rows(*order, 0, 4), Rows(*order, 4, 4));
}

TEST(SampleOrderTest, WhatCannotBeIsRefused) {
  EXPECT_THAT(WhyNot(Make({}, {3, 4}, 8).status()),
              HasSubstr("have 7 samples, fewer than a batch of 8"));
  const DatasetSpec by_file{.shard_by = ShardBy::kFile};
  EXPECT_THAT(WhyNot(Make(by_file, Counts(3, 9), 8).status()),
              HasSubstr("3 files cannot be shared out evenly"));
  EXPECT_THAT(WhyNot(Make(by_file, {9, 1}, 8)->Locate(0, 7).status()),
              HasSubstr("file 2 of 2 has 1 sample, a batch takes 4"));
  const auto order = Make(by_file, Counts(4, 9), 8);
  EXPECT_THAT(WhyNot(order->CheckPosition(4)), HasSubstr("no multiple"));
  EXPECT_THAT(WhyNot(order->CheckPosition(-8)), HasSubstr("not in the"));
  EXPECT_TRUE(order->CheckPosition(16).ok());
  EXPECT_TRUE(order->CheckReaders({{0, 1, 2, 3}, {4, 5, 6, 7}}).ok());
  EXPECT_THAT(WhyNot(order->CheckReaders({{0}, {1}})),
              HasSubstr("cannot be shared out to the 2 parts"));
}

}  // namespace
}  // namespace meshwright
