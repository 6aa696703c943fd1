// What the devices and links of a cluster achieve in practice, and how that is
// known.
//
//   Rates rates = AssumedRates(cluster);                  // Eight h200.
//   rates.Matmul(ElementType::kBF16).At(1e12);            // 7e14 a second
//   rates.memory.At(1e9);                                 // 4.1e12 bytes/s
//   rates.Of(MoveKind::kAllReduce, /*level=*/0, 8);       // 22 us, 2.6e-12 s/B
//
// Rates are those of one device while all devices of the cluster are busy with
// the same work. Virtual devices share the cores and memory of one machine, so
// that their rates are the machine's divided by the number of devices:
// replicated work then has its true cost.
#ifndef MESHWRIGHT_COST_RATES_H_
#define MESHWRIGHT_COST_RATES_H_

#include <array>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "meshwright/base/element_type.h"
#include "meshwright/mesh/cluster.h"
#include "meshwright/reshard/prices.h"

namespace meshwright {

enum class Origin : uint8_t {
  kAssumed,     // From data sheets and experience.
  kCalibrated,  // Measured once on such devices, with benchmark programs.
  kProfiled,    // Measured on the program in question.
};
absl::string_view Name(Origin origin);  // "assumed"

struct Figure {
  double value = 0;
  Origin origin = Origin::kAssumed;

  bool operator==(const Figure&) const = default;
};

// A figure that depends on size: piecewise linear in logarithms, constant
// beyond the ends.
//   {{1e6, 1e9}, {1e8, 4e9}}: At(1e7) is 2e9
struct Curve {
  struct Point {
    double size = 0;
    double value = 0;
    bool operator==(const Point&) const = default;
  };
  std::vector<Point> points;  // Sizes ascend; all positive.
  Origin origin = Origin::kAssumed;

  double At(double size) const;  // 0 without points.
  double Last() const { return points.empty() ? 0 : points.back().value; }
  bool operator==(const Curve&) const = default;
};

// A collective between `devices` that are connected by one link level.
struct CollectiveRate {
  int64_t devices = 2;
  double latency = 0;   // Seconds, for however few bytes.
  double per_byte = 0;  // Seconds per byte that leaves through a port.

  bool operator==(const CollectiveRate&) const = default;
};

// For one link level: by kind (KindIndex), group sizes ascending.
struct LevelRates {
  std::array<std::vector<CollectiveRate>, 5> kinds;
  Origin origin = Origin::kAssumed;

  bool operator==(const LevelRates&) const = default;
};

struct Rates {
  std::string device;  // What they are of: "h200", "8 x cpu on 2 cores".
  // FLOP/s, by the FLOPs of one contraction.
  std::map<ElementType, Curve> matmul;
  // Whether the contractions of a batch run concurrently: 1 if all do, 0 if
  // each is only as fast as on its own.
  Figure batch_together;
  // The share that contractions reach if rows of their arrays do not begin at
  // multiples of 16 bytes, as with a vocabulary of 50257.
  Figure unaligned_share = {1};
  // Convolutions: the share they reach of a contraction of their size.
  Figure convolution_share = {1};
  // Seconds that each launch of a convolution takes longer than other kernels.
  Figure convolution_seconds;
  // Seconds per element that a convolution gathers from its windows before it
  // contracts them (convolution_windows.h), by the number of contiguous
  // elements. Without points this is part of the contraction.
  Curve window_elements;
  // The factor by which that takes longer if windows have gaps.
  Figure window_gaps = {1};
  // Bytes per second, by the bytes that one kernel reads and writes.
  Curve memory;
  // The share of it if elements are permuted: transposes, gathers.
  Figure strided_share = {1};
  // Seconds in which a sum over columns reads or writes 32 rows of one array.
  Figure column_step_seconds;
  // Outside of contractions: additions and the like, and exp, tanh, ..., per
  // second.
  Figure vector_flops;
  Figure transcendentals;
  // Seconds from the start of one small kernel to that of the next.
  Figure op_seconds;
  // Host time to launch a kernel by itself, a graph (command buffer) of
  // several, but for its kernels, and a library convolution, which cannot be in
  // a graph. Kernels that are shorter wait for the host. 0 if devices start
  // their kernels themselves.
  Figure launch_seconds;
  Figure graph_seconds;
  Figure library_seconds;
  // Seconds of a step for each input or output array.
  Figure argument_seconds;
  // The share of a collective that can overlap with computation.
  Figure overlap;
  // What each further array of one collective adds, in latencies: 0 if all are
  // sent together, 1 if devices synchronise for each.
  Figure further_array;
  std::vector<LevelRates> levels;  // As Cluster::levels.

  // For types without a curve of their own, that of the type in which they are
  // computed.
  const Curve& Matmul(ElementType type) const;
  // Between known group sizes, linear in the logarithm of `devices`; beyond
  // them the latency is extrapolated and the rest is constant. Requires:
  // `level` is one of `levels`.
  CollectiveRate Of(MoveKind kind, int32_t level, int64_t devices) const;

  std::string ToString() const;  // A few lines, each with its origin.
  bool operator==(const Rates&) const = default;
};

// Contractions reach up to 85 % of an accelerator's peak, less if they take
// under 100 us; memory 85 %; small kernels start 1 us apart; links 85 % of
// their rate; the latency of a collective is its link's latency times the
// logarithm of the group. See assumed_rates.cc. Requires: Check(cluster).
Rates AssumedRates(const Cluster& cluster);

// Round trip. kInvalidArgument in one line.
std::string ToJson(const Rates& rates);
absl::StatusOr<Rates> ParseRates(absl::string_view json);

}  // namespace meshwright

#endif  // MESHWRIGHT_COST_RATES_H_
