#include "meshwright/runtime/state_messages.h"

#include <optional>

#include "absl/strings/str_cat.h"
#include "meshwright/base/status_macros.h"

namespace meshwright {

proto::StateTensors ToProto(const StateMap& map) {
  proto::StateTensors state;
  for (const TensorInfo& info : map.tensors) {
    proto::StateTensors::Tensor& tensor = *state.add_tensors();
    tensor.set_name(info.name);
    tensor.set_type(static_cast<int32_t>(info.type));
    tensor.mutable_dimensions()->Assign(info.dimensions.begin(),
                                        info.dimensions.end());
  }
  for (const StateMap::Part& one : map.parts) {
    proto::StateTensors::Part& part = *state.add_parts();
    part.set_parameter(one.parameter);
    part.set_tensor(one.tensor);
    part.mutable_start()->Assign(one.start.begin(), one.start.end());
  }
  return state;
}

absl::StatusOr<StateMap> ReadStateMap(const proto::StateTensors& state,
                                      const Job& job) {
  StateMap map;
  for (const proto::StateTensors::Tensor& tensor : state.tensors()) {
    const std::optional<ElementType> type =
        ElementTypeFromNumber(tensor.type());
    if (!type.has_value()) {
      return absl::InvalidArgumentError(
          absl::StrCat(tensor.name(), ": has type ", tensor.type()));
    }
    map.tensors.push_back({.name = tensor.name(),
                           .type = *type,
                           .dimensions = {tensor.dimensions().begin(),
                                          tensor.dimensions().end()}});
  }
  for (const proto::StateTensors::Part& part : state.parts()) {
    map.parts.push_back({.parameter = part.parameter(),
                         .tensor = part.tensor(),
                         .start = {part.start().begin(), part.start().end()}});
  }
  MW_RETURN_IF_ERROR(CheckStateMap(map, job));
  return map;
}

proto::SavedFiles::File ToProto(int64_t number, const WrittenFile& file) {
  proto::SavedFiles::File made;
  made.set_number(number);
  made.set_bytes(file.bytes);
  made.set_header_bytes(file.header_bytes);
  made.set_header_crc(file.header_crc);
  for (const std::vector<uint32_t>& crcs : file.crcs) {
    made.add_entries()->mutable_crcs()->Assign(crcs.begin(), crcs.end());
  }
  return made;
}

WrittenFile FromProto(const proto::SavedFiles::File& file) {
  WrittenFile made{.bytes = file.bytes(),
                   .header_bytes = file.header_bytes(),
                   .header_crc = file.header_crc()};
  for (const proto::SavedFiles::Checksums& entry : file.entries()) {
    made.crcs.emplace_back(entry.crcs().begin(), entry.crcs().end());
  }
  return made;
}

}  // namespace meshwright
