// The requirements on the groups of a step, and the options that satisfy them.
//
//   Requirements requirements{
//       .expert = RequirementOf(Expert::kDp, model, mesh),
//       .pins = *PinnedGroups(model, annotations, mesh)};
//   OptionMaker(model, mesh, requirements, pool).For(group);
#ifndef MESHWRIGHT_SEARCH_REQUIREMENTS_H_
#define MESHWRIGHT_SEARCH_REQUIREMENTS_H_

#include <cstdint>
#include <functional>
#include <vector>

#include "meshwright/mesh/mesh.h"
#include "meshwright/mesh/sharding.h"
#include "meshwright/partition/pool.h"
#include "meshwright/search/group_pins.h"
#include "meshwright/search/options.h"
#include "meshwright/search/step_model.h"

namespace meshwright {

// Whether a group's tensor may have this sharding: its first result or, of an
// output, its operand.
using Requirement =
    std::function<bool(GroupId group, const Sharding& sharding)>;

struct Requirements {
  Requirement expert;  // For groups without pins; may be empty.
  GroupPins pins;
  // Pins add options, but do not exclude others.
  bool offers_only = false;
};

// Restricts options to those in which all axes but one are placed as given.
struct OneAxisFree {
  // Any one may be placed otherwise.
  static constexpr int32_t kAnyAxis = -1;

  std::vector<AxisPlaces> places;  // By group.
  int32_t free = 0;
};

class OptionMaker {
 public:
  // All arguments must outlive this.
  OptionMaker(const StepModel& model, const Mesh& mesh,
              const Requirements& requirements, ShardingPool& pool);

  // The options that satisfy the requirements; may be empty. Groups that are
  // pinned, or that `only` leaves without any option, have all their options.
  std::vector<Option> For(GroupId group,
                          const OneAxisFree* only = nullptr) const;

 private:
  std::vector<Option> AsExpert(GroupId group, const OneAxisFree* only) const;
  // Those of the rule, whatever the expert requires.
  std::vector<Option> OfRule(GroupId group, const OneAxisFree* only) const;

  const StepModel& model_;
  const Mesh& mesh_;
  const Requirements& requirements_;
  ShardingPool& pool_;
  const std::vector<AxisOrder> other_orders_;
};

}  // namespace meshwright

#endif  // MESHWRIGHT_SEARCH_REQUIREMENTS_H_
