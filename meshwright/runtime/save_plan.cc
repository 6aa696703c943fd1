#include "meshwright/runtime/save_plan.h"

#include <algorithm>
#include <map>
#include <utility>

#include "absl/strings/str_cat.h"
#include "meshwright/state/shard_tensor.h"

namespace meshwright {
namespace {

// Files are written in parallel; the share of one device may be several files.
constexpr int64_t kMaxSavedFileBytes = int64_t{256} << 20;

using DeviceKey = std::pair<int32_t, int32_t>;  // Worker and device.

// A region that one device writes.
struct Unit {
  FilePlan::Entry entry;
  SavePlan::Source source;
  int64_t bytes = 0;
  int64_t element_bytes = 0;
};

// Splits a unit into pieces of at most kMaxSavedFileBytes, along major
// dimensions.
void AddPieces(Unit unit, std::vector<Unit>& units) {
  TensorRegion& region = unit.entry.region;
  for (size_t d = 0; d < region.start.size(); ++d) {
    const int64_t size = region.limit[d] - region.start[d];
    if (unit.bytes <= kMaxSavedFileBytes || size == 1) continue;
    const int64_t row = unit.bytes / size;
    const int64_t rows = std::max<int64_t>(1, kMaxSavedFileBytes / row);
    for (int64_t begin = 0; begin < size; begin += rows) {
      Unit piece = unit;
      piece.entry.region.start[d] += begin;
      piece.entry.region.limit[d] =
          region.start[d] + std::min(size, begin + rows);
      piece.source.local_start[d] += begin;
      piece.bytes =
          row * (piece.entry.region.limit[d] - piece.entry.region.start[d]);
      AddPieces(std::move(piece), units);
    }
    return;
  }
  units.push_back(std::move(unit));
}

// The pieces of one shard.
std::vector<Unit> UnitsOf(const StateMap& map, const StateMap::Part& part,
                          const Sharding& sharding, const Mesh& mesh,
                          int64_t device) {
  const TensorInfo& info = map.tensors[part.tensor];
  std::vector<Unit> units;
  for (const ShardBox& box : ShardBoxes(sharding, mesh, device)) {
    Unit unit{
        .source = {.parameter = part.parameter, .local_start = box.local_start},
        .element_bytes = HostBytes(info.type)};
    unit.entry.tensor = part.tensor;
    TensorRegion& region = unit.entry.region;
    region.start = part.start;
    for (size_t d = 0; d < box.start.size(); ++d) {
      region.start[d] += box.start[d];
      region.limit.push_back(region.start[d] + box.size[d]);
    }
    unit.bytes = region.element_count() * unit.element_bytes;
    if (unit.bytes > 0) AddPieces(std::move(unit), units);
  }
  return units;
}

// The units that each device writes.
std::map<DeviceKey, std::vector<Unit>> Assign(const StateMap& map,
                                              const Job& job) {
  struct Waiting {
    Unit unit;
    StageId stage;
    std::vector<int64_t> holders;
  };
  std::vector<Waiting> waiting;
  for (const StateMap::Part& part : map.parts) {
    const StageId stage = job.step.homes[part.parameter];
    const Sharding& sharding =
        job.layout.parameters.at({part.parameter, stage});
    const Mesh& mesh = job.layout.meshes[stage];
    for (const auto& holders : ShardHolders(sharding, mesh)) {
      for (Unit& unit : UnitsOf(map, part, sharding, mesh, holders.front())) {
        waiting.push_back({std::move(unit), stage, holders});
      }
    }
  }
  std::ranges::stable_sort(waiting, std::greater(),
                           [](const Waiting& one) { return one.unit.bytes; });
  std::map<DeviceKey, int64_t> load;
  std::map<DeviceKey, std::vector<Unit>> assigned;
  for (Waiting& one : waiting) {
    const auto key_of = [&](int64_t device) -> DeviceKey {
      const DeviceAt& at = job.devices[one.stage][device];
      return {at.worker, at.device};
    };
    one.unit.source.device = *std::ranges::min_element(
        one.holders, {}, [&](int64_t device) { return load[key_of(device)]; });
    const DeviceKey key = key_of(one.unit.source.device);
    load[key] += one.unit.bytes;
    assigned[key].push_back(std::move(one.unit));
  }
  return assigned;
}

}  // namespace

absl::Status CheckStateMap(const StateMap& map, const Job& job) {
  for (const StateMap::Part& part : map.parts) {
    if (part.parameter < 0 || part.parameter >= std::ssize(job.parameters) ||
        !job.parameters[part.parameter].is_state || part.tensor < 0 ||
        part.tensor >= std::ssize(map.tensors)) {
      return absl::InvalidArgumentError(
          absl::StrCat("parameter ", part.parameter, " is no state"));
    }
    const TensorInfo& info = map.tensors[part.tensor];
    const Shape& shape = job.parameters[part.parameter].shape;
    bool fits = shape.element_type == info.type &&
                part.start.size() == info.dimensions.size() &&
                shape.dimensions.size() == info.dimensions.size();
    for (size_t d = 0; fits && d < part.start.size(); ++d) {
      fits = part.start[d] >= 0 && info.dimensions[d] >= part.start[d] &&
             shape.dimensions[d] <= info.dimensions[d] - part.start[d];
    }
    if (!fits) {
      return absl::InvalidArgumentError(
          absl::StrCat(info.name, ": is ", info.ShapeText(), ", expected ",
                       shape.ToString()));
    }
  }
  return absl::OkStatus();
}

SavePlan PlanSave(const StateMap& map, const Job& job) {
  SavePlan plan;
  for (auto& [key, units] : Assign(map, job)) {
    // Wide elements first, so that all are aligned.
    std::ranges::stable_sort(units, [](const Unit& a, const Unit& b) {
      return std::pair(-a.element_bytes, a.entry.tensor) <
             std::pair(-b.element_bytes, b.entry.tensor);
    });
    int64_t bytes = kMaxSavedFileBytes;  // Size of the last file.
    for (Unit& unit : units) {
      if (bytes + unit.bytes > kMaxSavedFileBytes) {
        plan.files.push_back(
            {.plan = {.name = ShardFileName(std::ssize(plan.files))},
             .worker = key.first});
        bytes = 0;
      }
      bytes += unit.bytes;
      plan.files.back().plan.entries.push_back(std::move(unit.entry));
      plan.files.back().sources.push_back(std::move(unit.source));
    }
  }
  return plan;
}

}  // namespace meshwright
