// Which device sends which elements of one dimension to whom, and how each puts
// together what it needs.
//
//   held    {0,1,2,3} {4,5,6,7}      two devices, eight elements
//   needed  {fill,0,1,2} {3,4,5,6}   shifted by one
//
// One round: device 0 sends element 3 to device 1. Each device joins what came
// (nothing: fill) and its own elements, and takes the first four.
#ifndef MESHWRIGHT_RULES_EXCHANGE_PLAN_H_
#define MESHWRIGHT_RULES_EXCHANGE_PLAN_H_

#include <cstdint>
#include <utility>
#include <vector>

namespace meshwright {

// Instead of a global index. GlobalIndices also says -1 for padding.
inline constexpr int64_t kAnything = -1;  // Held: garbage. Needed: no matter.
inline constexpr int64_t kFilled = -2;    // Needed: the fill value.

// The global index of each local element along a dimension, by device.
using ElementLists = std::vector<std::vector<int64_t>>;

struct ExchangeRound {
  int64_t size = 0;  // Elements sent by every sender.
  std::vector<std::pair<int64_t, int64_t>> pairs;  // Device to device.
  std::vector<int64_t> start;       // First element sent, by device.
  std::vector<bool> receives;       // By device.
  bool non_receivers_fill = false;  // They read the fill value here.
};

// `size` elements from `start` (by device) of the joined elements.
struct ExchangeSegment {
  int64_t size = 0;
  std::vector<int64_t> start;
};

struct ExchangePlan {
  static constexpr int32_t kOwn = -1;

  // All sizes and starts below count blocks of this many elements.
  int64_t unit = 1;
  // Every device gathers all elements of its group first; there are no rounds.
  bool gathers = false;
  // The part of the own (or gathered) elements that is used.
  int64_t own_start = 0;
  int64_t own_size = 0;
  std::vector<ExchangeRound> rounds;
  // What is joined: kOwn or a round; then padded with the fill value.
  std::vector<int32_t> order;
  int64_t pad_low = 0;
  int64_t pad_high = 0;
  // The result, in order, between stretches that are fill on every device.
  std::vector<ExchangeSegment> segments;
  int64_t fill_low = 0;
  int64_t fill_high = 0;
};

// Requires: within a list set all lists have equal lengths; every element that
// a device needs is held by a member of its group.
ExchangePlan PlanExchange(const ElementLists& held, const ElementLists& needed,
                          const std::vector<std::vector<int64_t>>& groups);

}  // namespace meshwright

#endif  // MESHWRIGHT_RULES_EXCHANGE_PLAN_H_
