// The core: what the reductions leave, in a layout for searching. Flat arrays,
// edge tables in both orientations, costs as integers and as doubles.
#ifndef MESHWRIGHT_SOLVE_CORE_H_
#define MESHWRIGHT_SOLVE_CORE_H_

#include <cstdint>
#include <vector>

#include "absl/types/span.h"
#include "meshwright/solve/graph.h"

namespace meshwright {

// Costs from here on count as forbidden in a core: doubles represent all
// smaller integers exactly.
inline constexpr int64_t kCoreInfinity = 4'000'000'000'000'000;

// An edge as seen from one of its ends.
struct CoreLink {
  int32_t other = 0;    // The node at the other end.
  int32_t reverse = 0;  // The link in the other direction.
  int64_t cells = 0;    // Offset of its table: a row per option of this end.
  int64_t slot = 0;     // Offset of this end's options among all link options.
};

struct CorePiece {
  int32_t first = 0;  // Points.
  int32_t last = 0;
  int64_t usage = 0;  // Offset of its usages, by option.
};

struct Core {
  int32_t nodes = 0;
  std::vector<int32_t> graph_node;    // By node.
  std::vector<int32_t> first_option;  // By node, plus the end.
  std::vector<int64_t> costs;         // By option of all nodes.
  std::vector<int32_t> origin;  // The problem's option, by option of all nodes.
  std::vector<int32_t> first_link;  // By node, plus the end.
  std::vector<CoreLink> links;      // Of a node in ascending order of `other`.
  std::vector<int64_t> cells;
  std::vector<double> double_cells;
  std::vector<int32_t> first_piece;  // By node, plus the end.
  std::vector<CorePiece> pieces;     // Of a node disjoint and ordered.
  std::vector<int64_t> usage;
  std::vector<int64_t> capacity;    // By point.
  std::vector<int64_t> point_time;  // By point.
  int64_t largest_cost = 0;         // Among costs and cells.
  int64_t constant = 0;             // Cost of what the reductions removed.
  int64_t link_options = 0;         // Slots of all links together.
  int64_t work_per_pass = 0;        // Cells touched in a pass over all edges.

  int32_t points() const { return static_cast<int32_t>(capacity.size()); }
  int32_t options(int32_t v) const {
    return first_option[v + 1] - first_option[v];
  }
  absl::Span<const CoreLink> Links(int32_t v) const {
    return absl::MakeConstSpan(links).subspan(
        first_link[v], first_link[v + 1] - first_link[v]);
  }
  absl::Span<const CorePiece> Pieces(int32_t v) const {
    return absl::MakeConstSpan(pieces).subspan(
        first_piece[v], first_piece[v + 1] - first_piece[v]);
  }
  // The cells of `link`, which belongs to v, for option a of v.
  const int64_t* Row(const CoreLink& link, int32_t a) const {
    return &cells[link.cells + int64_t{a} * options(link.other)];
  }
  const double* DoubleRow(const CoreLink& link, int32_t a) const {
    return &double_cells[link.cells + int64_t{a} * options(link.other)];
  }
};

Core BuildCore(Graph& graph);

// Lowers costs above `most` to `most`, since no better assignment can have
// them.
void ClampCosts(Core& core, int64_t most);

// The core's choice that corresponds to a problem's assignment; option 0 if the
// chosen option was removed.
std::vector<int32_t> ChoiceInCore(const Core& core,
                                  absl::Span<const int32_t> assignment);

// The core as a problem of its own, with the same nodes, options and points.
Problem ProblemOfCore(const Core& core);

// The problem's assignment that corresponds to one of the core.
std::vector<int32_t> ExpandCore(const Graph& graph, const Core& core,
                                absl::Span<const int32_t> choice);

}  // namespace meshwright

#endif  // MESHWRIGHT_SOLVE_CORE_H_
