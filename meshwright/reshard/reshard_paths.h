// The cheapest reshard paths between two arrangements, for tensors of any size.
//
// The price of a sequence of moves is a latency for each collective plus a
// price per byte. Small tensors need few collectives, large ones few bytes:
// each of a handful of paths is the cheapest for some range of sizes. They are
// found once, and serve all tensors with the same shardings.
#ifndef MESHWRIGHT_RESHARD_RESHARD_PATHS_H_
#define MESHWRIGHT_RESHARD_RESHARD_PATHS_H_

#include <vector>

#include "meshwright/reshard/reshard_moves.h"
#include "meshwright/reshard/reshard_search.h"

namespace meshwright {

struct ReshardPath {
  double latency = 0;
  double per_byte = 0;  // Per byte on a device at the source.
  // Their wire bytes are those for one byte; so are their prices, without
  // latency.
  std::vector<SearchMove> moves;

  double Price(double bytes) const { return latency + per_byte * bytes; }
};

// At least one path. Ignores problem.bytes.
std::vector<ReshardPath> FindReshardPaths(const SearchProblem& problem,
                                          ReshardSearch& search);

// The path with the lowest price; the first of equals.
const ReshardPath& CheapestPath(const std::vector<ReshardPath>& paths,
                                double bytes);

}  // namespace meshwright

#endif  // MESHWRIGHT_RESHARD_RESHARD_PATHS_H_
