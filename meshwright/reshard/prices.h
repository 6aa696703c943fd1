// The price of resharding and of collectives.
//
//   Prices prices;
//   // An all-reduce of 1 MB over 4 devices, 1.5 MB on the wire: 6e-6 s.
//   MovePrice(prices, MoveKind::kAllReduce, axes, 4, 1e6, 1e6);
#ifndef MESHWRIGHT_RESHARD_PRICES_H_
#define MESHWRIGHT_RESHARD_PRICES_H_

#include <array>
#include <cstdint>
#include <optional>
#include <vector>

#include "absl/strings/string_view.h"
#include "meshwright/hlo/opcode.h"

namespace meshwright {

// The kinds of steps that change a tensor's sharding.
enum class MoveKind : uint8_t {
  kSlice,          // Each device keeps its part of a replicated value.
  kReduceScatter,  // Partial values are reduced, each device gets a part.
  kAllReduce,      // Partial values are reduced, all devices get the whole.
  kAllToAll,       // Axes move from one dimension to another.
  kPermute,        // The same tiles on other devices.
  kAllGather,      // A sharded dimension becomes replicated.
  kMakePending,    // Complete values become partial ones.
  kResize,         // Padding of an unsharded dimension is cut or added.
  kRegroup,        // A reshape: the same data seen with other dimensions.
};

// "all-gather"
absl::string_view Name(MoveKind kind);
inline constexpr MoveKind kCollectiveMoves[] = {
    MoveKind::kReduceScatter, MoveKind::kAllReduce, MoveKind::kAllToAll,
    MoveKind::kPermute, MoveKind::kAllGather};
bool IsCollective(MoveKind kind);
// What they are as instructions; kUnknown for moves without communication.
Opcode OpcodeOf(MoveKind kind);
// The kind as which a collective instruction is priced; nullopt for other
// instructions.
std::optional<MoveKind> PricedAs(Opcode opcode);

// The latency of forbidden collectives (forbidden.h): more than any step takes,
// but finite, so that reshard paths are still found and compared.
inline constexpr double kForbiddenSeconds = 1e12;

// A price per collective, and a price per byte that a device sends.
struct CollectivePrice {
  double latency = 1e-6;
  double per_wire_byte = 1 / 300e9;

  auto operator<=>(const CollectivePrice&) const = default;
};

// In seconds, or any other unit; only ratios matter here.
struct Prices {
  CollectivePrice collective;  // Of all collectives, unless `by_axes` is set.
  double per_local_byte = 1 / 3e12;  // Per byte written to device memory.
  double per_flop = 1 / 3e12;        // Of contractions.

  // By the bits of the axes (AxisList::Bits) that a collective spans, and by
  // kind (KindIndex). Empty, or for all sets of axes.
  using ByKind = std::array<CollectivePrice, 5>;
  std::vector<ByKind> by_axes;
  // Set by SetByAxes. By the bits of axes: those of the first set at the same
  // prices.
  std::vector<uint32_t> alike_axes;
  CollectivePrice least_by_axes;

  // A lower bound on all collectives, for each of the two members.
  const CollectivePrice& Least() const {
    return by_axes.empty() ? collective : least_by_axes;
  }
  const CollectivePrice& Of(MoveKind kind, uint32_t axes) const;
  // Sets by_axes and what depends on it.
  void SetByAxes(std::vector<ByKind> table);
};

// The collectives, numbered from 0: reduce-scatter, all-reduce, all-to-all,
// permute, all-gather.
int KindIndex(MoveKind kind);

// Bytes that each of `devices` devices sends if it holds `before` bytes at
// first.
double WireBytes(MoveKind kind, int64_t devices, double before);

// The price of a step along `axes` (as bits; for a permute all axes involved)
// that changes the bytes on each of `devices` devices from `before` to `after`.
double MovePrice(const Prices& prices, MoveKind kind, uint32_t axes,
                 int64_t devices, double before, double after);

}  // namespace meshwright

#endif  // MESHWRIGHT_RESHARD_PRICES_H_
