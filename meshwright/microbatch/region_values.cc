#include "meshwright/microbatch/region_values.h"

#include "absl/strings/str_cat.h"
#include "meshwright/hlo/opcode_traits.h"
#include "meshwright/microbatch/region_devices.h"

namespace meshwright {

std::optional<size_t> SplitDimension(const Sharding& state) {
  for (size_t i = 0; i < state.dims.size(); ++i) {
    if (!AxesOf(state.dims[i]).empty()) return i;
  }
  return std::nullopt;
}

std::string Communicated(const Instruction& collective, const Mesh& mesh,
                         OnDevices& value) {
  const Reach reach = ReachOf(collective, mesh);
  const uint32_t met = (reach.axes | reach.differs) & value.rows.Bits();
  if (met != 0) {
    return absl::StrCat("communicates along ", AxisNames(met, mesh),
                        ", over which the batch is split");
  }
  const bool reduces = ReducesAcrossDevices(collective.opcode);
  const uint32_t summed = reach.axes & value.unreduced;
  if (summed != 0 && (!reduces || !reach.is_complete)) {
    return absl::StrCat("moves sums of each device's own rows along ",
                        AxisNames(summed, mesh));
  }
  if (reach.is_complete) value.varies &= ~reach.axes;
  value.varies |= reach.differs;
  if (reduces) value.unreduced &= ~reach.axes;
  return "";
}

}  // namespace meshwright
