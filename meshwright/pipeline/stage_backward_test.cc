#include "meshwright/pipeline/stage_backward.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "meshwright/analysis/small_step_for_test.h"

namespace meshwright {
namespace {

// Forward   h = tanh(v * x)       stage 0
//           y = h * w             stage 1
// Backward  dy = exp(y), dh = dy * w, dw = h * dy,
//           s = h * h, dx = dh * s, dv = x * dx
struct TwoStages : SmallStep {
  TwoStages() {
    x = Parameter("x", 8);
    v = Parameter("v", 8);
    w = Parameter("w", 8);
    vx = Binary(Opcode::kMultiply, "vx", v, x);
    h = Unary(Opcode::kTanh, "h", vx);
    y = Binary(Opcode::kMultiply, "y", h, w);
    dy = Unary(Opcode::kExponential, "dy", y);
    dh = Binary(Opcode::kMultiply, "dh", dy, w);
    dw = Binary(Opcode::kMultiply, "dw", h, dy);
    s = Unary(Opcode::kLog, "s", vx);
    dx = Binary(Opcode::kMultiply, "dx", dh, s);
    dv = Binary(Opcode::kMultiply, "dv", x, dx);
  }

  std::vector<StageId> Place(std::vector<std::set<StageId>> homes,
                             std::vector<std::vector<const Instruction*>> terms,
                             int32_t stages = 2) {
    const CutGraph graph = MakeCutGraph(*entry);
    BackwardProblem problem{
        .entry = entry,
        .graph = &graph,
        .stages = stages,
        .micro_batches = 4,
        .forward = std::vector<StageId>(entry->size(), kNoStage),
        .is_state = {false, true, true},
        .homes = std::move(homes),
        .terms = std::move(terms)};
    problem.forward[vx->id] = StageId(0);
    problem.forward[h->id] = StageId(0);
    problem.forward[y->id] = StageId(stages - 1);
    return PlaceBackward(problem);
  }

  Instruction *x, *v, *w, *vx, *h, *y, *dy, *dh, *dw, *s, *dx, *dv;
};

TEST(PlaceBackwardTest, ResidualsStayAndCotangentsTravel) {
  TwoStages step;
  step.Return({step.y, step.dw, step.dv});
  const auto stage = step.Place({{}, {StageId(1)}, {StageId(0)}}, {{}, {}, {}});
  EXPECT_EQ(stage[step.dy->id], 1);
  EXPECT_EQ(stage[step.dh->id], 1);
  EXPECT_EQ(stage[step.dw->id], 1);  // h was sent there for y.
  EXPECT_EQ(stage[step.s->id], 0);   // vx was not.
  EXPECT_EQ(stage[step.dx->id], 0);
  EXPECT_EQ(stage[step.dv->id], 0);
}

// Moving the rematerialised `h`, and all that hangs on it, to stage 1 would
// save the gradient's way.
TEST(PlaceBackwardTest, RematerialisedValuesStayWhereTheyWere) {
  TwoStages step;
  Instruction* const both = step.entry->Add(
      Opcode::kTuple, Shape::Tuple({step.x->shape, step.dh->shape}),
      {step.x, step.dh}, "both");
  Instruction* const barrier =
      step.entry->Add(Opcode::kOptBarrier, both->shape, {both}, "barrier");
  Instruction* const x = step.entry->Add(Opcode::kGetTupleElement,
                                         step.x->shape, {barrier}, "x.again");
  x->attributes.mutate().tuple_index = 0;
  Instruction* const vx = step.Binary(Opcode::kMultiply, "vx.again", step.v, x);
  Instruction* const h = step.Unary(Opcode::kTanh, "h.again", vx);
  Instruction* const dv = step.Binary(Opcode::kMultiply, "dv.again", h, vx);
  step.Return({step.y, step.dw, dv});
  const auto stage = step.Place({{}, {StageId(1)}, {}}, {{}, {}, {}});
  EXPECT_EQ(stage[vx->id], 0);
  EXPECT_EQ(stage[h->id], 0);
  EXPECT_EQ(stage[dv->id], 0);
}

TEST(PlaceBackwardTest, PassesStagesThatHaveNoPart) {
  TwoStages step;
  step.Return({step.y, step.dw, step.dv});
  const auto stage =
      step.Place({{}, {StageId(2)}, {StageId(0)}}, {{}, {}, {}}, /*stages=*/3);
  EXPECT_EQ(stage[step.dw->id], 2);
  EXPECT_EQ(stage[step.dv->id], 0);
}

TEST(PlaceBackwardTest, TermsOfASumMayBeApart) {
  TwoStages step;
  Instruction* total = step.Parameter("total", 8);
  Instruction* both = step.Binary(Opcode::kAdd, "both", step.dw, step.dv);
  Instruction* sum = step.Binary(Opcode::kAdd, "sum", total, both);
  step.Return({step.y, sum});
  const auto stage =
      step.Place({{}, {StageId(0), StageId(1)}}, {{}, {step.dw, step.dv}});
  EXPECT_EQ(stage[step.dw->id], 1);
  EXPECT_EQ(stage[step.dv->id], 0);
  EXPECT_EQ(stage[sum->id], kNoStage);
}

}  // namespace
}  // namespace meshwright
