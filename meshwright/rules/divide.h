// A rule with finer factors, so that strided splits pass.
//
//   tanh f32[1024]: factor 1024; a split of [16:- 64:d] does not fit it
//   divided by that sharding: factors 16 and 64, and 64 is split over d
#ifndef MESHWRIGHT_RULES_DIVIDE_H_
#define MESHWRIGHT_RULES_DIVIDE_H_

#include <cstdint>
#include <optional>

#include "meshwright/mesh/sharding.h"
#include "meshwright/rules/rule.h"

namespace meshwright {

// `rule` with factors of tensor `tensor` (operands first, then results) divided
// where `sharding` splits it in strides. nullopt if there is nothing to divide,
// or a factor may not be or does not divide that way.
std::optional<Rule> Divided(const Rule& rule, int32_t tensor,
                            const Sharding& sharding);

}  // namespace meshwright

#endif  // MESHWRIGHT_RULES_DIVIDE_H_
