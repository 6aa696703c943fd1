#include "meshwright/partition/sharding_groups.h"

#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "meshwright/annotations/testdata_for_test.h"
#include "meshwright/mesh/sharding_text.h"
#include "meshwright/partition/partition.h"

namespace meshwright {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

Mesh DataModel() { return Mesh::Parse("data=4,model=2").value(); }

std::vector<std::string> Texts(const std::vector<Sharding>& shardings) {
  std::vector<std::string> texts;
  for (const Sharding& sharding : shardings) {
    texts.push_back(ToString(sharding, DataModel()));
  }
  return texts;
}

// Parameters a, b and c, and the sines of them as results.
class ShardingGroupsTest : public testing::Test {
 protected:
  ShardingGroupsTest() : module_("m"), entry_(module_.AddComputation("main")) {
    for (const char* name : {"a", "b", "c"}) {
      parameters_.push_back(entry_->AddParameter(shape_, name));
    }
    for (Instruction* parameter : parameters_) {
      sines_.push_back(entry_->Add(Opcode::kSine, shape_, {parameter},
                                   "sin_" + parameter->name));
    }
  }

  void Mark(size_t group, Instruction* value) {
    Instruction* const mark = entry_->Add(Opcode::kCustomCall, Shape::Tuple({}),
                                          {value}, "mark_" + value->name);
    mark->attributes.mutate().custom_call_target = "xla.sdy.ShardingGroup";
    mark->attributes.mutate().custom_call_has_side_effect = true;
    pins_.sharding_groups.resize(
        std::max(pins_.sharding_groups.size(), group + 1));
    pins_.sharding_groups[group].push_back(mark);
  }

  void Pin(const Instruction* value, const char* text) {
    const Sharding sharding =
        *ParseSharding(text, shape_.dimensions, DataModel());
    if (value->opcode != Opcode::kParameter) {
      pins_.instructions[value].sharding = sharding;
      return;
    }
    pins_.parameters.resize(parameters_.size());
    pins_.parameters[value->attributes->parameter_number] = sharding;
  }

  absl::StatusOr<Partitioned> Split() {
    entry_->Add(Opcode::kTuple, Shape::Tuple({shape_, shape_, shape_}), sines_,
                "root");
    module_.set_entry(entry_);
    return Partition(module_, DataModel(), pins_);
  }

  const Shape shape_ = Shape::Array(ElementType::kF32, {8, 16});
  Module module_;
  Computation* entry_;
  std::vector<Instruction*> parameters_;
  std::vector<Instruction*> sines_;
  Annotations pins_;
};

TEST_F(ShardingGroupsTest, FollowsWhatOneIsGiven) {
  Mark(0, sines_[0]);
  Mark(0, sines_[1]);
  Pin(sines_[1], "[model, data]");
  const absl::StatusOr<Partitioned> split = Split();
  ASSERT_TRUE(split.ok()) << split.status();
  EXPECT_THAT(Texts(split->outputs),
              ElementsAre("[model, data]", "[model, data]", "[-, -]"));
}

TEST_F(ShardingGroupsTest, ParametersFollowToo) {
  Mark(0, parameters_[0]);
  Mark(0, parameters_[2]);
  Pin(parameters_[2], "[-, data]");
  const absl::StatusOr<Partitioned> split = Split();
  ASSERT_TRUE(split.ok()) << split.status();
  EXPECT_THAT(Texts(split->parameters),
              ElementsAre("[-, data]", "[-, -]", "[-, data]"));
}

TEST_F(ShardingGroupsTest, WhereNothingIsGivenOneWayServesAll) {
  Mark(0, sines_[0]);
  Mark(0, sines_[1]);
  Mark(0, sines_[2]);
  Pin(parameters_[1], "[data, -]");
  const absl::StatusOr<Partitioned> split = Split();
  ASSERT_TRUE(split.ok()) << split.status();
  // Whole values can be cut at no cost, split ones have to be gathered.
  EXPECT_THAT(Texts(split->outputs),
              ElementsAre("[data, -]", "[data, -]", "[data, -]"));
}

TEST_F(ShardingGroupsTest, GroupsThatShareAValueAreOne) {
  Mark(0, sines_[0]);
  Mark(0, sines_[1]);
  Mark(1, sines_[1]);
  Mark(1, sines_[2]);
  Pin(sines_[2], "[-, model]");
  const absl::StatusOr<Partitioned> split = Split();
  ASSERT_TRUE(split.ok()) << split.status();
  EXPECT_THAT(Texts(split->outputs),
              ElementsAre("[-, model]", "[-, model]", "[-, model]"));
}

TEST_F(ShardingGroupsTest, ContradictionsAreRefused) {
  Mark(0, sines_[0]);
  Mark(0, sines_[1]);
  Pin(sines_[0], "[data, -]");
  Pin(sines_[1], "[model, -]");
  const absl::Status refused = Split().status();
  EXPECT_EQ(refused.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(refused.message(),
              HasSubstr("sin_a and sin_b are to be split alike, but are given "
                        "different shardings"));
}

TEST_F(ShardingGroupsTest, DifferentShapesAreRefused) {
  Instruction* const other =
      entry_->AddParameter(Shape::Array(ElementType::kF32, {16, 8}), "other");
  Mark(0, sines_[0]);
  Mark(0, other);
  EXPECT_THAT(Split().status().message(),
              HasSubstr("other and sin_a are to be split alike, but have "
                        "different shapes"));
}

absl::StatusOr<Partitioned> SplitTestModule(const std::string& name) {
  const Module module = ReadTestModule(name);
  absl::StatusOr<Annotations> pins = ReadAnnotations(module, DataModel());
  if (!pins.ok()) return pins.status();
  return Partition(module, DataModel(), *std::move(pins));
}

TEST(GroupsFromJax, ResultsAreSplitAlike) {
  const absl::StatusOr<Partitioned> split =
      SplitTestModule("alike.shardy.jax10");
  ASSERT_TRUE(split.ok()) << split.status();
  EXPECT_THAT(Texts(split->outputs), ElementsAre("[data, -]", "[data, -]"));
}

TEST(GroupsFromJax, WhatALoopCarriesFollows) {
  const absl::StatusOr<Partitioned> split =
      SplitTestModule("alike_scan.shardy.jax10");
  ASSERT_TRUE(split.ok()) << split.status();
  EXPECT_THAT(Texts(split->outputs),
              ElementsAre("[data, model]", "[data, model]"));
}

}  // namespace
}  // namespace meshwright
