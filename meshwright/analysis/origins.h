// The origin of the elements of values, through reshapes, transposes, converts
// and the stacked residuals of scans.
//
//   y = dot(x, w); ...; dw = dot(transpose(x), dy)
//   Of(x) == Of(transpose(x)): both contractions read the same elements
//
// In a scan, the reverse scan reads x from an array that the forward scan
// wrote; both are x. Values that are computed twice, such as rematerialised
// ones behind an optimization barrier, have the same origin.
#ifndef MESHWRIGHT_ANALYSIS_ORIGINS_H_
#define MESHWRIGHT_ANALYSIS_ORIGINS_H_

#include <cstdint>
#include <vector>

#include "meshwright/analysis/dim_labels.h"
#include "meshwright/graph/flat_graph.h"
#include "meshwright/rules/rule.h"

namespace meshwright {

class Origins {
 public:
  // Linear time. Requires: `rules` are by op of `graph`; both outlive this.
  Origins(const FlatGraph& graph, const std::vector<Rule>& rules);

  // Equal for values with the same origin.
  uint64_t Of(ValueId value) const { return numbers_[roots_[value]]; }
  // Equal for values that are equal.
  uint64_t NumberOf(ValueId value) const { return numbers_[value]; }

  // The labels of `from`, propagated to its origin and from there to `to`.
  // Requires: the two have the same origin.
  DimLabels Carry(DimLabels labels, ValueId from, ValueId to) const;

 private:
  void NumberValues();
  void LinkValues();
  ValueId LinkOf(const FlatOp& op) const;
  ValueId CarryLink(const FlatOp& op) const;
  DimLabels Step(const DimLabels& labels, ValueId value, bool up) const;

  const FlatGraph& graph_;
  const std::vector<Rule>& rules_;
  std::vector<uint64_t> numbers_;  // By value, as the following.
  std::vector<ValueId> links_;     // The next value towards the origin, or -1.
  std::vector<ValueId> roots_;
};

}  // namespace meshwright

#endif  // MESHWRIGHT_ANALYSIS_ORIGINS_H_
