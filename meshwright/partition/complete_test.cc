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

}  // namespace
}  // namespace meshwright
