#include "meshwright/plan/plan.h"

#include <algorithm>
#include <cmath>

#include "meshwright/hlo/print_module.h"
#include "meshwright/mesh/sharding_text.h"

namespace meshwright {

absl::string_view Name(PinKind kind) {
  switch (kind) {
    case PinKind::kParameter:
      return "parameter";
    case PinKind::kOutput:
      return "output";
    case PinKind::kInstruction:
      return "instruction";
  }
  return "";
}

const PlannedLayout& Plan::LayoutOf(int32_t rank) const {
  return layouts[pipeline.has_value() ? pipeline->layout_of_rank[rank] : 0];
}

int64_t Plan::device_count() const {
  int64_t count = 0;
  for (int32_t rank = 0; rank < ranks(); ++rank) {
    count += LayoutOf(rank).mesh.device_count();
  }
  return count;
}

std::vector<int64_t> Plan::FixedBytesOfRanks(
    absl::Span<const int> rank_of_stage) const {
  std::vector<int64_t> fixed(static_cast<size_t>(ranks()), 0);
  std::vector<int64_t> room(fixed.size(), 0);
  for (size_t i = 0; i < rank_of_stage.size(); ++i) {
    const PlannedPipeline::Stage& stage = pipeline->stages[i];
    const auto rank = static_cast<size_t>(rank_of_stage[i]);
    fixed[rank] += stage.fixed_bytes - stage.room_bytes;
    room[rank] = std::max(room[rank], stage.room_bytes);
  }
  for (size_t rank = 0; rank < fixed.size(); ++rank) fixed[rank] += room[rank];
  return fixed;
}

int64_t PlannedPipeline::Stage::NeededBytes() const {
  return memory_times == 1
             ? peak_bytes
             : static_cast<int64_t>(
                   std::ceil(static_cast<double>(peak_bytes) / memory_times));
}

int64_t Plan::NeededBytes() const {
  if (!pipeline.has_value()) return predicted.peak_bytes;
  int64_t needed = 0;
  for (const PlannedPipeline::Stage& stage : pipeline->stages) {
    needed = std::max(needed, stage.NeededBytes());
  }
  return needed;
}

std::vector<int64_t> Plan::MemoryOfRanks() const {
  std::vector<int64_t> memory(static_cast<size_t>(ranks()), memory_bytes);
  for (StageId stage{0}; stage < stages(); ++stage) {
    if (!pipeline.has_value()) break;
    const double times = pipeline->stages[stage].memory_times;
    if (times == 1) continue;
    memory[pipeline->timetable.rank_of_stage[stage]] =
        static_cast<int64_t>(times * static_cast<double>(memory_bytes));
  }
  return memory;
}

std::string Plan::TextOf(const PlannedTensor& tensor) const {
  return ToString(tensor.sharding, layouts[tensor.layout].mesh);
}

uint64_t Fingerprint(const Module& module) {
  // FNV-1a of the text.
  uint64_t hash = 0xCBF29CE484222325;
  for (const char c : ToString(module, {.metadata = false})) {
    hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001B3;
  }
  return hash;
}

}  // namespace meshwright
