#include "meshwright/partition/complete.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "meshwright/mesh/sharding_text.h"
#include "meshwright/partition/partition.h"

namespace meshwright {
namespace {

// No strategy splits the rows of a factorised matrix.
TEST(Complete, NamesAPinThatCannotBeKept) {
  Module module("m");
  Computation* const entry = module.AddComputation("main");
  const Shape shape = Shape::Array(ElementType::kF32, {4, 8, 8});
  Instruction* const a = entry->AddParameter(shape, "a");
  Instruction* const root =
      entry->Add(Opcode::kCholesky, shape, {a}, "factor.1");
  root->attributes.mutate().cholesky_lower = true;
  module.set_entry(entry);
  const Mesh mesh = *Mesh::Parse("data=2");
  const auto pinned = [&](const char* text) {
    Annotations pins;
    pins.instructions[root].sharding =
        *ParseSharding(text, shape.dimensions, mesh);
    return Partition(module, mesh, pins).status();
  };
  EXPECT_EQ(pinned("[data, -, -]"), absl::OkStatus());
  const absl::Status refused = pinned("[-, data, -]");
  EXPECT_EQ(refused.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(refused.message(), testing::HasSubstr("factor.1"));
  EXPECT_THAT(refused.message(), testing::HasSubstr("[-, data, -]"));
}

class PinnedNames : public testing::Test {
 protected:
  static Shape Matrix() { return Shape::Array(ElementType::kF32, {8, 8}); }

  PinnedNames() : module_("m"), entry_(module_.AddComputation("main")) {
    x_ = entry_->AddParameter(Matrix(), "x");
    first_ = entry_->Add(Opcode::kAdd, Matrix(), {x_, x_}, "first");
    twin_ = entry_->Add(Opcode::kAdd, Matrix(), {x_, x_}, "twin");
    Instruction* const pair =
        entry_->Add(Opcode::kTuple, Shape::Tuple({Matrix(), Matrix()}),
                    {first_, twin_}, "pair");
    element_ =
        entry_->Add(Opcode::kGetTupleElement, Matrix(), {pair}, "element");
    element_->attributes.mutate().tuple_index = 1;
    entry_->set_root(entry_->Add(Opcode::kTanh, Matrix(), {element_}, "root"));
    module_.set_entry(entry_);
    module_.Finish();
  }

  void Pin(const Instruction* instruction, const char* text) {
    pins_.instructions[instruction].sharding =
        *ParseSharding(text, {8, 8}, mesh_);
  }

  // Of what `first` computes.
  std::string Lies() {
    const FlatGraph graph = Flatten(module_);
    Resharder resharder(&mesh_, Prices());
    const absl::StatusOr<Assignment> assignment =
        Complete(graph, pins_, mesh_, Prices(), resharder);
    if (!assignment.ok()) return std::string(assignment.status().message());
    for (size_t op = 0; op < graph.ops.size(); ++op) {
      if (graph.ops[op].instruction != first_) continue;
      return ToString(ResultSharding(assignment->rules[op],
                                     assignment->strategies[op], 0, mesh_),
                      mesh_);
    }
    return "nowhere";
  }

  const Mesh mesh_ = *Mesh::Parse("data=2");
  Module module_;
  Computation* entry_;
  Instruction* x_ = nullptr;
  Instruction* first_ = nullptr;
  Instruction* twin_ = nullptr;     // Computes the same.
  Instruction* element_ = nullptr;  // Is the twin.
  Annotations pins_;
};

TEST_F(PinnedNames, HoldForWhatTheyStandFor) {
  EXPECT_EQ(Lies(), "[-, -]");
  for (const Instruction* pinned : {first_, twin_, element_}) {
    pins_ = {};
    Pin(pinned, "[-, data]");
    EXPECT_EQ(Lies(), "[-, data]") << pinned->name;
  }
}

TEST_F(PinnedNames, OfOneValueAgree) {
  Pin(twin_, "[-, data]");
  Pin(element_, "[data, -]");
  EXPECT_EQ(Lies(),
            "element is pinned to [data, -], twin to [-, data]; they are one "
            "value");
}

TEST_F(PinnedNames, MayBeParameters) {
  Pin(x_, "[data, -]");
  const absl::StatusOr<Partitioned> split = Partition(module_, mesh_, pins_);
  ASSERT_TRUE(split.ok()) << split.status();
  EXPECT_EQ(ToString(split->parameters[0], mesh_), "[data, -]");
}

}  // namespace
}  // namespace meshwright
