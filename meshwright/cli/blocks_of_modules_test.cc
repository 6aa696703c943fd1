// Blocks of the modules in testdata/, checked by the rules of their ops.
#include <map>
#include <set>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "meshwright/analysis/blocks.h"
#include "meshwright/api/load_step.h"
#include "meshwright/graph/flat_graph.h"
#include "meshwright/mesh/sharding_text.h"
#include "meshwright/partition/assignment.h"

namespace meshwright {
namespace {

class BlocksOfModulesTest : public testing::TestWithParam<const char*> {
 protected:
  BlocksOfModulesTest()
      : module_(LoadModule(absl::StrCat(MW_SOURCE_DIR "/testdata/", GetParam(),
                                        ".hlo.pb.zst"))
                    .value()),
        graph_(Flatten(module_)),
        rules_(RulesOf(graph_)),
        found_(FindBlocks(graph_, rules_)) {}

  Module module_;
  FlatGraph graph_;
  std::vector<Rule> rules_;
  Blocks found_;
};

Strategy SplitLabel(const Rule& rule, const FactorLabels& labels, Label label,
                    const AxisList& axes) {
  Strategy strategy = ReplicatedStrategy(rule);
  for (size_t i = 0; i < labels.size(); ++i) {
    if (labels[i] == label) {
      SetAxes(rule, static_cast<int32_t>(i), axes, strategy);
    }
  }
  return strategy;
}

bool IsWhole(const Sharding& sharding) { return SplitAxes(sharding).empty(); }

// Splits every block along every label and looks at each value that passes
// from one member to another: it lies as its reader asks, or is whole, or a
// partial sum that is counted.
TEST_P(BlocksOfModulesTest, NoCommunicationInside) {
  const Mesh mesh = Mesh::Parse("d=2").value();
  int64_t edges = 0;
  for (const Block& block : found_.blocks) {
    for (const BlockSplit& split : block.splits) {
      if (split.blocked || split.parts % 2 != 0) continue;
      std::map<OpId, Strategy> strategies;
      int32_t sums = 0;
      for (const LabelledOp& member : block.members) {
        const Rule& rule = rules_[member.op];
        Strategy strategy =
            SplitLabel(rule, member.labels, split.factor, mesh.AllSubAxes());
        ASSERT_TRUE(IsValid(rule, strategy, mesh))
            << graph_.ops[member.op].instruction->name;
        if (!rule.results.empty()) {
          sums += ResultSharding(rule, strategy, 0, mesh).IsPending();
        }
        strategies.emplace(member.op, std::move(strategy));
      }
      EXPECT_EQ(sums, split.contraction_sums + split.other_sums);
      for (const auto& [op, strategy] : strategies) {
        const FlatOp& reader = graph_.ops[op];
        for (size_t i = 0; i < reader.operands.size(); ++i) {
          const FlatValue& value = graph_.values[reader.operands[i]];
          const auto producer = strategies.find(value.producer);
          if (producer == strategies.end()) continue;
          ++edges;
          const Sharding made = ResultSharding(
              rules_[producer->first], producer->second, value.result, mesh);
          const Sharding asked = OperandSharding(rules_[op], strategy,
                                                 static_cast<int32_t>(i), mesh);
          if (made.IsPending() || IsWhole(made)) continue;
          EXPECT_EQ(ToString(made, mesh), ToString(asked, mesh))
              << graph_.ops[value.producer].instruction->name << " -> "
              << reader.instruction->name << " operand " << i;
        }
      }
    }
  }
  EXPECT_GT(edges, 100);
}

TEST_P(BlocksOfModulesTest, EveryContractionIsInOneBlock) {
  std::set<OpId> seen;
  for (size_t i = 0; i < found_.blocks.size(); ++i) {
    const Block& block = found_.blocks[i];
    EXPECT_EQ(block.key, block.contractions[0]);
    for (const OpId op : block.contractions) {
      EXPECT_TRUE(seen.insert(op).second);
      EXPECT_EQ(found_.block_of[op], i);
    }
    for (const LabelledOp& member : block.members) {
      EXPECT_EQ(found_.block_of[member.op], i);
    }
  }
  for (OpId op{0}; op < std::ssize(graph_.ops); ++op) {
    if (graph_.ops[op].live) {
      EXPECT_EQ(seen.contains(op), IsFamilyMember(graph_.ops[op], rules_[op]));
    }
  }
}

// Steps differentiate every contraction by both operands, but for those that
// read data.
TEST_P(BlocksOfModulesTest, GradientsAreFound) {
  const std::map<std::string, std::pair<size_t, size_t>> expected = {
      // Blocks, and those with all three contractions.
      {"gpt_tiny", {13, 13}},       {"gpt_tiny_jax0435", {13, 13}},
      {"gpt_scan_tiny", {7, 7}},    {"llama_tiny", {10, 10}},
      {"bert_tiny", {14, 14}},      {"vit_tiny", {14, 13}},
      {"moe_tiny", {20, 15}},       {"unet_tiny", {51, 49}},
      {"wide_resnet_tiny", {10, 9}}};
  size_t whole = 0;
  for (const Block& block : found_.blocks) {
    whole += block.contractions.size() == 3;
  }
  EXPECT_EQ(std::pair(found_.blocks.size(), whole), expected.at(GetParam()));
}

INSTANTIATE_TEST_SUITE_P(Testdata, BlocksOfModulesTest,
                         testing::Values("gpt_tiny", "gpt_tiny_jax0435",
                                         "gpt_scan_tiny", "llama_tiny",
                                         "bert_tiny", "vit_tiny", "moe_tiny",
                                         "unet_tiny", "wide_resnet_tiny"),
                         [](const testing::TestParamInfo<const char*>& param) {
                           return std::string(param.param);
                         });

}  // namespace
}  // namespace meshwright
