#include "meshwright/cost/virtual_devices.h"

#include <algorithm>

namespace meshwright {
namespace {

// Small kernels find their arrays in caches: so many times the memory's rate,
// up to so many bytes, and not at all from so many bytes on.
constexpr double kCacheGain = 2.5;
constexpr double kCachedBytes = 2e5;
constexpr double kUncachedBytes = 1.5e6;
// Share of the memory rate for elements whose order changes.
constexpr double kStridedShare = 0.45;
// Until the next device of a group has had its turn, on its own core.
constexpr double kMeetSeconds = 2.8e-6;
constexpr int64_t kMostDevices = 1 << 10;

LevelRates SharedMemory(const Cluster& cluster, double turns,
                        double bytes_per_second) {
  LevelRates level;
  const double meet = turns * kMeetSeconds;
  for (const MoveKind kind :
       {MoveKind::kReduceScatter, MoveKind::kAllReduce, MoveKind::kAllToAll,
        MoveKind::kPermute, MoveKind::kAllGather}) {
    for (int64_t devices = 2; devices <= kMostDevices; devices *= 2) {
      const double n = static_cast<double>(devices);
      // In a permute, every device waits for some other one.
      const double meeting = kind == MoveKind::kPermute
                                 ? static_cast<double>(cluster.device_count())
                                 : n;
      level.kinds[KindIndex(kind)].push_back(
          {.devices = devices,
           .latency = meet * meeting,
           .per_byte = TouchedForSent(kind, n) / bytes_per_second});
    }
  }
  return level;
}

}  // namespace

double TouchedForSent(MoveKind kind, double devices) {
  const double others = devices - 1;
  switch (kind) {
    case MoveKind::kReduceScatter:
      // Every part is read, and its sum written.
      return (devices + 1) / others;
    case MoveKind::kAllReduce:
      // As a reduce-scatter, and then the sums of the others are copied.
      return (3 * devices - 1) / (2 * others);
    case MoveKind::kAllGather:
    case MoveKind::kAllToAll:
      return 2 * devices / others;
    default:
      return 2;
  }
}

void AssumeVirtualDevices(const Cluster& cluster, double turns, Rates& rates) {
  const double bandwidth = rates.memory.Last();
  rates.memory.points = {{kCachedBytes, kCacheGain * bandwidth},
                         {kUncachedBytes, bandwidth}};
  rates.strided_share.value = kStridedShare;
  rates.levels[0] = SharedMemory(cluster, turns, bandwidth);
}

}  // namespace meshwright
