#include "meshwright/plan/plan.h"

#include <algorithm>

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
