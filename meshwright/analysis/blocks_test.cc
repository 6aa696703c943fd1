#include "meshwright/analysis/blocks.h"

#include <utility>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "meshwright/analysis/block_kinds.h"
#include "meshwright/analysis/flat_graph_for_test.h"

namespace meshwright {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

// Factors of a dot are numbered: contracted ones, then free ones of the left
// side, then of the right. So of y = dot(x, w): K is 0, M is 1, N is 2.
constexpr Label kK = 0, kM = 1, kN = 2;

std::vector<Family> FamiliesOf(const TestGraph& test) {
  const FlatGraph graph = test.Graph();
  const std::vector<Rule> rules = test.Rules();
  return FindFamilies(graph, rules, Origins(graph, rules));
}

Blocks BlocksOf(const TestGraph& test) {
  return FindBlocks(test.Graph(), test.Rules());
}

LabelledOp Labelled(const Instruction* op, FactorLabels labels) {
  return {OpId{op->id}, std::move(labels)};
}

struct Layer {
  TestGraph graph;
  Instruction* x = graph.Parameter({64, 12});
  Instruction* w = graph.Parameter({12, 20});
  Instruction* dy = graph.Parameter({64, 20});
  Instruction* y = graph.Dot(x, w, {1}, {0});
};

// With the strategies of a dot as 0 = right free, 1 = left free, 2 = contracted
// dimension, a forward plan 0, 1, 2 asks 0, 2, 1 of dw and 2, 1, 0 of dx.
TEST(GradientsTest, RolesOfTheThreeDots) {
  Layer layer;
  Instruction* dw = layer.graph.Dot(layer.x, layer.dy, {0}, {0});
  Instruction* dx = layer.graph.Dot(layer.dy, layer.w, {1}, {1});
  // dw contracts m, keeps k on the left and n on the right.
  EXPECT_THAT(FamiliesOf(layer.graph),
              ElementsAre(ElementsAre(Labelled(layer.y, {kK, kM, kN}),
                                      Labelled(dw, {kM, kK, kN}),
                                      Labelled(dx, {kN, kM, kK}))));
}

TEST(GradientsTest, ThroughTransposesAndReshapes) {
  Layer layer;
  TestGraph& graph = layer.graph;
  Instruction* xt =
      graph.Permute(Opcode::kTranspose, {12, 64}, layer.x, {1, 0});
  Instruction* dw = graph.Dot(layer.dy, xt, {0}, {1});  // As [n, k].
  Instruction* wt =
      graph.Permute(Opcode::kTranspose, {20, 12}, layer.w, {1, 0});
  Instruction* dyt =
      graph.Permute(Opcode::kTranspose, {20, 64}, layer.dy, {1, 0});
  Instruction* dx = graph.Dot(wt, dyt, {0}, {0});  // As [k, m].
  EXPECT_THAT(FamiliesOf(graph),
              ElementsAre(ElementsAre(Labelled(layer.y, {kK, kM, kN}),
                                      Labelled(dw, {kM, kN, kK}),
                                      Labelled(dx, {kN, kK, kM}))));
}

// Three projections of one input, of equal shapes: the input gradient tells
// which weight gradient is whose, whatever their order.
TEST(GradientsTest, EqualProjectionsOfOneInput) {
  TestGraph graph;
  Instruction* x = graph.Parameter({64, 12});
  std::vector<Instruction*> w, dy, y, dw, dx;
  for (int i = 0; i < 3; ++i) {
    w.push_back(graph.Parameter({12, 12}));
    dy.push_back(graph.Parameter({64, 12}));
    y.push_back(graph.Dot(x, w[i], {1}, {0}));
  }
  dw.resize(3);
  for (const int i : {2, 0, 1}) dw[i] = graph.Dot(x, dy[i], {0}, {0});
  for (int i = 0; i < 3; ++i) dx.push_back(graph.Dot(dy[i], w[i], {1}, {1}));
  const std::vector<Family> families = FamiliesOf(graph);
  ASSERT_EQ(families.size(), 3);
  for (int i = 0; i < 3; ++i) {
    ASSERT_EQ(families[i].size(), 3);
    EXPECT_EQ(families[i][0].op, y[i]->id);
    EXPECT_EQ(families[i][1].op, dw[i]->id);
    EXPECT_EQ(families[i][2].op, dx[i]->id);
  }
}

TEST(GradientsTest, WithoutInputGradient) {
  Layer layer;
  Instruction* dw = layer.graph.Dot(layer.x, layer.dy, {0}, {0});
  EXPECT_THAT(FamiliesOf(layer.graph),
              ElementsAre(ElementsAre(Labelled(layer.y, {kK, kM, kN}),
                                      Labelled(dw, {kM, kK, kN}))));
}

TEST(GradientsTest, ComputedAgainBehindABarrier) {
  Layer layer;
  Instruction* x = layer.graph.Add(Opcode::kOptBarrier, {64, 12}, {layer.x});
  Instruction* again = layer.graph.Dot(x, layer.w, {1}, {0});
  Instruction* dw = layer.graph.Dot(x, layer.dy, {0}, {0});
  EXPECT_THAT(FamiliesOf(layer.graph),
              ElementsAre(ElementsAre(Labelled(layer.y, {kK, kM, kN}),
                                      Labelled(dw, {kM, kK, kN}),
                                      Labelled(again, {kK, kM, kN}))));
}

// Layers that share an input, or stand on each other, are no gradients.
TEST(GradientsTest, OtherReadersOfAnOperand) {
  Layer layer;
  Instruction* u = layer.graph.Parameter({12, 20});
  Instruction* beside = layer.graph.Dot(layer.x, u, {1}, {0});
  Instruction* v = layer.graph.Parameter({20, 20});
  Instruction* above = layer.graph.Dot(layer.y, v, {1}, {0});
  EXPECT_THAT(FamiliesOf(layer.graph),
              ElementsAre(ElementsAre(Labelled(layer.y, {kK, kM, kN})),
                          ElementsAre(Labelled(beside, {kK, kM, kN})),
                          ElementsAre(Labelled(above, {kK, kM, kN}))));
}

TEST(BlocksTest, ChainsAroundAContraction) {
  TestGraph graph;
  Instruction* a = graph.Parameter({64, 12});
  Instruction* b = graph.Parameter({64, 12});
  Instruction* w = graph.Parameter({12, 20});
  Instruction* v = graph.Parameter({20, 12});
  Instruction* scale = graph.Parameter({12});
  Instruction* wide = graph.Permute(Opcode::kBroadcast, {64, 12}, scale, {1});
  Instruction* x = graph.Add(Opcode::kMultiply, {64, 12}, {a, wide});
  Instruction* y = graph.Dot(x, w, {1}, {0});
  Instruction* cube = graph.Add(Opcode::kReshape, {8, 8, 20}, {y});
  Instruction* tanh = graph.Add(Opcode::kTanh, {8, 8, 20}, {cube});
  Instruction* flat = graph.Add(Opcode::kReshape, {64, 20}, {tanh});
  Instruction* z = graph.Dot(flat, v, {1}, {0});
  Instruction* sum = graph.Add(Opcode::kAdd, {64, 12}, {z, b});
  Instruction* both = graph.Add(Opcode::kAdd, {64, 12}, {sum, x});

  const Blocks found = BlocksOf(graph);
  ASSERT_EQ(found.blocks.size(), 2);
  EXPECT_EQ(found.blocks[0].key, y->id);
  EXPECT_EQ(found.blocks[1].key, z->id);
  for (const Instruction* member : {w, y, cube, tanh, flat}) {
    EXPECT_EQ(found.block_of[member->id], 0) << member->id;
  }
  // Its readers are in both.
  EXPECT_EQ(found.block_of[x->id], -1);
  for (const Instruction* member : {v, z, b, sum}) {
    EXPECT_EQ(found.block_of[member->id], 1) << member->id;
  }
  // Made of parameters alone, x leaves the sum to the block it is added to.
  EXPECT_EQ(found.block_of[both->id], 1);
  const auto labels = [&](const Instruction* op) {
    for (const LabelledOp& member :
         found.blocks[found.block_of[op->id]].members) {
      if (member.op == op->id) return member.labels;
    }
    return FactorLabels();
  };
  // [8, 8, 20]: the major 8 is split with m.
  EXPECT_THAT(labels(tanh), ElementsAre(kM, kNoLabel, kN));
  EXPECT_THAT(labels(v), ElementsAre(kK, kN));
  EXPECT_THAT(labels(sum), ElementsAre(kM, kN));
  // 64 = m passes the reshape in parts that divide 8.
  EXPECT_THAT(found.blocks[0].splits,
              ElementsAre(BlockSplit{kK, 12, 1, 0, false},
                          BlockSplit{kM, 8, 0, 0, false},
                          BlockSplit{kN, 20, 0, 0, false}));
}

// x + y of scalars, for reductions.
class Adder {
 public:
  Adder() {
    const Shape scalar = Shape::Scalar(ElementType::kF32);
    computation_ = module_.AddComputation("add");
    Instruction* p = computation_->AddParameter(scalar, "p");
    Instruction* q = computation_->AddParameter(scalar, "q");
    computation_->Add(Opcode::kAdd, scalar, {p, q}, "sum");
  }
  // Sums over these dimensions.
  Instruction* Sum(TestGraph& graph, Instruction* operand,
                   std::vector<int64_t> result, std::vector<int64_t> over) {
    Instruction* zero = graph.Add(Opcode::kConstant, {}, {});
    Instruction* sum = graph.Permute(Opcode::kReduce, std::move(result),
                                     operand, std::move(over));
    sum->operands.push_back(zero);
    sum->called = {computation_};
    return sum;
  }

 private:
  Module module_{"adder"};
  Computation* computation_ = nullptr;
};

TEST(BlocksTest, SumsInsideABlock) {
  Layer layer;
  Adder adder;
  Instruction* sum = adder.Sum(layer.graph, layer.y, {64}, {1});
  Instruction* wide =
      layer.graph.Permute(Opcode::kBroadcast, {64, 20}, sum, {0});
  Instruction* part =
      layer.graph.Add(Opcode::kDivide, {64, 20}, {layer.y, wide});
  const Blocks found = BlocksOf(layer.graph);
  ASSERT_EQ(found.blocks.size(), 1);
  EXPECT_EQ(found.block_of[part->id], 0);
  EXPECT_THAT(found.blocks[0].splits,
              ElementsAre(BlockSplit{kK, 12, 1, 0, false},
                          BlockSplit{kM, 64, 0, 0, false},
                          BlockSplit{kN, 20, 0, 1, false}));
  // The broadcast makes n anew, split as its reader asks.
  for (const LabelledOp& member : found.blocks[0].members) {
    if (member.op == wide->id) {
      EXPECT_THAT(member.labels, testing::UnorderedElementsAre(kM, kN));
    }
  }
}

// A clipped gradient still follows its block, though the norm is everybody's.
TEST(BlocksTest, ScalarsAskForNothing) {
  Layer layer;
  Adder adder;
  Instruction* other = layer.graph.Dot(
      layer.graph.Parameter({64, 9}), layer.graph.Parameter({9, 20}), {1}, {0});
  Instruction* both = layer.graph.Add(Opcode::kAdd, {64, 20}, {layer.y, other});
  Instruction* norm = adder.Sum(layer.graph, both, {}, {0, 1});
  Instruction* wide =
      layer.graph.Permute(Opcode::kBroadcast, {64, 20}, norm, {});
  Instruction* clipped =
      layer.graph.Add(Opcode::kDivide, {64, 20}, {layer.y, wide});
  const Blocks found = BlocksOf(layer.graph);
  EXPECT_EQ(found.block_of[both->id], -1);
  EXPECT_EQ(found.block_of[norm->id], -1);
  EXPECT_EQ(found.block_of[clipped->id], 0);
  EXPECT_EQ(found.block_of[wide->id], 0);
}

// The gradient reads columns of y where the family says rows.
TEST(BlocksTest, ContradictionsBlockASplit) {
  TestGraph graph;
  Instruction* x = graph.Parameter({12, 12});
  Instruction* w = graph.Parameter({12, 12});
  Instruction* y = graph.Dot(x, w, {1}, {0});
  Instruction* yt = graph.Permute(Opcode::kTranspose, {12, 12}, y, {1, 0});
  Instruction* tanh = graph.Add(Opcode::kTanh, {12, 12}, {yt});
  Instruction* dw = graph.Dot(x, tanh, {0}, {0});
  const Blocks found = BlocksOf(graph);
  ASSERT_EQ(found.blocks.size(), 1);
  EXPECT_THAT(found.blocks[0].contractions, ElementsAre(y->id, dw->id));
  EXPECT_THAT(found.blocks[0].splits,
              ElementsAre(BlockSplit{kK, 12, 1, 0, false},
                          BlockSplit{kM, 12, 1, 0, true},
                          BlockSplit{kN, 12, 0, 0, true}));
}

TEST(BlocksTest, WhatContradictsIsNoMember) {
  TestGraph graph;
  Instruction* x = graph.Parameter({12, 12});
  Instruction* w = graph.Parameter({12, 12});
  Instruction* y = graph.Dot(x, w, {1}, {0});
  Instruction* yt = graph.Permute(Opcode::kTranspose, {12, 12}, y, {1, 0});
  Instruction* sum = graph.Add(Opcode::kAdd, {12, 12}, {y, yt});
  const Blocks found = BlocksOf(graph);
  // A split of rows of one is a split of columns of the other.
  EXPECT_EQ(found.block_of[yt->id], 0);
  EXPECT_EQ(found.block_of[sum->id], -1);
}

TEST(BlocksTest, EqualBlocksHaveEqualFingerprints) {
  TestGraph graph;
  Instruction* x = graph.Parameter({64, 12});
  for (int i = 0; i < 4; ++i) {
    Instruction* y = graph.Dot(x, graph.Parameter({12, 12}), {1}, {0});
    x = graph.Add(i == 3 ? Opcode::kCosine : Opcode::kTanh, {64, 12}, {y});
  }
  const Blocks found = BlocksOf(graph);
  ASSERT_EQ(found.blocks.size(), 4);
  EXPECT_EQ(found.blocks[1].fingerprint, found.blocks[2].fingerprint);
  // The first has its input as a member, the last another function.
  EXPECT_NE(found.blocks[0].fingerprint, found.blocks[1].fingerprint);
  EXPECT_NE(found.blocks[2].fingerprint, found.blocks[3].fingerprint);
  EXPECT_THAT(BlocksOf(TestGraph()).blocks, IsEmpty());
}

TEST(BlockKindsTest, CountsWhatOneBlockTakes) {
  TestGraph graph;
  Instruction* x = graph.Parameter({64, 12});
  for (int i = 0; i < 3; ++i) {
    x = graph.Dot(x, graph.Parameter({12, 12}), {1}, {0});
    x = graph.Add(Opcode::kTanh, {64, 12}, {x});
  }
  const BlockSummary summary = SummarizeBlocks(graph.Graph(), graph.Rules(),
                                               BlocksOf(graph), graph.Work());
  ASSERT_EQ(summary.kinds.size(), 2);
  const BlockKind& first = summary.kinds[0];
  const BlockKind& next = summary.kinds[1];
  EXPECT_EQ(first.count, 1);
  EXPECT_EQ(next.count, 2);
  EXPECT_EQ(first.parameters, 2);
  EXPECT_EQ(first.parameter_bytes, 4 * (64 * 12 + 12 * 12));
  EXPECT_EQ(next.parameters, 1);
  EXPECT_EQ(next.parameter_bytes, 4 * 12 * 12);
  EXPECT_EQ(next.ops, 3);
  EXPECT_EQ(next.contractions, 1);
  EXPECT_EQ(next.work,
            (Work{2 * 64 * 12 * 12, 64 * 12, 4 * (12 * 12 + 4 * 64 * 12)}));
  EXPECT_EQ(summary.ops, 10);
  EXPECT_EQ(summary.block_ops, 10);
  EXPECT_EQ(summary.work, summary.block_work);
}

}  // namespace
}  // namespace meshwright
