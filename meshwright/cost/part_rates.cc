#include "meshwright/cost/part_rates.h"

#include <vector>

#include "meshwright/mesh/device_kind.h"

namespace meshwright {
namespace {

DeviceModel SlowestOf(const Cluster& cluster, int64_t first_device,
                      int64_t count) {
  std::vector<DeviceModel> models;
  for (const Host& host : HostsOf(cluster, first_device, count)) {
    models.push_back(cluster.ModelOf(host));
  }
  return LeastOf(models);
}

// As many times as fast, also in how large work must be to be fast.
void Scale(double times, Curve& curve) {
  for (Curve::Point& point : curve.points) {
    point.size *= times;
    point.value *= times;
  }
}

using OfPart = double(const Cluster&, int64_t first_device, int64_t count);

double MeanOfParts(const Cluster& cluster, int64_t parts, OfPart* of_part) {
  if (cluster.models.empty()) return 1;
  const int64_t each = cluster.device_count() / parts;
  double sum = 0;
  for (int64_t part = 0; part < parts; ++part) {
    sum += of_part(cluster, part * each, each);
  }
  return sum / static_cast<double>(parts);
}

}  // namespace

Rates RatesOfPart(const Rates& rates, const Cluster& cluster,
                  int64_t first_device, int64_t count) {
  if (!cluster.IsUneven()) return rates;
  Rates part = rates;
  const DeviceModel device = SlowestOf(cluster, first_device, count);
  const DeviceModel& slowest = cluster.device;
  part.device = device.kind;
  for (auto& [type, curve] : part.matmul) {
    Scale(MatmulFlops(device.tflops, type) / MatmulFlops(slowest.tflops, type),
          curve);
  }
  Scale(device.memory_gbps / slowest.memory_gbps, part.memory);
  const double vector = VectorFlops(device.tflops, ElementType::kF32) /
                        VectorFlops(slowest.tflops, ElementType::kF32);
  part.vector_flops.value *= vector;
  part.transcendentals.value *= vector;
  const double links = LinkSpeedOf(HostsOf(cluster, first_device, count)) /
                       LinkSpeedOf(cluster.hosts);
  for (size_t level = 0; level < part.levels.size(); ++level) {
    if (!cluster.IsNetwork(cluster.levels[level])) continue;
    for (std::vector<CollectiveRate>& kind : part.levels[level].kinds) {
      for (CollectiveRate& rate : kind) rate.per_byte /= links;
    }
  }
  return part;
}

double SpeedOfPart(const Cluster& cluster, int64_t first_device,
                   int64_t count) {
  if (cluster.models.empty()) return 1;
  return SlowestOf(cluster, first_device, count).tflops.bf16 /
         cluster.device.tflops.bf16;
}

double MemoryOfPart(const Cluster& cluster, int64_t first_device,
                    int64_t count) {
  if (cluster.models.empty()) return 1;
  return static_cast<double>(
             SlowestOf(cluster, first_device, count).memory_bytes) /
         static_cast<double>(cluster.device.memory_bytes);
}

double MeanSpeedOfParts(const Cluster& cluster, int64_t parts) {
  return MeanOfParts(cluster, parts, SpeedOfPart);
}

double MeanMemoryOfParts(const Cluster& cluster, int64_t parts) {
  return MeanOfParts(cluster, parts, MemoryOfPart);
}

}  // namespace meshwright
