// List scheduling of pipelines: an idle rank runs the best of what is ready.
#ifndef MESHWRIGHT_SCHEDULE_LIST_SCHEDULE_H_
#define MESHWRIGHT_SCHEDULE_LIST_SCHEDULE_H_

#include <cstdint>
#include <limits>
#include <optional>
#include <vector>

#include "meshwright/schedule/pipeline.h"
#include "meshwright/schedule/timetable.h"

namespace meshwright {

// The priority rule of an idle rank. Weight gradients come last, since nothing
// waits for them.
struct ListRule {
  enum class Turn : uint8_t {
    kGradients,  // Gradients before forwards.
    kForwards,   // Forwards before gradients, while memory permits.
    kAlternate,  // The kind that the rank did not run last.
  };
  enum class Order : uint8_t {
    kMicroBatch,  // The lowest micro-batch first, then the later stage.
    kBreadth,     // Forwards: the earlier stage first.
    kDepth,       // The stage that is further along its way first.
    kRounds,      // As kBreadth, in rounds of as many micro-batches as ranks.
  };
  // The last so many micro-batches run I and W separately, others B: separate
  // weight gradients are most useful when a rank has nothing else left.
  int split_last = std::numeric_limits<int>::max();
  Turn turn = Turn::kGradients;
  Order forwards = Order::kDepth;
  Order gradients = Order::kMicroBatch;
  // Micro-batches in flight over all stages of a rank, in multiples of its
  // stages times the ranks; 0: limited by memory only.
  double depth = 1;
  // The first rank holds that many, each later one fewer, as in 1f1b.
  bool slanted = false;
  // Weight gradients wait if a value will arrive within this part of their
  // duration.
  double patience = 0.5;

  bool operator==(const ListRule&) const = default;
};

// Keeps what stages hold, and what was received, within `costs.memory_bytes`,
// reserving room for one micro-batch in every later stage of the rank, so that
// the first micro-batch in flight can always continue. nullopt if values that
// wait to be used fill the memory nevertheless.
std::optional<Timetable> ListSchedule(const std::vector<int>& rank_of_stage,
                                      int ranks, int micro_batches,
                                      const PipelineCosts& costs,
                                      const ListRule& rule);

}  // namespace meshwright

#endif  // MESHWRIGHT_SCHEDULE_LIST_SCHEDULE_H_
