// What every kind of wire computes together.
#include <algorithm>
#include <cstdint>
#include <cstring>
#include <string>
#include <thread>
#include <tuple>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"
#include "meshwright/base/element_type.h"
#include "meshwright/wire/group.h"
#include "meshwright/wire/half_floats.h"
#include "meshwright/wire/wires_for_test.h"

namespace meshwright {
namespace {

class CollectivesTest
    : public testing::TestWithParam<std::tuple<WireKind, int>> {
 protected:
  CollectivesTest() : wires_(MakeWires(kind(), size())) {}

  static WireKind kind() { return std::get<0>(GetParam()); }
  static int size() { return std::get<1>(GetParam()); }

  const std::vector<std::unique_ptr<Wire>> wires_;
};

// Element counts: none, fewer than members, odd ones, several chunks.
constexpr int64_t kCounts[] = {0, 1, 2, 3, 7, 1000, 5003, 700001};

// What member `rank` has at `i`: small, so that sums are exact in every type.
constexpr int64_t kPeriod = 5;
int Value(int rank, int64_t i) {
  return static_cast<int>((i * 7 + rank * 3) % kPeriod);
}

int SumOf(int size, int64_t i) {
  int sum = 0;
  for (int rank = 0; rank < size; ++rank) sum += Value(rank, i);
  return sum;
}

// `count` values of `at`, which has that period, from `first` on. What is not
// optimised copies bytes faster than it computes and compares values.
template <typename T, typename At>
std::vector<T> Periodic(int64_t count, int64_t first, const At& at) {
  std::vector<T> values(count);
  for (int64_t i = 0; i < std::min(count, kPeriod); ++i) {
    values[i] = static_cast<T>(at(first + i));
  }
  for (int64_t made = kPeriod; made < count; made *= 2) {
    std::memcpy(&values[made], values.data(),
                sizeof(T) * std::min(made, count - made));
  }
  return values;
}

template <typename T>
std::vector<T> ValuesAt(int rank, int64_t count) {
  return Periodic<T>(count, 0, [&](int64_t i) { return Value(rank, i); });
}

template <typename T>
std::vector<T> SumsAt(int size, int64_t count, int64_t first = 0) {
  return Periodic<T>(count, first, [&](int64_t i) { return SumOf(size, i); });
}

// Bit by bit.
template <typename T>
testing::AssertionResult Same(const std::vector<T>& got,
                              const std::vector<T>& want) {
  if (got.size() == want.size() &&
      (got.empty() ||
       std::memcmp(got.data(), want.data(), sizeof(T) * got.size()) == 0)) {
    return testing::AssertionSuccess();
  }
  const auto [at, other] = std::ranges::mismatch(got, want);
  return testing::AssertionFailure()
         << "differ at " << at - got.begin() << " of " << got.size();
}

template <typename T>
void CheckAllReduce(Wire& wire, ElementType type, int64_t count) {
  Group* group = GroupOfAll(wire);
  std::vector<T> values = ValuesAt<T>(wire.rank(), count);
  ASSERT_EQ(group->AllReduce(ReduceOp::kSum, type, WritableBytes(values), 1),
            absl::OkStatus());
  ASSERT_TRUE(Same(values, SumsAt<T>(wire.size(), count))) << Name(type);
}

TEST_P(CollectivesTest, AllReduceAddsEveryCount) {
  RunWorkers(wires_, [](Wire& wire) {
    for (const int64_t count : kCounts) {
      CheckAllReduce<float>(wire, ElementType::kF32, count);
    }
  });
}

TEST_P(CollectivesTest, AllReduceAddsEveryType) {
  RunWorkers(wires_, [](Wire& wire) {
    for (const int64_t count : {3, 5003, 300001}) {
      CheckAllReduce<int8_t>(wire, ElementType::kS8, count);
      CheckAllReduce<uint16_t>(wire, ElementType::kU16, count);
      CheckAllReduce<int32_t>(wire, ElementType::kS32, count);
      CheckAllReduce<uint64_t>(wire, ElementType::kU64, count);
      CheckAllReduce<double>(wire, ElementType::kF64, count);
    }
  });
}

TEST_P(CollectivesTest, AllReduceRoundsBf16) {
  RunWorkers(wires_, [](Wire& wire) {
    for (const int64_t count : {3, 5003, 600001}) {
      const auto bf16 = [](int value) {
        return internal::ToBf16(static_cast<float>(value));
      };
      auto values = Periodic<uint16_t>(
          count, 0, [&](int64_t i) { return bf16(Value(wire.rank(), i)); });
      ASSERT_EQ(GroupOfAll(wire)->AllReduce(ReduceOp::kSum, ElementType::kBF16,
                                            WritableBytes(values), 1),
                absl::OkStatus());
      ASSERT_TRUE(Same(values, Periodic<uint16_t>(count, 0, [&](int64_t i) {
                         return bf16(SumOf(wire.size(), i));
                       })));
    }
  });
}

TEST_P(CollectivesTest, AllReduceKnowsMaxAndOr) {
  RunWorkers(wires_, [](Wire& wire) {
    std::vector<float> values = {static_cast<float>(wire.rank()), -1.0f};
    ASSERT_EQ(GroupOfAll(wire)->AllReduce(ReduceOp::kMax, ElementType::kF32,
                                          WritableBytes(values), 4),
              absl::OkStatus());
    EXPECT_EQ(values[0], static_cast<float>(wire.size() - 1));
    EXPECT_EQ(values[1], -1.0f);
    std::vector<uint8_t> flags = {static_cast<uint8_t>(wire.rank() == 0), 0};
    ASSERT_EQ(GroupOfAll(wire)->AllReduce(ReduceOp::kOr, ElementType::kPred,
                                          WritableBytes(flags), 4),
              absl::OkStatus());
    EXPECT_EQ(flags, (std::vector<uint8_t>{1, 0}));
  });
}

// The same bits everywhere, though sums of floats depend on their order.
TEST_P(CollectivesTest, AllReduceAgreesOnTheLastBit) {
  for (const int64_t count : {100, 400000}) {
    std::vector<std::vector<float>> results(size());
    RunWorkers(wires_, [&](Wire& wire) {
      std::vector<float>& values = results[wire.rank()];
      for (int64_t i = 0; i < count; ++i) {
        values.push_back(1.0f / static_cast<float>(i + 3 * wire.rank() + 1));
      }
      ASSERT_EQ(GroupOfAll(wire)->AllReduce(ReduceOp::kSum, ElementType::kF32,
                                            WritableBytes(values), 1),
                absl::OkStatus());
    });
    for (const std::vector<float>& result : results) {
      EXPECT_EQ(result, results[0]);
    }
  }
}

TEST_P(CollectivesTest, ReduceScatterGivesEachItsBlock) {
  RunWorkers(wires_, [](Wire& wire) {
    for (const int64_t count : kCounts) {
      const auto in = ValuesAt<int32_t>(wire.rank(), count * wire.size());
      std::vector<int32_t> out(count, -1);
      ASSERT_EQ(
          GroupOfAll(wire)->ReduceScatter(ReduceOp::kSum, ElementType::kS32,
                                          Bytes(in), WritableBytes(out), 2),
          absl::OkStatus());
      ASSERT_TRUE(Same(
          out, SumsAt<int32_t>(wire.size(), count, wire.rank() * count)));
    }
  });
}

TEST_P(CollectivesTest, AllGatherJoinsInOrder) {
  RunWorkers(wires_, [](Wire& wire) {
    for (const int64_t count : kCounts) {
      const std::vector<uint8_t> in(count,
                                    static_cast<uint8_t>(wire.rank() + 1));
      std::vector<uint8_t> out(count * wire.size());
      ASSERT_EQ(GroupOfAll(wire)->AllGather(Bytes(in), WritableBytes(out), 3),
                absl::OkStatus());
      std::vector<uint8_t> want;
      for (int rank = 0; rank < wire.size(); ++rank) {
        want.insert(want.end(), count, static_cast<uint8_t>(rank + 1));
      }
      ASSERT_TRUE(Same(out, want));
    }
  });
}

TEST_P(CollectivesTest, AllToAllTransposes) {
  RunWorkers(wires_, [](Wire& wire) {
    const int size = wire.size();
    for (const int64_t count : {0, 1, 3, 5003, 70001}) {
      std::vector<int32_t> in(count * size);
      for (int64_t i = 0; i < std::ssize(in); ++i) {
        in[i] = static_cast<int32_t>(i * size + wire.rank());
      }
      std::vector<int32_t> out(count * size, -1);
      ASSERT_EQ(GroupOfAll(wire)->AllToAll(Bytes(in), WritableBytes(out), 3),
                absl::OkStatus());
      std::vector<int32_t> want(count * size);
      for (int64_t i = 0; i < std::ssize(want); ++i) {
        const int64_t from = i / count;
        const int64_t at = wire.rank() * count + i % count;
        want[i] = static_cast<int32_t>(at * size + from);
      }
      ASSERT_TRUE(Same(out, want));
    }
  });
}

// From member a to member b go (a + 2 b) * `unit` bytes, some of them none.
TEST_P(CollectivesTest, ExchangeCarriesAnySizes) {
  RunWorkers(wires_, [](Wire& wire) {
    const int rank = wire.rank();
    for (const int64_t unit : {1, 999, 200003}) {
      std::vector<std::vector<uint8_t>> out;
      std::vector<std::vector<uint8_t>> in;
      for (int peer = 0; peer < wire.size(); ++peer) {
        out.emplace_back((rank + 2 * peer) * unit,
                         static_cast<uint8_t>(10 * rank + peer));
        in.emplace_back((peer + 2 * rank) * unit);
      }
      std::vector<Group::Outgoing> sends;
      std::vector<Group::Incoming> receives;
      for (int peer = 0; peer < wire.size(); ++peer) {
        sends.push_back({peer, Bytes(out[peer])});
        receives.push_back({peer, WritableBytes(in[peer])});
      }
      ASSERT_EQ(GroupOfAll(wire)->Exchange(sends, receives, 9),
                absl::OkStatus());
      for (int peer = 0; peer < wire.size(); ++peer) {
        const auto want = static_cast<uint8_t>(10 * peer + rank);
        ASSERT_TRUE(Same(in[peer], std::vector(in[peer].size(), want)));
      }
    }
  });
}

TEST_P(CollectivesTest, ExchangeMayLeaveMembersOut) {
  RunWorkers(wires_, [](Wire& wire) {
    std::vector<int> value = {wire.rank()};
    std::vector<int> got = {-1};
    std::vector<Group::Outgoing> sends;
    std::vector<Group::Incoming> receives;
    const int last = wire.size() - 1;
    if (wire.rank() == 0) sends.push_back({last, Bytes(value)});
    if (wire.rank() == last) receives.push_back({0, WritableBytes(got)});
    ASSERT_EQ(GroupOfAll(wire)->Exchange(sends, receives, 9), absl::OkStatus());
    EXPECT_EQ(got[0], wire.rank() == last ? 0 : -1);
  });
}

// Each member begins with another tag; all are under way at the same time.
TEST_P(CollectivesTest, TagsMayRunInAnyOrder) {
  constexpr int kTags = 6;
  RunWorkers(wires_, [](Wire& wire) {
    Group* group = GroupOfAll(wire);
    RunThreads(kTags, [&](int place) {
      const int tag = (place + wire.rank()) % kTags;
      for (int round = 0; round < 20; ++round) {
        const int64_t count = tag % 2 == 0 ? 10 : 30000;
        std::vector<int32_t> values(count, tag + round);
        ASSERT_EQ(group->AllReduce(ReduceOp::kSum, ElementType::kS32,
                                   WritableBytes(values), tag),
                  absl::OkStatus());
        ASSERT_EQ(values.front(), (tag + round) * wire.size());
        ASSERT_EQ(values.back(), (tag + round) * wire.size());
      }
    });
  });
}

TEST_P(CollectivesTest, ManyCallsWithOneTag) {
  RunWorkers(wires_, [](Wire& wire) {
    Group* group = GroupOfAll(wire);
    for (int round = 0; round < 300; ++round) {
      std::vector<int32_t> values(1 + round % 7, round + wire.rank());
      ASSERT_EQ(group->AllReduce(ReduceOp::kMax, ElementType::kS32,
                                 WritableBytes(values), 0),
                absl::OkStatus());
      ASSERT_EQ(values.back(), round + wire.size() - 1);
    }
  });
}

// Groups that overlap, asked for in another order by each member.
TEST_P(CollectivesTest, GroupsMayOverlap) {
  RunWorkers(wires_, [](Wire& wire) {
    for (int step = 0; step < wire.size(); ++step) {
      const int other = (wire.rank() + step) % wire.size();
      if (other == wire.rank()) continue;
      const std::vector<int> pair = {std::min(wire.rank(), other),
                                     std::max(wire.rank(), other)};
      auto group = wire.GroupOf(pair);
      ASSERT_TRUE(group.ok()) << group.status();
      EXPECT_EQ((*group)->size(), 2);
      EXPECT_EQ((*group)->rank(), wire.rank() == pair[0] ? 0 : 1);
    }
    // Pairs meet in the same order everywhere.
    for (int a = 0; a < wire.size(); ++a) {
      for (int b = a + 1; b < wire.size(); ++b) {
        if (wire.rank() != a && wire.rank() != b) continue;
        std::vector<int32_t> values = {wire.rank()};
        ASSERT_EQ((*wire.GroupOf({a, b}))
                      ->AllReduce(ReduceOp::kSum, ElementType::kS32,
                                  WritableBytes(values), 5),
                  absl::OkStatus());
        EXPECT_EQ(values[0], a + b);
      }
    }
  });
}

TEST_P(CollectivesTest, WhatCannotBeIsRefused) {
  Wire& wire = *wires_[0];
  Group* group = GroupOfAll(wire);
  std::vector<std::byte> bytes(6);
  const absl::Span<std::byte> span = absl::MakeSpan(bytes);
  using absl::StatusCode::kInvalidArgument;
  EXPECT_EQ(group->AllReduce(ReduceOp::kSum, ElementType::kF32, span, 0).code(),
            kInvalidArgument);
  EXPECT_EQ(group->AllReduce(ReduceOp::kAnd, ElementType::kF16, span, 0).code(),
            kInvalidArgument);
  EXPECT_EQ(group->AllReduce(ReduceOp::kSum, ElementType::kS4, span, 0).code(),
            kInvalidArgument);
  EXPECT_EQ(group->AllGather(span.subspan(5), span.subspan(0, 0), 0).code(),
            kInvalidArgument);
  EXPECT_EQ(group->Exchange({{.to = size()}}, {}, 0).code(), kInvalidArgument);
  EXPECT_EQ(wire.GroupOf({size()}).status().code(), kInvalidArgument);
  EXPECT_EQ(wire.GroupOf({0, 0}).status().code(), kInvalidArgument);
  EXPECT_EQ(wire.GroupOf({}).status().code(), kInvalidArgument);
  EXPECT_EQ(wire.Send(size(), {}, {}).code(), kInvalidArgument);
}

INSTANTIATE_TEST_SUITE_P(
    Wires, CollectivesTest,
    testing::Combine(testing::Values(WireKind::kMemory, WireKind::kTcp,
                                     WireKind::kSharedMemory),
                     testing::Values(1, 2, 3, 4, 5)),
    [](const auto& test) {
      return absl::StrCat(NameOf(std::get<0>(test.param)),
                          std::get<1>(test.param));
    });

}  // namespace
}  // namespace meshwright
