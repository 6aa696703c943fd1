// The times at which a usage limit can be exceeded.
#ifndef MESHWRIGHT_SOLVE_POINTS_H_
#define MESHWRIGHT_SOLVE_POINTS_H_

#include <vector>

#include "meshwright/solve/graph.h"
#include "meshwright/solve/problem.h"

namespace meshwright {

struct ProblemPoints {
  std::vector<Point> points;                    // Ordered by time.
  std::vector<std::vector<PointPiece>> pieces;  // By node.
};

// One point per maximal set of pieces that are active together under a limit.
ProblemPoints FindPoints(const Problem& problem);

// The same usage in pieces that are disjoint, ordered, and different from their
// neighbours.
std::vector<PointPiece> DisjointPieces(const std::vector<PointPiece>& pieces,
                                       int32_t options);

// Brings the pieces of every node into disjoint, ordered form; subtracts what
// all options use from the capacities; forbids options that fit nowhere; drops
// points that cannot be exceeded or are implied by a neighbour. True if
// anything became smaller. May set `infeasible`.
bool ReducePoints(Graph& graph);

}  // namespace meshwright

#endif  // MESHWRIGHT_SOLVE_POINTS_H_
