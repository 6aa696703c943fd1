// The strategies of a group of ops over the axes of a mesh.
#ifndef MESHWRIGHT_SEARCH_OPTIONS_H_
#define MESHWRIGHT_SEARCH_OPTIONS_H_

#include <cstdint>
#include <vector>

#include "absl/types/span.h"
#include "meshwright/mesh/mesh.h"
#include "meshwright/partition/pool.h"
#include "meshwright/rules/rule.h"
#include "meshwright/search/group_pins.h"

namespace meshwright {

// A strategy and the shardings it gives its tensors.
struct Option {
  Strategy strategy;
  std::vector<ShardingId> operands;
  std::vector<ShardingId> results;
};

// By axis of a mesh: the factor that it splits, or one of the constants below.
using AxisPlaces = std::vector<int32_t>;
inline constexpr int32_t kNowhere = -1;
inline constexpr int32_t kPends = -2;

// Where a strategy places each axis: an axis of which it splits only a part
// counts as whole.
AxisPlaces AxisPlacesOf(const Strategy& strategy, const Mesh& mesh);

// Axes of a mesh, each once, major first.
using AxisOrder = std::vector<int32_t>;

// Orders, other than the mesh's own, in which pins let axes split a dimension
// together.
std::vector<AxisOrder> OtherOrders(const GroupPins& pins, const Mesh& mesh);

// All options in which each axis of the mesh, as a whole, splits one factor or
// none, several axes of a factor being in the order of the mesh or one of
// `others`. Deterministic; the first option is not sharded at all. Dimensions
// that the axis does not divide are split (with padding) where the rule allows
// it and little is wasted. If `may_pend`, an axis may also be one over which
// partial sums come in and go out. With `fixed`, all axes but `free` are placed
// as it says. An island (rules/island.h) has only its own options, and none if
// its axes do not fit the mesh.
std::vector<Option> OptionsOf(const Rule& rule, const Mesh& mesh,
                              ShardingPool& pool, bool may_pend = false,
                              absl::Span<const AxisOrder> others = {},
                              const AxisPlaces* fixed = nullptr,
                              int32_t free = -1);

// The options that satisfy `pins`. In addition to those of OptionsOf, they may
// have what the pins ask for: another order of axes, parts of axes, more
// padding. Empty if there are none.
std::vector<Option> PinnedOptions(const Rule& rule, const Mesh& mesh,
                                  ShardingPool& pool, bool may_pend,
                                  absl::Span<const AxisOrder> others,
                                  absl::Span<const GroupPin> pins);

// Whether an option satisfies a pin.
bool Keeps(const Option& option, const GroupPin& pin, const ShardingPool& pool);

// Bytes per device of an array with this sharding.
double LocalBytes(const Shape& shape, const Sharding& sharding,
                  const Mesh& mesh);

}  // namespace meshwright

#endif  // MESHWRIGHT_SEARCH_OPTIONS_H_
