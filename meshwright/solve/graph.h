// A problem while it is being made smaller, and the way back.
//
// Rules remove options, nodes and points so that an optimum of the original
// problem survives. `Expand` turns an assignment of the nodes left into one of
// all nodes that costs `constant()` plus what the graph says.
//
//   Graph graph(problem);
//   Reduce(graph);                         // reduce.h
//   graph.Expand(choice_of_nodes_left);    // as long as problem.nodes
//
// Time is a row of *points*: only at them can a limit break. At most one edge
// joins two nodes.
#ifndef MESHWRIGHT_SOLVE_GRAPH_H_
#define MESHWRIGHT_SOLVE_GRAPH_H_

#include <cstdint>
#include <deque>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/types/span.h"
#include "meshwright/solve/problem.h"
#include "meshwright/solve/table_store.h"

namespace meshwright {

// Usage at the points first <= p < last, by option.
struct PointPiece {
  int32_t first = 0;
  int32_t last = 0;
  std::vector<int64_t> usage;
};

struct Point {
  int64_t capacity = 0;  // The limit less what every assignment uses.
  int64_t limit = 0;     // As the problem has it.
  int64_t time = 0;      // One time that the point stands for.
};

struct GraphNode {
  bool alive = true;
  std::vector<int32_t> origin;  // The problem's option behind each option.
  std::vector<int64_t> costs;
  std::vector<PointPiece> pieces;
  std::vector<int32_t> edges;  // May list dead edges.
  int32_t degree = 0;          // Edges alive.

  int32_t options() const { return static_cast<int32_t>(costs.size()); }
};

struct GraphEdge {
  bool alive = true;
  int32_t a = 0;
  int32_t b = 0;
  TableId table = 0;  // Rows: options of a.

  int32_t Other(int32_t node) const { return node == a ? b : a; }
};

class Graph {
 public:
  // Requires: a verified problem.
  explicit Graph(const Problem& problem);

  int32_t node_count() const { return static_cast<int32_t>(nodes_.size()); }
  const GraphNode& node(int32_t v) const { return nodes_[v]; }
  GraphNode& mutable_node(int32_t v) { return nodes_[v]; }
  const GraphEdge& edge(int32_t e) const { return edges_[e]; }
  std::vector<Point>& points() { return points_; }
  const std::vector<Point>& points() const { return points_; }
  // The point (by time) that made the point of this time superfluous; itself
  // when none did.
  int64_t ImpliedBy(int64_t time) const;
  void SetImpliedBy(int64_t time, int64_t by) { implied_by_[time] = by; }
  TableStore& tables() { return tables_; }
  int64_t constant() const { return constant_; }
  // Why there is no assignment; empty as long as there may be one.
  const std::string& infeasible() const { return infeasible_; }
  void SetInfeasible(std::string reason);

  // The edges of v that are alive; forgets the dead ones.
  const std::vector<int32_t>& Edges(int32_t v);
  // The table of `e` with the options of `v` as rows.
  TableId Oriented(int32_t e, int32_t v);
  // -1 when there is none.
  int32_t FindEdge(int32_t u, int32_t v) const;

  // Adds to the edge between u and v, or makes it. `table` has rows of u.
  void AddEdge(int32_t u, int32_t v, TableId table);
  void RemoveEdge(int32_t e);
  void AddCost(int32_t v, int32_t option, int64_t cost);
  // Keeps these options only; there is one at least, in ascending order.
  void KeepOptions(int32_t v, absl::Span<const int32_t> options);
  // Replaces v, which takes option implied[a] whenever u takes a.
  void Fold(int32_t v, int32_t u, absl::Span<const int32_t> implied);
  // Removes v, which has no pieces and at most two neighbours, by trying its
  // options against every choice of those.
  void Eliminate(int32_t v);
  // The pieces of v changed.
  void TouchNode(int32_t v);

  // Work lists: what has changed since it was last taken; -1 when nothing.
  int32_t TakeEdge();
  int32_t TakeNode();

  // `choice`: an option (as of now) of every node alive, by node.
  std::vector<int32_t> Expand(absl::Span<const int32_t> choice) const;
  std::vector<int32_t> AliveNodes() const;

 private:
  // How a removed node follows others. Options are the problem's.
  struct Undo {
    int32_t node = 0;
    int32_t u = -1;
    int32_t w = -1;
    // The options that u and w had then, ascending.
    std::vector<int32_t> u_options, w_options;
    std::vector<int32_t> choice;  // By index of u's option, then of w's.
  };

  void TouchEdge(int32_t e);
  void RemoveNode(int32_t v);
  void BestOptions(int32_t v, absl::Span<const TableId> tables, int64_t row0,
                   int64_t row1, int64_t* cost, int32_t* option) const;
  void EliminateOne(int32_t v, int32_t e);
  void EliminateTwo(int32_t v, int32_t e, int32_t f);

  std::vector<GraphNode> nodes_;
  std::vector<GraphEdge> edges_;
  absl::flat_hash_map<std::pair<int32_t, int32_t>, int32_t> edge_of_;
  std::vector<Point> points_;
  absl::flat_hash_map<int64_t, int64_t> implied_by_;
  TableStore tables_;
  int64_t constant_ = 0;
  std::string infeasible_;
  std::vector<Undo> undo_;
  std::deque<int32_t> edge_work_, node_work_;
  std::vector<char> edge_waits_, node_waits_;
};

}  // namespace meshwright

#endif  // MESHWRIGHT_SOLVE_GRAPH_H_
