// Timetables from durations: an idle rank takes the best of what is ready.
#ifndef MESHWRIGHT_SCHEDULE_LIST_SCHEDULE_H_
#define MESHWRIGHT_SCHEDULE_LIST_SCHEDULE_H_

#include <cstdint>
#include <limits>
#include <optional>
#include <vector>

#include "meshwright/schedule/pipeline.h"
#include "meshwright/schedule/timetable.h"

namespace meshwright {

// How an idle rank chooses. Weight gradients come last: nobody waits for them.
struct ListRule {
  enum class Turn : uint8_t {
    kGradients,  // Before forwards.
    kForwards,   // Before gradients, while there is room.
    kAlternate,  // Whichever the rank did not do last.
  };
  enum class Order : uint8_t {
    kMicroBatch,  // The lowest micro-batch first, then the further stage.
    kBreadth,     // Forwards: the earlier stage first.
    kDepth,       // The stage that is further on its way first.
    kRounds,      // As kBreadth in rounds of as many micro-batches as ranks.
  };
  // The last that many micro-batches run I and W, the others B: weight
  // gradients are most useful when a rank has nothing else left.
  int split_last = std::numeric_limits<int>::max();
  Turn turn = Turn::kGradients;
  Order forwards = Order::kDepth;
  Order gradients = Order::kMicroBatch;
  // Micro-batches held over all stages of a rank, in multiples of its stages
  // times the ranks; 0 for no bound but memory.
  double depth = 1;
  // The first rank holds that many, each later one less, as in 1f1b.
  bool slanted = false;
  // Weight gradients wait when a value will come within this part of their
  // duration.
  double patience = 0.5;

  bool operator==(const ListRule&) const = default;
};

// Keeps what stages hold, and what was received, within `costs.memory_bytes`,
// leaving room for one micro-batch in every later stage of the rank: then the
// foremost micro-batch can always go on. Nothing when values that wait to be
// used fill the memory all the same.
std::optional<Timetable> ListSchedule(const std::vector<int>& rank_of_stage,
                                      int ranks, int micro_batches,
                                      const PipelineCosts& costs,
                                      const ListRule& rule);

}  // namespace meshwright

#endif  // MESHWRIGHT_SCHEDULE_LIST_SCHEDULE_H_
