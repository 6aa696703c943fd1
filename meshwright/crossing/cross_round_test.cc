// Random collectives among random devices of random processes, against what the
// words mean. Processes are threads.
#include "meshwright/crossing/cross_round.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <numeric>
#include <random>
#include <thread>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "meshwright/wire/memory_wire.h"

namespace meshwright {
namespace {

// Elements are s32; by member of the group and then by array.
using Values = std::vector<std::vector<std::vector<int32_t>>>;

struct Collective {
  CrossCall call;
  CrossArrays arrays;
  Values operands;

  const CrossGroup& group() const { return call.groups[0]; }
  int64_t size() const { return std::ssize(group().members); }
};

// Element (row, block, column) of an array that is cut into blocks.
int32_t At(const std::vector<int32_t>& values, int64_t rows, int64_t blocks,
           int64_t row, int64_t block, int64_t column) {
  const int64_t columns = std::ssize(values) / rows / blocks;
  return values[(row * blocks + block) * columns + column];
}

int64_t RowsOf(const CrossArrays::Array& array, int64_t dimension) {
  return std::reduce(array.dimensions.begin(),
                     array.dimensions.begin() + std::max<int64_t>(dimension, 0),
                     int64_t{1}, std::multiplies<>());
}

// What member `to` gets of array `a`, element by element.
std::vector<int32_t> Wanted(const Collective& c, int64_t to, size_t a) {
  const int64_t n = c.size();
  const CrossArrays::Array& array = c.arrays.results[a];
  const int64_t rows = RowsOf(array, c.call.dimension);
  std::vector<int32_t> wanted;
  const int64_t blocks = c.call.kind == CrossKind::kAllGather ||
                                 c.call.kind == CrossKind::kAllToAll
                             ? n
                             : 1;
  const int64_t columns = array.bytes() / 4 / rows / blocks;
  for (int64_t row = 0; row < rows; ++row) {
    for (int64_t block = 0; block < blocks; ++block) {
      for (int64_t column = 0; column < columns; ++column) {
        int32_t value = 0;
        for (int64_t from = 0; from < n; ++from) {
          const std::vector<int32_t>& operand = c.operands[from][a];
          if (c.call.kind == CrossKind::kAllReduce) {
            value += At(operand, rows, 1, row, 0, column);
          } else if (c.call.kind == CrossKind::kReduceScatter) {
            value += At(operand, rows, n, row, to, column);
          } else if (c.call.kind == CrossKind::kAllGather && from == block) {
            value = At(operand, rows, 1, row, 0, column);
          } else if (c.call.kind == CrossKind::kAllToAll && from == block) {
            value = At(operand, rows, n, row, to, column);
          } else if (c.call.kind == CrossKind::kBroadcast && from == 0) {
            value = At(operand, rows, 1, row, 0, column);
          } else if (c.call.kind == CrossKind::kPermute) {
            for (const auto& [source, target] : c.call.pairs) {
              if (source == c.group().members[from].device &&
                  target == c.group().members[to].device) {
                value = At(operand, rows, 1, row, 0, column);
              }
            }
          }
        }
        wanted.push_back(value);
      }
    }
  }
  return wanted;
}

class Drawer {
 public:
  explicit Drawer(uint32_t seed) : random_(seed) {}

  int64_t Draw(int64_t low, int64_t high) {
    return std::uniform_int_distribution<int64_t>(low, high)(random_);
  }

  Collective Next(int processes) {
    Collective c;
    c.call.kind = static_cast<CrossKind>(Draw(0, 5));
    CrossGroup& group = c.call.groups.emplace_back();
    group.tag = static_cast<uint32_t>(Draw(0, 1000));
    const int64_t size = Draw(1, 7);
    const bool even = Draw(0, 1) == 0;
    for (int64_t i = 0; i < size; ++i) {
      const int64_t process = even ? i * processes / size : Draw(0, 3);
      group.members.push_back({10 + i, static_cast<int>(process % processes)});
    }
    if (Draw(0, 2) == 0) std::ranges::shuffle(group.members, random_);
    if (c.call.kind == CrossKind::kPermute) {
      std::vector<int64_t> targets(size);
      std::iota(targets.begin(), targets.end(), 10);
      std::ranges::shuffle(targets, random_);
      for (int64_t i = 0; i < Draw(0, size); ++i) {
        c.call.pairs.emplace_back(10 + i, targets[i]);
      }
    }
    AddArrays(c);
    return c;
  }

 private:
  void AddArrays(Collective& c) {
    const bool cut = c.call.kind == CrossKind::kReduceScatter ||
                     c.call.kind == CrossKind::kAllGather ||
                     c.call.kind == CrossKind::kAllToAll;
    c.call.dimension = cut ? Draw(0, 2) : -1;
    const int64_t count = c.call.kind == CrossKind::kAllToAll ? 1 : Draw(1, 3);
    for (int64_t a = 0; a < count; ++a) {
      CrossArrays::Array small = {ElementType::kS32,
                                  {Draw(1, 4), Draw(1, 4), Draw(0, 9)}};
      CrossArrays::Array large = small;
      if (cut) large.dimensions[c.call.dimension] *= c.size();
      const bool shrinks = c.call.kind == CrossKind::kReduceScatter;
      const bool grows = c.call.kind == CrossKind::kAllGather;
      c.arrays.operands.push_back(grows ? small : large);
      c.arrays.results.push_back(shrinks ? small : large);
    }
    c.operands.resize(c.size());
    for (auto& arrays : c.operands) {
      for (const CrossArrays::Array& array : c.arrays.operands) {
        std::vector<int32_t>& values = arrays.emplace_back(array.bytes() / 4);
        for (int32_t& value : values) {
          value = static_cast<int32_t>(Draw(-1000, 1000));
        }
      }
    }
  }

  std::mt19937 random_;
};

std::byte* Bytes(std::vector<int32_t>& values) {
  return reinterpret_cast<std::byte*>(values.data());
}

class CrossRoundTest : public testing::TestWithParam<int> {};

TEST_P(CrossRoundTest, DoesWhatItsNameSays) {
  const int processes = GetParam();
  const auto wires = MakeMemoryWires(processes, absl::Seconds(60));
  Drawer drawer(static_cast<uint32_t>(processes));
  for (int i = 0; i < 300; ++i) {
    Collective c = drawer.Next(processes);
    SCOPED_TRACE(absl::StrCat(i, ": ", Name(c.call.kind), " ",
                              ToString(c.call.groups), " along ",
                              c.call.dimension));
    ASSERT_EQ(CheckArrays(c.call, c.arrays), absl::OkStatus());
    Values results(c.size());
    for (auto& arrays : results) {
      for (const CrossArrays::Array& array : c.arrays.results) {
        arrays.emplace_back(array.bytes() / 4, -12345);
      }
    }
    std::vector<std::thread> threads;
    for (int process = 0; process < processes; ++process) {
      const CrossPlaces places = PlacesOf(c.group(), process);
      if (std::ranges::find(places.processes, process) ==
          places.processes.end()) {
        continue;
      }
      threads.emplace_back([&c, &results, &wires, process, places] {
        CrossRound round = {.call = &c.call,
                            .group = &c.group(),
                            .places = &places,
                            .arrays = &c.arrays};
        for (const size_t position : places.positions[places.here]) {
          CrossMember& member = round.members.emplace_back();
          member.position = position;
          for (auto& values : c.operands[position]) {
            member.operands.push_back(Bytes(values));
          }
          for (auto& values : results[position]) {
            member.results.push_back(Bytes(values));
          }
        }
        CrossTrafficMeter meter;
        EXPECT_EQ(RunCrossRound(round, *wires[process], meter),
                  absl::OkStatus());
        EXPECT_EQ(meter.traffic().rounds, places.is_alone() ? 0 : 1);
      });
    }
    for (std::thread& thread : threads) thread.join();
    for (int64_t member = 0; member < c.size(); ++member) {
      for (size_t a = 0; a < c.arrays.results.size(); ++a) {
        ASSERT_EQ(results[member][a], Wanted(c, member, a))
            << "array " << a << " of member " << member;
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Processes, CrossRoundTest, testing::Range(1, 5));

}  // namespace
}  // namespace meshwright
