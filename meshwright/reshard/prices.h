// What moving a tensor costs.
//
//   Prices prices;
//   // An all-reduce of 1 MB over 4 devices, 1.5 MB on the wire: 6e-6 s.
//   MovePrice(prices, MoveKind::kAllReduce, axes, 4, 1e6, 1e6);
#ifndef MESHWRIGHT_RESHARD_PRICES_H_
#define MESHWRIGHT_RESHARD_PRICES_H_

#include <array>
#include <cstdint>
#include <vector>

#include "absl/strings/string_view.h"

namespace meshwright {

// Ways to change how a tensor lies on a mesh.
enum class MoveKind : uint8_t {
  kSlice,          // Each device keeps its part of what all had.
  kReduceScatter,  // Partial values are combined, each device gets a part.
  kAllReduce,      // Partial values are combined, all devices get the whole.
  kAllToAll,       // A split leaves one dimension for another.
  kPermute,        // The same tiles on other devices.
  kAllGather,      // A split is undone.
  kMakePending,    // Complete values become partial ones.
  kResize,         // Padding of an unsplit dimension is cut or added.
  kRegroup,        // Only seen with other dimensions: a reshape.
};

// "all-gather"
absl::string_view Name(MoveKind kind);
inline constexpr MoveKind kCollectiveMoves[] = {
    MoveKind::kReduceScatter, MoveKind::kAllReduce, MoveKind::kAllToAll,
    MoveKind::kPermute, MoveKind::kAllGather};
bool IsCollective(MoveKind kind);
// The collective of this name.
MoveKind CollectiveNamed(absl::string_view name);

// What must not be has this latency (forbidden.h): more than any step takes,
// but finite, so that ways are still found and compared.
inline constexpr double kForbiddenSeconds = 1e12;

// Of a collective: so much for each, and so much for each byte a device sends.
struct CollectivePrice {
  double latency = 1e-6;
  double per_wire_byte = 1 / 300e9;
};

// In seconds, or any other unit. Only ratios matter here.
struct Prices {
  CollectivePrice collective;        // All of them, unless `by_axes` tells.
  double per_local_byte = 1 / 3e12;  // Written in a device's memory.
  double per_flop = 1 / 3e12;        // Of contractions.

  // By the bits of the axes (AxisList::Bits) that a collective runs along, and
  // by kind (KindIndex). Empty, or all of them.
  using ByKind = std::array<CollectivePrice, 5>;
  std::vector<ByKind> by_axes;
  CollectivePrice least_by_axes;  // SetByAxes sees to it.

  // No collective has less, in either part.
  const CollectivePrice& Least() const {
    return by_axes.empty() ? collective : least_by_axes;
  }
  const CollectivePrice& Of(MoveKind kind, uint32_t axes) const;
  // Takes `table` for by_axes.
  void SetByAxes(std::vector<ByKind> table);
};

// Collectives count from 0: reduce-scatter, all-reduce, all-to-all, permute,
// all-gather.
int KindIndex(MoveKind kind);

// Bytes that each of `devices` devices sends when it holds `before` bytes.
double WireBytes(MoveKind kind, int64_t devices, double before);

// For a move along `axes` (as bits; all that are involved, for a permute) that
// leaves `after` of `before` bytes on each of `devices` devices.
double MovePrice(const Prices& prices, MoveKind kind, uint32_t axes,
                 int64_t devices, double before, double after);

}  // namespace meshwright

#endif  // MESHWRIGHT_RESHARD_PRICES_H_
