#include "meshwright/hlo/trip_count.h"

#include <memory>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "meshwright/analysis/testdata_for_test.h"
#include "meshwright/hlo/shapes_for_test.h"

namespace meshwright {
namespace {

using ::testing::ElementsAre;

const Shape kPred = Shape::Scalar(ElementType::kPred);
const Shape kCarried = Shape::Tuple({kS32, kS32});

Instruction* AddConstant(Computation* computation, int32_t value) {
  Instruction* constant =
      computation->Add(Opcode::kConstant, kS32, {}, "constant");
  constant->attributes.mutate().literal =
      std::make_shared<Literal>(Literal::Scalar(value));
  return constant;
}

Instruction* AddElement(Computation* computation, Instruction* tuple, int k) {
  Instruction* element =
      computation->Add(Opcode::kGetTupleElement, kS32, {tuple}, "element");
  element->attributes.mutate().tuple_index = k;
  return element;
}

struct CountedLoop {
  int32_t init = 0;
  std::string direction = "LT";
  int32_t limit = 5;
  int32_t step = 1;
  bool limit_first = false;    // limit `direction` i
  bool limit_carried = false;  // The limit is element 1.
  bool subtract = false;
  bool limit_changes = false;
};

std::optional<int64_t> CountOf(const CountedLoop& loop) {
  Module module("m");
  Computation* condition = module.AddComputation("condition");
  Instruction* p = condition->AddParameter(kCarried, "p");
  Instruction* i = AddElement(condition, p, 0);
  Instruction* limit = loop.limit_carried ? AddElement(condition, p, 1)
                                          : AddConstant(condition, loop.limit);
  std::vector<Instruction*> sides = {i, limit};
  if (loop.limit_first) std::swap(sides[0], sides[1]);
  condition->Add(Opcode::kCompare, kPred, sides, "compare")
      ->attributes.mutate()
      .comparison_direction = loop.direction;

  Computation* body = module.AddComputation("body");
  Instruction* q = body->AddParameter(kCarried, "q");
  Instruction* step = AddConstant(body, loop.step);
  Instruction* next =
      body->Add(loop.subtract ? Opcode::kSubtract : Opcode::kAdd, kS32,
                {AddElement(body, q, 0), step}, "next");
  Instruction* carried = AddElement(body, q, 1);
  if (loop.limit_changes) {
    carried = body->Add(Opcode::kMultiply, kS32, {carried, step}, "multiply");
  }
  body->Add(Opcode::kTuple, kCarried, {next, carried}, "tuple");

  Computation* entry = module.AddComputation("main");
  module.set_entry(entry);
  Instruction* state = entry->Add(
      Opcode::kTuple, kCarried,
      {AddConstant(entry, loop.init), AddConstant(entry, loop.limit)}, "state");
  Instruction* instruction =
      entry->Add(Opcode::kWhile, kCarried, {state}, "while");
  instruction->called = {body, condition};
  return TripCount(*instruction);
}

TEST(TripCountTest, CountedLoops) {
  EXPECT_EQ(CountOf({}), 5);
  EXPECT_EQ(CountOf({.init = 5}), 0);
  EXPECT_EQ(CountOf({.init = -3, .step = 3}), 3);
  EXPECT_EQ(CountOf({.direction = "LE"}), 6);
  EXPECT_EQ(CountOf({.init = 9, .direction = "GT", .step = -2}), 2);
  EXPECT_EQ(CountOf({.init = 9, .direction = "GE", .step = -2}), 3);
  EXPECT_EQ(
      CountOf({.init = 9, .direction = "GE", .step = 2, .subtract = true}), 3);
  EXPECT_EQ(CountOf({.direction = "NE"}), 5);
  EXPECT_EQ(CountOf({.direction = "GT", .limit_first = true}), 5);
  EXPECT_EQ(CountOf({.limit_carried = true}), 5);
}

TEST(TripCountTest, LoopsWithoutACount) {
  EXPECT_EQ(CountOf({.step = 0}), std::nullopt);
  EXPECT_EQ(CountOf({.step = -1}), std::nullopt);
  EXPECT_EQ(CountOf({.direction = "NE", .step = 2}), std::nullopt);
  EXPECT_EQ(CountOf({.direction = "NE", .step = -1}), std::nullopt);
  EXPECT_EQ(CountOf({.direction = "EQ"}), std::nullopt);
  EXPECT_EQ(CountOf({.limit_carried = true, .limit_changes = true}),
            std::nullopt);
  // i would wrap round before it exceeds the limit.
  EXPECT_EQ(CountOf({.direction = "LE", .limit = 2147483647}), std::nullopt);
}

TEST(TripCountTest, RecordedCount) {
  struct Case {
    const char* config;
    std::optional<int64_t> count;
  };
  for (const Case& c : {
           Case{R"({"known_trip_count":{"n":"5"}})", 5},
           Case{R"({"known_trip_count":{"n":7},"x":1})", 7},
           Case{R"({"known_trip_count":{"n":"-5"}})", std::nullopt},
           Case{R"({"known_trip_count":{"n":[]}})", std::nullopt},
           Case{R"({"known_trip_count":5})", std::nullopt},
           Case{R"(["known_trip_count"])", std::nullopt},
           Case{R"({"known_trip_count")", std::nullopt},
           Case{"", std::nullopt},
       }) {
    Module module("m");
    Computation* entry = module.AddComputation("main");
    Instruction* loop = entry->Add(Opcode::kWhile, kCarried, {}, "while");
    loop->attributes.mutate().backend_config = c.config;
    EXPECT_EQ(TripCount(*loop), c.count) << c.config;
  }
}

std::vector<std::optional<int64_t>> LoopsOf(const std::string& name) {
  std::vector<std::optional<int64_t>> counts;
  const Module module = ReadTestModule(name);
  for (const auto& computation : module.computations()) {
    for (const auto& instruction : computation->instructions()) {
      if (instruction->opcode != Opcode::kWhile) continue;
      counts.push_back(TripCount(*instruction));
    }
  }
  return counts;
}

TEST(TripCountTest, LoopsThatJaxLowers) {
  for (const std::string version : kJaxVersions) {
    EXPECT_THAT(LoopsOf("scan_gradient." + version), ElementsAre(5, 5));
    EXPECT_THAT(LoopsOf("gpt_scanned." + version), ElementsAre(4, 4));
    EXPECT_THAT(LoopsOf("fori." + version), ElementsAre(7));
    EXPECT_THAT(LoopsOf("dynamic_fori." + version), ElementsAre(std::nullopt));
  }
}

}  // namespace
}  // namespace meshwright
