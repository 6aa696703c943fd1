#include "meshwright/pipeline/stage_transfer.h"

#include <algorithm>
#include <map>
#include <utility>

namespace meshwright {
namespace {

// Consecutive elements, globally and in a device's array.
struct Run {
  int64_t global = 0;
  int64_t local = 0;
  int64_t size = 0;

  auto operator<=>(const Run&) const = default;
};

using Runs = std::vector<Run>;

Runs RunsOf(const DimSharding& dim, const Mesh& mesh, int64_t device) {
  Runs runs;
  const std::vector<int64_t> indices = GlobalIndices(dim, mesh, device);
  for (int64_t local = 0; local < std::ssize(indices); ++local) {
    const int64_t global = indices[local];
    if (global < 0) continue;  // Padding.
    if (!runs.empty() && runs.back().global + runs.back().size == global &&
        runs.back().local + runs.back().size == local) {
      ++runs.back().size;
    } else {
      runs.push_back({global, local, 1});
    }
  }
  return runs;
}

// A device's part of an array, by dimension.
using DeviceRegion = std::vector<Runs>;

DeviceRegion RegionOf(const Sharding& sharding, const Mesh& mesh,
                      int64_t device) {
  DeviceRegion region;
  for (const DimSharding& dim : sharding.dims) {
    region.push_back(RunsOf(dim, mesh, device));
  }
  return region;
}

// An intersection, with its positions in both.
struct Common {
  int64_t a = 0;
  int64_t b = 0;
  int64_t size = 0;
};

std::vector<Common> Intersect(const Runs& a, const Runs& b) {
  std::vector<Common> common;
  for (const Run& x : a) {
    for (const Run& y : b) {
      const int64_t begin = std::max(x.global, y.global);
      const int64_t end = std::min(x.global + x.size, y.global + y.size);
      if (begin >= end) continue;
      common.push_back({.a = x.local + begin - x.global,
                        .b = y.local + begin - y.global,
                        .size = end - begin});
    }
  }
  return common;
}

// Adds the boxes that two devices have in common.
void AddTiles(const DeviceRegion& from, const DeviceRegion& to, Tile tile,
              std::vector<Tile>& tiles) {
  const size_t dim = tile.sizes.size();
  if (dim == from.size()) {
    tiles.push_back(std::move(tile));
    return;
  }
  for (const Common& common : Intersect(from[dim], to[dim])) {
    Tile next = tile;
    next.from_start.push_back(common.a);
    next.to_start.push_back(common.b);
    next.sizes.push_back(common.size);
    AddTiles(from, to, std::move(next), tiles);
  }
}

// Devices by their regions.
std::map<DeviceRegion, std::vector<int64_t>> Copies(const Sharding& sharding,
                                                    const Mesh& mesh) {
  std::map<DeviceRegion, std::vector<int64_t>> copies;
  for (int64_t device = 0; device < mesh.device_count(); ++device) {
    copies[RegionOf(sharding, mesh, device)].push_back(device);
  }
  return copies;
}

// Below this many elements another hop costs more than sending them twice.
constexpr int64_t kFewElements = 16384;

int64_t Length(const Runs& runs) {
  int64_t size = 0;
  for (const Run& run : runs) size += run.size;
  return size;
}

int64_t ElementCount(const DeviceRegion& region) {
  int64_t count = 1;
  for (const Runs& runs : region) count *= Length(runs);
  return count;
}

// Divides `region` along its longest dimension into `count` about equal parts.
std::vector<DeviceRegion> Parts(const DeviceRegion& region, int64_t count) {
  const auto longest = std::ranges::max_element(region, {}, &Length);
  const int64_t total = Length(*longest);
  std::vector<DeviceRegion> parts;
  for (int64_t part = 0; part < count; ++part) {
    const int64_t begin = total * part / count;
    const int64_t end = total * (part + 1) / count;
    if (begin == end) continue;
    Runs cut;
    int64_t position = 0;
    for (const Run& run : *longest) {
      const int64_t first = std::max(begin, position);
      const int64_t last = std::min(end, position + run.size);
      if (first < last) {
        cut.push_back({run.global + first - position,
                       run.local + first - position, last - first});
      }
      position += run.size;
    }
    parts.push_back(region);
    parts.back()[longest - region.begin()] = std::move(cut);
  }
  return parts;
}

}  // namespace

SendList MakeSendList(const Sharding& from, const Mesh& source,
                      const Sharding& to, const Mesh& target) {
  const auto sources = Copies(from, source);
  SendList list;
  const auto send = [&](const DeviceRegion& region, int64_t receiver) {
    for (const auto& [held, holders] : sources) {
      const Tile tile{.from = holders[receiver % std::ssize(holders)],
                      .to = receiver};
      AddTiles(held, region, tile, list.sent);
    }
  };
  for (const auto& [region, devices] : Copies(to, target)) {
    if (devices.size() == 1 || ElementCount(region) <= kFewElements) {
      for (const int64_t receiver : devices) send(region, receiver);
      continue;
    }
    // Each device gets a part and passes it on to the others.
    const std::vector<DeviceRegion> parts = Parts(region, std::ssize(devices));
    for (size_t part = 0; part < parts.size(); ++part) {
      send(parts[part], devices[part]);
      for (const int64_t other : devices) {
        if (other == devices[part]) continue;
        AddTiles(parts[part], region, {.from = devices[part], .to = other},
                 list.shared);
      }
    }
  }
  std::ranges::stable_sort(list.sent, {}, &Tile::to);
  std::ranges::stable_sort(list.shared, {}, &Tile::to);
  const std::vector<int64_t> source_size = LocalDimensions(from, source);
  const std::vector<int64_t> target_size = LocalDimensions(to, target);
  list.is_plain = list.shared.empty() && source_size == target_size &&
                  std::ssize(list.sent) == target.device_count() &&
                  std::ranges::all_of(list.sent, [&](const Tile& tile) {
                    return tile.sizes == target_size;
                  });
  return list;
}

}  // namespace meshwright
