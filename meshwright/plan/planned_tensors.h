// The arrays of a step as a plan lists them.
#ifndef MESHWRIGHT_PLAN_PLANNED_TENSORS_H_
#define MESHWRIGHT_PLAN_PLANNED_TENSORS_H_

#include <cstdint>
#include <string>
#include <vector>

#include "meshwright/base/element_type.h"
#include "meshwright/mesh/sharding.h"

namespace meshwright {

struct PlannedTensor {
  std::string name;
  std::vector<int64_t> dimensions;
  ElementType type = ElementType::kF32;
  Sharding sharding;
  // Index into Plan::layouts: that of the devices that have it.
  int32_t layout = 0;

  bool operator==(const PlannedTensor&) const = default;
};

// The arrays of the step between steps, in flat order.
struct PlannedTensors {
  std::vector<PlannedTensor> parameters;
  std::vector<PlannedTensor> outputs;
};

}  // namespace meshwright

#endif  // MESHWRIGHT_PLAN_PLANNED_TENSORS_H_
