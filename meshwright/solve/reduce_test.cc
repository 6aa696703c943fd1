#include "meshwright/solve/reduce.h"

#include <gtest/gtest.h>

#include <functional>

#include "meshwright/solve/brute_force_for_test.h"
#include "meshwright/solve/core.h"
#include "meshwright/solve/points.h"
#include "meshwright/solve/selection.h"

namespace meshwright {
namespace {

// The best allowed choice of a core, by trying everything; none when there is
// none.
std::optional<std::vector<int32_t>> BestOfCore(const Core& core) {
  Selection now(core);
  std::optional<std::vector<int32_t>> best;
  int64_t best_cost = kCoreInfinity;
  while (true) {
    if (now.allowed() && now.cost() < best_cost) {
      best_cost = now.cost();
      best = now.choice();
    }
    int32_t v = 0;
    while (v < core.nodes && now[v] + 1 == core.options(v)) now.Set(v++, 0);
    if (v == core.nodes) return best;
    now.Set(v, now[v] + 1);
  }
}

using Rule = std::function<void(Graph&)>;

int32_t EdgesOf(const Graph& graph) {
  int32_t count = 0;
  for (const int32_t v : graph.AliveNodes()) count += graph.node(v).degree;
  return count / 2;
}

void ForEachNode(Graph& graph, bool (*rule)(Graph&, int32_t)) {
  for (int32_t v = graph.TakeNode(); v >= 0; v = graph.TakeNode()) {
    if (!graph.infeasible().empty()) return;
    rule(graph, v);
  }
}

void ForEachEdge(Graph& graph) {
  for (int32_t e = graph.TakeEdge(); e >= 0; e = graph.TakeEdge()) {
    if (!graph.infeasible().empty()) return;
    ReduceEdge(graph, e);
  }
}

struct RuleCase {
  std::string name;
  Rule rule;
};

class RuleTest : public testing::TestWithParam<RuleCase> {};

// The optimum of what a rule leaves, expanded, is an optimum of the problem and
// costs what the graph says.
TEST_P(RuleTest, KeepsAnOptimum) {
  int changed = 0;
  for (uint64_t seed = 0; seed < 400; ++seed) {
    SCOPED_TRACE(seed);
    const Problem problem =
        RandomProblem({.nodes = 6,
                       .edges = 8,
                       .limited = seed % 4 != 0,
                       .forbidden = seed % 3 == 0 ? 0.5 : 0.1},
                      seed);
    const auto want = BruteForce(problem);
    Graph graph(problem);
    GetParam().rule(graph);
    if (!graph.infeasible().empty()) {
      EXPECT_FALSE(want.has_value()) << graph.infeasible();
      continue;
    }
    const Core core = BuildCore(graph);
    const auto found = BestOfCore(core);
    ASSERT_EQ(found.has_value(), want.has_value());
    if (!want.has_value()) continue;
    const std::vector<int32_t> assignment = ExpandCore(graph, core, *found);
    const Evaluation evaluation = Evaluate(problem, assignment);
    EXPECT_TRUE(evaluation.allowed());
    EXPECT_EQ(evaluation.cost, Evaluate(problem, *want).cost);
    Selection selection(core);
    selection.Assign(*found);
    EXPECT_EQ(evaluation.cost, selection.cost() + core.constant);
    const Graph fresh(problem);
    changed += core.nodes < std::ssize(problem.nodes) ||
               core.points() < std::ssize(fresh.points()) ||
               EdgesOf(graph) < EdgesOf(fresh) || std::ssize(core.costs) < [&] {
                 int64_t options = 0;
                 for (const auto& node : problem.nodes) {
                   options += std::ssize(node.costs);
                 }
                 return options;
               }();
  }
  EXPECT_GT(changed, 40);
}

INSTANTIATE_TEST_SUITE_P(
    Rules, RuleTest,
    testing::ValuesIn<RuleCase>({
        {"Edges", ForEachEdge},
        {"InfiniteOptions",
         [](Graph& graph) {
           // Costs become infinite when edges add to them.
           ForEachEdge(graph);
           ForEachNode(graph, DropInfiniteOptions);
         }},
        {"DominatedOptions",
         [](Graph& graph) { ForEachNode(graph, DropDominatedOptions); }},
        {"SmallDegree",
         [](Graph& graph) { ForEachNode(graph, EliminateSmallDegree); }},
        {"Points",
         [](Graph& graph) {
           while (ReducePoints(graph) && graph.infeasible().empty()) {
           }
         }},
        {"All", [](Graph& graph) { Reduce(graph, [] { return false; }); }},
    }),
    [](const auto& test) { return test.param.name; });

}  // namespace
}  // namespace meshwright
