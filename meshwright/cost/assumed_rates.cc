// Assumed rates of devices that have not been measured.
#include <cmath>

#include "absl/strings/str_cat.h"
#include "meshwright/cost/rates.h"
#include "meshwright/cost/virtual_devices.h"
#include "meshwright/mesh/device_kind.h"

namespace meshwright {
namespace {

// The share of peak FLOP/s that a contraction reaches, by its duration at peak.
// An accelerator has to fill more than a hundred cores before it is fast; a CPU
// core only has to fill its caches.
struct Efficiency {
  double seconds;
  double share;
};
constexpr Efficiency kAccelerator[] = {{1e-7, 0.03}, {1e-6, 0.2},  {1e-5, 0.55},
                                       {5e-5, 0.8},  {1e-4, 0.84}, {1e-3, 0.8}};
constexpr Efficiency kCore[] = {
    {1e-8, 0.006}, {1e-7, 0.06}, {1e-6, 0.3}, {6e-6, 0.8}, {5e-4, 1}};

constexpr double kMemoryShare = 0.85;
constexpr double kLinkShare = 0.85;
constexpr double kUnalignedShare = 0.35;
constexpr double kConvolutionShare = 0.5;
// Measured on an H200: kernels of a graph, and the host time (rates.h).
constexpr double kKernelSeconds = 1e-6;
constexpr double kConvolutionSeconds = 3e-6;
constexpr double kColumnStepSeconds = 0.05e-6;
constexpr double kLaunchSeconds = 4e-6;
constexpr double kGraphSeconds = 4e-6;
constexpr double kLibrarySeconds = 12e-6;
constexpr double kArgumentSeconds = 1e-6;
// The host time to start a collective is part of the collective's latency.
constexpr double kCollectiveSeconds = 4e-6;
constexpr double kCoreLaunchSeconds = 1.3e-6;
constexpr double kCoreArgumentSeconds = 0.8e-6;
// Share of the peak that elementwise loops reach.
constexpr double kCoreVectorShare = 0.2;
// Time in which a core gathers one element of a window, by the number of
// contiguous elements: fast if they fill its vector registers.
constexpr Curve::Point kCoreWindows[] = {
    {1, 5e-9}, {4, 2e-9}, {16, 1e-9}, {32, 0.3e-9}};
constexpr double kCoreWindowGaps = 1.6;
// Kernels of collectives and of computation compete for an accelerator.
constexpr double kOverlap = 0.8;
// Two points define a line over the logarithm of the size.
constexpr int64_t kGroupSizes[] = {2, 1 << 20};

// `turns`: how many virtual devices share a core. A core has its full rate for
// the one that is running.
Curve MatmulCurve(double peak, bool cpu, double turns) {
  Curve curve;
  const auto add = [&](const Efficiency& point) {
    curve.points.push_back({peak * turns * point.seconds, peak * point.share});
  };
  if (cpu) {
    for (const Efficiency& point : kCore) add(point);
  } else {
    for (const Efficiency& point : kAccelerator) add(point);
  }
  return curve;
}

// `speed`: the available share of the links' bandwidth.
LevelRates LevelOf(const LinkLevel& level, double launch, double speed) {
  LevelRates rates;
  for (const MoveKind kind :
       {MoveKind::kReduceScatter, MoveKind::kAllReduce, MoveKind::kAllToAll,
        MoveKind::kPermute, MoveKind::kAllGather}) {
    // An all-reduce is a tree of reductions and one back; a permute is one
    // message.
    const double rounds = kind == MoveKind::kAllReduce ? 2 : 1;
    for (const int64_t devices : kGroupSizes) {
      const double hops = kind == MoveKind::kPermute
                              ? 1
                              : std::log2(static_cast<double>(devices));
      rates.kinds[KindIndex(kind)].push_back(
          {.devices = devices,
           .latency = launch + rounds * hops * level.LatencySeconds(),
           .per_byte = 1 / (kLinkShare * speed * level.BytesPerSecond())});
    }
  }
  return rates;
}

}  // namespace

Rates AssumedRates(const Cluster& cluster) {
  const bool cpu = cluster.IsCpu();
  // A virtual device runs only for its share of the time.
  const double turns =
      cluster.shared_host && cluster.cores > 0
          ? std::max(1.0, static_cast<double>(cluster.device_count()) /
                              static_cast<double>(cluster.cores))
          : 1;
  const Tflops& tflops = cluster.device.tflops;
  Rates rates;
  rates.device = cluster.shared_host
                     ? absl::StrCat(cluster.device_count(), " x cpu on ",
                                    cluster.cores, " cores")
                     : cluster.device.kind;
  for (const ElementType type :
       {ElementType::kF64, ElementType::kF32, ElementType::kBF16,
        ElementType::kF16, ElementType::kF8E4M3, ElementType::kS8}) {
    rates.matmul[type] = MatmulCurve(MatmulFlops(tflops, type), cpu, turns);
  }
  rates.batch_together.value = cpu ? 0 : 1;
  const double bandwidth = kMemoryShare * cluster.device.memory_gbps * 1e9;
  rates.memory.points = {{bandwidth * kKernelSeconds, bandwidth}};
  rates.strided_share.value = cpu ? 0.2 : 0.5;
  rates.vector_flops.value =
      VectorFlops(tflops, ElementType::kF32) * (cpu ? kCoreVectorShare : 0.5);
  rates.transcendentals.value = rates.vector_flops.value / 8;
  rates.op_seconds.value = cpu ? turns * kCoreLaunchSeconds : kKernelSeconds;
  if (cpu) {
    for (const Curve::Point& point : kCoreWindows) {
      rates.window_elements.points.push_back({point.size, turns * point.value});
    }
    rates.window_gaps.value = kCoreWindowGaps;
  }
  rates.argument_seconds.value =
      cpu ? turns * kCoreArgumentSeconds : kArgumentSeconds;
  if (!cpu) {
    rates.unaligned_share.value = kUnalignedShare;
    rates.convolution_share.value = kConvolutionShare;
    rates.convolution_seconds.value = kConvolutionSeconds;
    rates.column_step_seconds.value = kColumnStepSeconds;
    rates.launch_seconds.value = kLaunchSeconds;
    rates.graph_seconds.value = kGraphSeconds;
    rates.library_seconds.value = kLibrarySeconds;
  }
  rates.overlap.value = cpu ? 0 : kOverlap;
  rates.further_array.value = cpu ? 1 : 0;
  const double link_speed = LinkSpeedOf(cluster.hosts);
  for (const LinkLevel& level : cluster.levels) {
    rates.levels.push_back(
        LevelOf(level, cpu ? rates.op_seconds.value : kCollectiveSeconds,
                cluster.IsNetwork(level) ? link_speed : 1));
  }
  if (cluster.shared_host) AssumeVirtualDevices(cluster, turns, rates);
  return rates;
}

}  // namespace meshwright
