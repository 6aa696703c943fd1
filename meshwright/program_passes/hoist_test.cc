#include "meshwright/program_passes/hoist.h"

#include <algorithm>

#include "gtest/gtest.h"
#include "meshwright/hlo/verify.h"
#include "meshwright/program/local_builder.h"
#include "meshwright/program_passes/prevent_cse.h"

namespace meshwright {
namespace {

int64_t Gathers(const Computation& computation) {
  return std::count_if(computation.instructions().begin(),
                       computation.instructions().end(),
                       [](const auto& instruction) {
                         return instruction->opcode == Opcode::kAllGather;
                       });
}

// for (i = 0; i < 4; ++i) y = gather(x); x changes if not `same`.
class Loop {
 public:
  explicit Loop(bool same, int32_t use = 0)
      : program_("loop", *Mesh::Parse("2")) {
    const Shape part = Shape::Array(ElementType::kF32, {4});
    const Shape whole = Shape::Array(ElementType::kF32, {8});
    entry_ = program_.module.AddComputation("entry");
    Instruction* const x = entry_->AddParameter(part, "x");
    Instruction* const y = entry_->AddParameter(whole, "y");
    LocalBuilder out(&program_, entry_);
    Instruction* const start =
        out.Tuple({out.Constant(ElementType::kS32, 0), x, y});
    body_ = program_.module.AddComputation("body");
    {
      LocalBuilder in(&program_, body_);
      Instruction* const carry = body_->AddParameter(start->shape, "carry");
      Instruction* const index = in.GetTupleElement(carry, 0);
      Instruction* const held = in.GetTupleElement(carry, 1);
      Instruction* const gathered =
          in.AllGather(held, program_.mesh.AllSubAxes(), 0);
      for (auto& [collective, note] : program_.collectives) note.use = use;
      body_->set_root(in.Tuple(
          {in.Binary(Opcode::kAdd, index, in.Constant(ElementType::kS32, 1)),
           same ? held : in.Unary(Opcode::kNegate, held), gathered}));
    }
    Computation* const more = program_.module.AddComputation("more");
    {
      LocalBuilder in(&program_, more);
      Instruction* const carry = more->AddParameter(start->shape, "carry.1");
      more->set_root(in.Compare("LT", in.GetTupleElement(carry, 0),
                                in.Constant(ElementType::kS32, 4)));
    }
    Instruction* const loop = out.Add(Opcode::kWhile, start->shape, {start});
    loop->called = {body_, more};
    entry_->set_root(out.GetTupleElement(loop, 2));
    program_.module.set_entry(entry_);
    HoistCollectives(program_);
    PreventCse(program_);
    program_.module.Finish();
  }

  const Module& module() const { return program_.module; }
  int64_t before() const { return Gathers(*entry_); }
  int64_t inside() const { return Gathers(*body_); }

 private:
  LocalProgram program_;
  Computation* entry_ = nullptr;
  Computation* body_ = nullptr;
};

TEST(Hoist, WhatTheLoopCarriesUnchangedIsGatheredBeforeIt) {
  const Loop loop(/*same=*/true);
  EXPECT_EQ(Verify(loop.module()), absl::OkStatus());
  EXPECT_EQ(loop.before(), 1);
  EXPECT_EQ(loop.inside(), 0);
}

TEST(Hoist, WhatIsForOneUseStays) {
  const Loop loop(/*same=*/true, /*use=*/1);
  EXPECT_EQ(Verify(loop.module()), absl::OkStatus());
  EXPECT_EQ(loop.before(), 0);
  EXPECT_EQ(loop.inside(), 1);
  int64_t waiting = 0;  // What holds compilers back too.
  for (const auto& computation : loop.module().computations()) {
    for (const auto& instruction : computation->instructions()) {
      waiting += instruction->control_predecessors.empty() ? 0 : 1;
    }
  }
  EXPECT_EQ(waiting, 1);
}

TEST(Hoist, WhatChangesIsGatheredEachTime) {
  const Loop loop(/*same=*/false);
  EXPECT_EQ(Verify(loop.module()), absl::OkStatus());
  EXPECT_EQ(loop.before(), 0);
  EXPECT_EQ(loop.inside(), 1);
}

}  // namespace
}  // namespace meshwright
