// Values moved once for all that use them, or for each by itself.
#include <algorithm>

#include "gtest/gtest.h"
#include "meshwright/hlo/verify.h"
#include "meshwright/partition/partition.h"

namespace meshwright {
namespace {

// out = sort(x) + sort(-x): what each sort takes is x in full.
Module TwoSorts() {
  Module module("sorts");
  const Shape shape = Shape::Array(ElementType::kF32, {8});
  const Shape scalar = Shape::Array(ElementType::kF32, {});
  Computation* less = module.AddComputation("less");
  Instruction* a = less->AddParameter(scalar, "a");
  Instruction* b = less->AddParameter(scalar, "b");
  less->Add(Opcode::kCompare, Shape::Array(ElementType::kPred, {}), {a, b},
            "compare")
      ->attributes.mutate()
      .comparison_direction = "LT";
  Computation* entry = module.AddComputation("main");
  Instruction* x = entry->AddParameter(shape, "x");
  std::vector<Instruction*> sorted;
  for (const bool stable : {false, true}) {
    sorted.push_back(
        entry->Add(Opcode::kSort, shape, {x}, stable ? "sort.1" : "sort.0"));
    sorted.back()->called = {less};
    sorted.back()->attributes.mutate().dimensions = {0};
    sorted.back()->attributes.mutate().is_stable = stable;
  }
  entry->Add(Opcode::kAdd, shape, sorted, "sum");
  module.set_entry(entry);
  module.Finish();
  return module;
}

int64_t GathersWith(Sharing sharing) {
  const Module module = TwoSorts();
  EXPECT_EQ(Verify(module), absl::OkStatus());
  const Mesh mesh = *Mesh::Parse("data=2");
  const FlatGraph graph = Flatten(module);
  Assignment assignment{.rules = RulesOf(graph)};
  for (const Rule& rule : assignment.rules) {
    assignment.strategies.push_back(ReplicatedStrategy(rule));
  }
  const OpId x = graph.parameters[0];
  SetAxes(assignment.rules[x], 0, mesh.AllSubAxes(), assignment.strategies[x]);
  assignment.sharing.assign(graph.values.size(), Sharing::kOnce);
  assignment.sharing[graph.ops[x].first_result] = sharing;
  Resharder resharder(&mesh, Prices());
  const absl::StatusOr<Partitioned> split =
      PartitionAs(module, mesh, graph, assignment, resharder);
  EXPECT_TRUE(split.ok()) << split.status();
  const auto& all = split->module.entry()->instructions();
  return std::count_if(all.begin(), all.end(), [](const auto& one) {
    return one->opcode == Opcode::kAllGather;
  });
}

TEST(Sharing, OnceForAll) { EXPECT_EQ(GathersWith(Sharing::kOnce), 1); }
TEST(Sharing, OnceInPlace) { EXPECT_EQ(GathersWith(Sharing::kInPlace), 1); }
TEST(Sharing, ForEachUse) { EXPECT_EQ(GathersWith(Sharing::kApart), 2); }

}  // namespace
}  // namespace meshwright
