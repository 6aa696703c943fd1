// Plans an exchange: which device sends which elements of one dimension to
// which, and how each assembles what it needs.
//
//   held    {0,1,2,3} {4,5,6,7}      two devices, eight elements
//   needed  {fill,0,1,2} {3,4,5,6}   shifted by one
//
// One round: device 0 sends element 3 to device 1. Each device concatenates
// what it received (if nothing, fill) and its own elements, and takes the first
// four.
#ifndef MESHWRIGHT_RULES_EXCHANGE_PLAN_H_
#define MESHWRIGHT_RULES_EXCHANGE_PLAN_H_

#include <cstdint>
#include <utility>
#include <vector>

namespace meshwright {

// Special values in place of a global index. (GlobalIndices also uses -1 for
// padding.)
// In `held`: garbage. In `needed`: don't care.
inline constexpr int64_t kAnything = -1;
inline constexpr int64_t kFilled = -2;  // In `needed`: the fill value.

// The global index of each local element along a dimension, by device.
using ElementLists = std::vector<std::vector<int64_t>>;

struct ExchangeRound {
  int64_t size = 0;  // Elements sent by every sender.
  std::vector<std::pair<int64_t, int64_t>> pairs;  // Source and target device.
  std::vector<int64_t> start;       // By device: first element to send.
  std::vector<bool> receives;       // By device.
  bool non_receivers_fill = false;  // They use the fill value instead.
};

// `size` elements of the concatenation, from `start` (by device).
struct ExchangeSegment {
  int64_t size = 0;
  std::vector<int64_t> start;
};

struct ExchangePlan {
  static constexpr int32_t kOwn = -1;

  // All sizes and starts below are in blocks of this many elements.
  int64_t unit = 1;
  // Every device all-gathers the elements of its group; there are no rounds.
  bool gathers = false;
  // The range of its own (or the gathered) elements that is used.
  int64_t own_start = 0;
  int64_t own_size = 0;
  std::vector<ExchangeRound> rounds;
  // What is concatenated: kOwn or the number of a round; then padded with the
  // fill value.
  std::vector<int32_t> order;
  int64_t pad_low = 0;
  int64_t pad_high = 0;
  // The result: these segments in order, between ranges of fill that are the
  // same on every device.
  std::vector<ExchangeSegment> segments;
  int64_t fill_low = 0;
  int64_t fill_high = 0;
};

// Requires: all lists of `held` have equal length, and so have those of
// `needed`; every element that a device needs is held by a member of its group.
ExchangePlan PlanExchange(const ElementLists& held, const ElementLists& needed,
                          const std::vector<std::vector<int64_t>>& groups);

}  // namespace meshwright

#endif  // MESHWRIGHT_RULES_EXCHANGE_PLAN_H_
