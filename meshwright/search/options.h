// The ways to split a group of ops over the axes of a mesh.
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

// A strategy, and how its tensors lie.
struct Option {
  Strategy strategy;
  std::vector<ShardingId> operands;
  std::vector<ShardingId> results;
};

// By axis of a mesh the factor that it splits.
using AxisPlaces = std::vector<int32_t>;
inline constexpr int32_t kNowhere = -1;
inline constexpr int32_t kPends = -2;

// Axes of a mesh, each once, major first.
using AxisOrder = std::vector<int32_t>;

// Other orders than the mesh's in which pins have axes split one dimension.
std::vector<AxisOrder> OtherOrders(const GroupPins& pins, const Mesh& mesh);

// Each axis of the mesh, whole, along one factor or none; several along one
// factor in the order of the mesh, or one of `others`. Deterministic; the first
// one is not split at all. Dimensions that do not divide are split where the
// rule allows it and little is wasted. If `may_pend`, an axis may also be one
// along which partial sums come in and go out. With `fixed`, all axes but
// `free` are where it says. An island (rules/island.h) has its own options
// only; none if it has no place on the mesh.
std::vector<Option> OptionsOf(const Rule& rule, const Mesh& mesh,
                              ShardingPool& pool, bool may_pend = false,
                              absl::Span<const AxisOrder> others = {},
                              const AxisPlaces* fixed = nullptr,
                              int32_t free = -1);

// Those that keep `pins`. Besides the above, what the pins ask for: another
// order of axes, parts of axes, more padding. Empty if there are none.
std::vector<Option> PinnedOptions(const Rule& rule, const Mesh& mesh,
                                  ShardingPool& pool, bool may_pend,
                                  absl::Span<const AxisOrder> others,
                                  absl::Span<const GroupPin> pins);

// Whether an option keeps a pin.
bool Keeps(const Option& option, const GroupPin& pin, const ShardingPool& pool);

// Bytes on a device of an array that lies so.
double LocalBytes(const Shape& shape, const Sharding& sharding,
                  const Mesh& mesh);

}  // namespace meshwright

#endif  // MESHWRIGHT_SEARCH_OPTIONS_H_
