#include "meshwright/program_passes/combine.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <vector>

#include "meshwright/program/local_builder.h"

namespace meshwright {
namespace {

// Reductions are used in the reverse of the order in which they lie in memory.
TEST(CombineAllReducesTest, ComeInTheOrderOfTheProgram) {
  LocalProgram program("step", *Mesh::Parse("data=2"));
  Computation* entry = program.module.AddComputation("main");
  LocalBuilder builder(&program, entry);
  Instruction* x =
      entry->AddParameter(Shape::Array(ElementType::kF32, {4}), "x");
  std::vector<Reduction> order = {Reduction::kSum, Reduction::kProduct,
                                  Reduction::kMax, Reduction::kMin};
  const auto combiner = [&](Reduction reduction) {
    return program.Combiner(reduction, ElementType::kF32);
  };
  std::ranges::sort(order, std::greater<const Computation*>(), combiner);
  std::vector<Instruction*> results;
  for (const Reduction reduction : order) {
    for (int i = 0; i < 2; ++i) {
      results.push_back(
          builder.AllReduce(x, reduction, program.mesh.AllSubAxes()));
    }
  }
  entry->set_root(builder.Tuple(std::move(results)));
  program.module.set_entry(entry);
  CombineAllReduces(program, 1 << 20);
  std::vector<const Computation*> wanted;
  for (const Reduction reduction : order) wanted.push_back(combiner(reduction));
  std::vector<const Computation*> combined;
  for (const auto& instruction : entry->instructions()) {
    if (instruction->opcode != Opcode::kAllReduce) continue;
    EXPECT_EQ(instruction->operands.size(), 2);
    combined.push_back(instruction->called[0]);
  }
  EXPECT_EQ(combined, wanted);
}

}  // namespace
}  // namespace meshwright
