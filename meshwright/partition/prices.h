// What moving a tensor costs.
//
//   Prices prices;  // An all-reduce of 1 MB over 4 devices, 1.5 MB on the
//   wire: MovePrice(prices, MoveKind::kAllReduce, 4, 1e6, 1e6);  //
//   6e-6 s
#ifndef MESHWRIGHT_PARTITION_PRICES_H_
#define MESHWRIGHT_PARTITION_PRICES_H_

#include <cstdint>

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
bool IsCollective(MoveKind kind);

// In seconds, or any other unit. Only ratios matter here.
struct Prices {
  double latency = 1e-6;             // Of each collective.
  double per_wire_byte = 1 / 300e9;  // Sent by a device.
  double per_local_byte = 1 / 3e12;  // Written in its memory.
  double per_flop = 1 / 3e12;        // Of contractions.
};

// Bytes that each of `devices` devices sends when it holds `before` bytes.
double WireBytes(MoveKind kind, int64_t devices, double before);

// For a move that leaves `after` of `before` bytes on each device.
double MovePrice(const Prices& prices, MoveKind kind, int64_t devices,
                 double before, double after);

}  // namespace meshwright

#endif  // MESHWRIGHT_PARTITION_PRICES_H_
