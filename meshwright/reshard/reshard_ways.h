// The cheapest ways between two placements, for tensors of any size.
//
// A sequence of moves costs a latency for each collective and so much for each
// byte. A small tensor wants few collectives, a large one few bytes: of a
// handful of ways each is the best for some sizes. They are found once and
// serve all tensors that are split alike.
#ifndef MESHWRIGHT_RESHARD_RESHARD_WAYS_H_
#define MESHWRIGHT_RESHARD_RESHARD_WAYS_H_

#include <vector>

#include "meshwright/reshard/reshard_moves.h"
#include "meshwright/reshard/reshard_search.h"

namespace meshwright {

struct ReshardWay {
  double latency = 0;
  double per_byte = 0;  // On a device at the start.
  // Their wire bytes for one byte; so are their prices, without latency.
  std::vector<SearchMove> moves;

  double Price(double bytes) const { return latency + per_byte * bytes; }
};

// At least one. Ignores problem.bytes.
std::vector<ReshardWay> FindWays(const SearchProblem& problem,
                                 ReshardSearch& search);

// The one with the lowest price; of equals the first.
const ReshardWay& CheapestWay(const std::vector<ReshardWay>& ways,
                              double bytes);

}  // namespace meshwright

#endif  // MESHWRIGHT_RESHARD_RESHARD_WAYS_H_
