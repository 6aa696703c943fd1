// Programs compute the same after their permutes are combined, on all devices.
#include "meshwright/program_passes/combine.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "meshwright/hlo/verify.h"
#include "meshwright/program/local_builder.h"
#include "meshwright/program_passes/simplify.h"
#include "tests/rules/device_run.h"
#include "tests/rules/one_op.h"
#include "tests/rules/random_shapes.h"

namespace meshwright {
namespace {

using Pairs = std::vector<std::pair<int64_t, int64_t>>;

constexpr int64_t kDevices = 6;

// An f32[2], its permutes and what they return; the root is a tuple of all.
class Permuted {
 public:
  Permuted() : program_("permuted", *Mesh::Parse("a=3,b=2")) {
    Computation* entry = program_.module.AddComputation("entry");
    program_.module.set_entry(entry);
    builder_ = std::make_unique<LocalBuilder>(&program_, entry);
    values_ = {
        entry->AddParameter(Shape::Array(ElementType::kF32, {2}), "given")};
  }

  // Permutes value `of`, with something added so that no two are alike.
  void Permute(size_t of, Pairs pairs) {
    Instruction* more = builder_->Broadcast(
        builder_->Constant(ElementType::kF32,
                           static_cast<double>(values_.size())),
        {2});
    values_.push_back(builder_->CollectivePermute(
        builder_->Binary(Opcode::kAdd, values_[of], more), std::move(pairs)));
  }

  Module& Finish() {
    program_.module.entry()->set_root(builder_->Tuple(values_));
    Simplify(program_);
    return program_.module;
  }

  LocalProgram& program() { return program_; }

 private:
  LocalProgram program_;
  std::unique_ptr<LocalBuilder> builder_;
  std::vector<Instruction*> values_;
};

int64_t CountPermutes(const Module& module) {
  int64_t count = 0;
  for (const auto& instruction : module.entry()->instructions()) {
    if (instruction->opcode == Opcode::kCollectivePermute) ++count;
  }
  return count;
}

std::vector<std::vector<Literal>> Run(Module& module) {
  module.Finish();
  EXPECT_EQ(Verify(module), absl::OkStatus());
  std::vector<std::vector<Literal>> arguments;
  for (int64_t device = 0; device < kDevices; ++device) {
    Random random(static_cast<uint64_t>(device) + 1);
    const BuiltOp like = Build({.opcode = Opcode::kNegate,
                                .operands = {"f32[2]"},
                                .draws = {{0, Reals(1, 2)}}});
    arguments.push_back(DrawInputs(like, random));
  }
  const auto outputs = RunOnDevices(module, arguments);
  EXPECT_TRUE(outputs.ok()) << outputs.status();
  return outputs.ok() ? *outputs : std::vector<std::vector<Literal>>();
}

// How many are left, after the results were compared.
int64_t Combined(Permuted& permuted) {
  const auto wanted = Run(permuted.Finish());
  CombinePermutes(permuted.program());
  Module& module = permuted.program().module;
  const auto got = Run(module);
  EXPECT_EQ(got.size(), wanted.size());
  for (size_t device = 0; device < got.size(); ++device) {
    for (size_t i = 0; i < got[device].size(); ++i) {
      EXPECT_EQ(got[device][i].data, wanted[device][i].data)
          << "output " << i << " of device " << device;
    }
  }
  return CountPermutes(module);
}

TEST(CombinePermutes, BetweenDifferentDevices) {
  Permuted permuted;
  permuted.Permute(0, {{0, 1}, {1, 2}, {2, 3}, {3, 4}, {4, 5}});
  permuted.Permute(0, {{5, 0}});
  EXPECT_EQ(Combined(permuted), 1);
}

TEST(CombinePermutes, NotWhenADeviceSendsOrReceivesTwice) {
  Permuted permuted;
  permuted.Permute(0, {{0, 1}});
  permuted.Permute(0, {{0, 2}});
  permuted.Permute(0, {{3, 2}});
  permuted.Permute(0, {{4, 2}});
  EXPECT_EQ(Combined(permuted), 3);  // The first goes with the third.
}

TEST(CombinePermutes, NotWhenOneWaitsForTheOther) {
  Permuted permuted;
  permuted.Permute(0, {{0, 1}});
  permuted.Permute(1, {{1, 2}});
  EXPECT_EQ(Combined(permuted), 2);
}

TEST(CombinePermutes, RandomOnes) {
  int64_t fewer = 0;
  for (uint64_t seed = 1; seed <= 12; ++seed) {
    Random random(seed);
    Permuted permuted;
    const size_t count = 2 + random() % 5;
    for (size_t i = 0; i < count; ++i) {
      const std::vector<int64_t> sources = RandomOrder(random, kDevices);
      const std::vector<int64_t> targets = RandomOrder(random, kDevices);
      Pairs pairs;
      for (uint64_t j = 0; j <= random() % 3; ++j) {
        pairs.emplace_back(sources[j], targets[j]);
      }
      permuted.Permute(random() % (i + 1), std::move(pairs));
    }
    fewer += static_cast<int64_t>(count) - Combined(permuted);
  }
  EXPECT_GE(fewer, 5);
}

}  // namespace
}  // namespace meshwright
