// Where the elements of values come from, through reshapes, transposes,
// converts and the stacks that scanned loops keep.
//
//   y = dot(x, w); ...; dw = dot(transpose(x), dy)
//   Of(x) == Of(transpose(x)): both contractions read the same elements
//
// In a scan, the backward loop reads x from a stack that the forward loop
// wrote; both are x. Values that are computed twice alike, such as those
// computed again after an optimization barrier, have the same origin.
#ifndef MESHWRIGHT_ANALYSIS_ORIGINS_H_
#define MESHWRIGHT_ANALYSIS_ORIGINS_H_

#include <cstdint>
#include <vector>

#include "meshwright/analysis/dim_labels.h"
#include "meshwright/analysis/op_graph.h"

namespace meshwright {

class Origins {
 public:
  // Linear time. Requires: `graph` outlives this.
  explicit Origins(const OpGraph& graph);

  // Equal for values with the same origin.
  uint64_t Of(int32_t value) const { return numbers_[roots_[value]]; }
  // Equal for values that are equal.
  uint64_t NumberOf(int32_t value) const { return numbers_[value]; }

  // `labels` of `from`, carried to its origin and from there to `to`.
  // Requires: the two have the same origin.
  DimLabels Carry(DimLabels labels, int32_t from, int32_t to) const;

 private:
  void NumberValues();
  void LinkValues();
  int32_t LinkOf(const OpGraph::Op& op) const;
  int32_t CarryLink(const OpGraph::Op& op) const;
  DimLabels Step(const DimLabels& labels, int32_t value, bool up) const;

  const OpGraph& graph_;
  std::vector<uint64_t> numbers_;  // By value, as the following.
  std::vector<int32_t> links_;     // The next value towards the origin, or -1.
  std::vector<int32_t> roots_;
};

}  // namespace meshwright

#endif  // MESHWRIGHT_ANALYSIS_ORIGINS_H_
