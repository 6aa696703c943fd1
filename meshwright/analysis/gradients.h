// Families of contractions: a forward one, its weight gradient and its input
// gradient, found without hints.
//
//   y  = dot(x, w)          x[m,k] w[k,n] y[m,n]       key; m n kept, k summed
//   dw = dot(x, dy)         m is summed, k and n kept
//   dx = dot(dy, w)         n is summed, m and k kept
//
// The three read x, w and dy in pairs, and what is kept in one is contracted in
// another. So each factor of a gradient is a factor of the key, and a sharding
// of the key's factors gives all three the same shardings of x, w, y and their
// gradients.
#ifndef MESHWRIGHT_ANALYSIS_GRADIENTS_H_
#define MESHWRIGHT_ANALYSIS_GRADIENTS_H_

#include <cstdint>
#include <vector>

#include "meshwright/analysis/dim_labels.h"
#include "meshwright/analysis/origins.h"
#include "meshwright/graph/flat_graph.h"
#include "meshwright/rules/rule.h"

namespace meshwright {

// Whether the op is in a family: a live dot, convolution or variant of these
// with a sharding rule of its own.
bool IsFamilyMember(const FlatOp& op, const Rule& rule);

// An op, and for each of its factors the factor of the key that it is sharded
// with.
struct LabelledOp {
  OpId op;
  FactorLabels labels;

  bool operator==(const LabelledOp&) const = default;
};

// The key comes first; then its gradients, at most one per operand, and
// rematerialisations of any of these. Every contraction is in exactly one
// family; those that can be gradients usually are. In the order of keys. Linear
// time, except for operands that very many contractions share, of which only
// some are considered.
using Family = std::vector<LabelledOp>;
std::vector<Family> FindFamilies(const FlatGraph& graph,
                                 const std::vector<Rule>& rules,
                                 const Origins& origins);

}  // namespace meshwright

#endif  // MESHWRIGHT_ANALYSIS_GRADIENTS_H_
