// Rules with finer factors, for strided shardings.
//
//   tanh f32[1024]: factor 1024, which the sharding [16:- 64:d] does not fit;
//   divided by that sharding: factors 16 and 64, and 64 is split over d
#ifndef MESHWRIGHT_RULES_DIVIDE_H_
#define MESHWRIGHT_RULES_DIVIDE_H_

#include <cstdint>
#include <optional>

#include "meshwright/mesh/sharding.h"
#include "meshwright/rules/rule.h"

namespace meshwright {

// `rule` with the factors of tensor `tensor` (operands first, then results)
// divided where `sharding` is strided. nullopt if there is nothing to divide,
// or a factor may not be divided or does not divide that way.
std::optional<Rule> Divided(const Rule& rule, int32_t tensor,
                            const Sharding& sharding);

}  // namespace meshwright

#endif  // MESHWRIGHT_RULES_DIVIDE_H_
