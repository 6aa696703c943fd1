// A problem under reduction, with the information to undo it.
//
// Rules remove options, nodes and points such that an optimum of the original
// problem survives. `Expand` turns an assignment of the remaining nodes into
// one of all nodes, whose cost is `constant()` plus that in the graph.
//
//   Graph graph(problem);
//   Reduce(graph);                         // reduce.h
//   graph.Expand(choice);                  // As long as problem.nodes.
//
// Time is reduced to a sequence of *points*, the only times at which a limit
// can be exceeded. At most one edge joins two nodes.
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
  int64_t capacity = 0;  // The limit minus what every assignment uses.
  int64_t limit = 0;     // As in the problem.
  int64_t time = 0;      // One of the times that the point represents.
};

struct GraphNode {
  bool alive = true;
  std::vector<int32_t> origin;  // By option: the problem's option.
  std::vector<int64_t> costs;
  std::vector<PointPiece> pieces;
  std::vector<int32_t> edges;  // May contain dead edges.
  int32_t degree = 0;          // Number of live edges.

  int32_t options() const { return static_cast<int32_t>(costs.size()); }
};

struct GraphEdge {
  bool alive = true;
  int32_t a = 0;
  int32_t b = 0;
  TableId table;  // Rows: options of a.

  int32_t Other(int32_t node) const { return node == a ? b : a; }
};

class Graph {
 public:
  // Requires: `problem` passed Verify.
  explicit Graph(const Problem& problem);

  int32_t node_count() const { return static_cast<int32_t>(nodes_.size()); }
  const GraphNode& node(int32_t v) const { return nodes_[v]; }
  GraphNode& mutable_node(int32_t v) { return nodes_[v]; }
  const GraphEdge& edge(int32_t e) const { return edges_[e]; }
  std::vector<Point>& points() { return points_; }
  const std::vector<Point>& points() const { return points_; }
  // The point (by time) that made the point of this time redundant; itself if
  // none did.
  int64_t ImpliedBy(int64_t time) const;
  void SetImpliedBy(int64_t time, int64_t by) { implied_by_[time] = by; }
  TableStore& tables() { return tables_; }
  int64_t constant() const { return constant_; }
  // Why there is no assignment; empty while there may be one.
  const std::string& infeasible() const { return infeasible_; }
  void SetInfeasible(std::string reason);

  // The live edges of v; removes dead ones from its list.
  const std::vector<int32_t>& Edges(int32_t v);
  // The table of `e` with the options of `v` as rows.
  TableId Oriented(int32_t e, int32_t v);
  // -1 if there is none.
  int32_t FindEdge(int32_t u, int32_t v) const;

  // Adds to the edge between u and v, or creates it. The rows of `table` are
  // options of u.
  void AddEdge(int32_t u, int32_t v, TableId table);
  void RemoveEdge(int32_t e);
  void AddCost(int32_t v, int32_t option, int64_t cost);
  // Keeps only these options (at least one, ascending).
  void KeepOptions(int32_t v, absl::Span<const int32_t> options);
  // Removes v, which takes option implied[a] whenever u takes a.
  void Fold(int32_t v, int32_t u, absl::Span<const int32_t> implied);
  // Removes v, which has no pieces and at most two neighbours, by minimising
  // over its options for every choice of the neighbours (variable elimination).
  void Eliminate(int32_t v);
  // Must be called if the pieces of v changed.
  void TouchNode(int32_t v);

  // Work lists: the next element that changed since it was last taken; -1 if
  // there is none.
  int32_t TakeEdge();
  int32_t TakeNode();

  // `choice`, by node: an option (in present numbering) of every live node.
  std::vector<int32_t> Expand(absl::Span<const int32_t> choice) const;
  std::vector<int32_t> AliveNodes() const;

 private:
  // A neighbour of a removed node.
  struct End {
    int32_t node = 0;
    // The problem's options that it had then; ascending.
    std::vector<int32_t> options;
    TableId table{-1};  // Its rows are those options.
  };
  // How a removed node follows from others: by minimising its costs beside
  // them, which are kept as they were, or by implication. This is evaluated
  // only when asked for, since few expansions are.
  struct Undo {
    int32_t node = 0;
    std::vector<End> ends;
    std::vector<int32_t> implied;  // By option of the one end.
  };
  struct RowOf {
    TableId table;
    int64_t row = 0;
  };

  void TouchEdge(int32_t e);
  void RemoveNode(int32_t v);
  // The best option of v given these rows; ties go to the first.
  int32_t BestOption(int32_t v, absl::Span<const RowOf> rows) const;
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
