#include "meshwright/partition/choices.h"

#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "meshwright/mesh/sharding_text.h"

namespace meshwright {
namespace {

constexpr double kTolerance = 1e-15;

// x * x and its sine, from a split x; both are wanted whole.
class ChoicesTest : public testing::Test {
 protected:
  ChoicesTest()
      : module_(MakeModule()),
        graph_(Flatten(module_)),
        mesh_(*Mesh::Parse("data=8")),
        resharder_(&mesh_, Prices()),
        choices_(graph_, MakePins(), mesh_, Prices(), resharder_) {
    choices_.set_preference({false, {true, true}});
    // What is given first, so that the others see both ends.
    for (const auto& ops : {graph_.parameters, graph_.outputs}) {
      for (const OpId op : ops) {
        choices_.Choose(op, choices_.BestFor(op).candidate);
      }
    }
    for (OpId op{0}; op < std::ssize(graph_.ops); ++op) {
      if (choices_.all()[op] == nullptr) {
        choices_.Choose(op, choices_.BestFor(op).candidate);
        computed_.push_back(op);
      }
    }
  }

  static Module MakeModule() {
    Module module("m");
    Computation* const entry = module.AddComputation("main");
    const Shape shape = Shape::Array(ElementType::kF32, {8, 16});
    Instruction* const x = entry->AddParameter(shape, "x");
    Instruction* const square =
        entry->Add(Opcode::kMultiply, shape, {x, x}, "square");
    Instruction* const sine =
        entry->Add(Opcode::kSine, shape, {square}, "sine");
    entry->Add(Opcode::kTuple, Shape::Tuple({shape, shape}), {square, sine},
               "root");
    module.set_entry(entry);
    return module;
  }

  const Annotations& MakePins() {
    pins_.parameters = {*ParseSharding("[data,-]", {8, 16}, mesh_)};
    pins_.outputs = {Sharding::Replicated({8, 16}),
                     Sharding::Replicated({8, 16})};
    return pins_;
  }

  Module module_;
  FlatGraph graph_;
  Mesh mesh_;
  Annotations pins_;
  Resharder resharder_;
  Choices choices_;
  std::vector<OpId> computed_;
};

TEST_F(ChoicesTest, GainsAreDifferencesOfTheWhole) {
  int changes = 0;
  for (int round = 0; round < 2; ++round) {
    for (const OpId op : computed_) {
      for (const Candidate* candidate : choices_.MatchingNeighbours(op)) {
        const double before = choices_.TotalPrice();
        const double gain = choices_.GainOf(op, *candidate);
        choices_.Choose(op, candidate);
        EXPECT_NEAR(gain, before - choices_.TotalPrice(), kTolerance)
            << graph_.ops[op].instruction->name;
        ++changes;
        break;
      }
    }
  }
  EXPECT_GE(changes, 3);
}

TEST_F(ChoicesTest, ValuesThatAreMovedAreCountedOnce) {
  // x is gathered for both operands of the square, 7 * 64 bytes.
  const std::vector<const Candidate*> whole =
      choices_.MatchingNeighbours(computed_[0]);
  ASSERT_FALSE(whole.empty());
  choices_.Choose(computed_[0], whole[0]);
  EXPECT_EQ(choices_.WireBytesAround({graph_.parameters[0]}), 7 * 64);
  EXPECT_EQ(choices_.WireBytesAround({graph_.parameters[0], computed_[0]}),
            7 * 64);
}

}  // namespace
}  // namespace meshwright
