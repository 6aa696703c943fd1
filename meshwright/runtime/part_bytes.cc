#include "meshwright/runtime/part_bytes.h"

#include "meshwright/base/status_macros.h"

namespace meshwright {

absl::Status ForEachPart(
    absl::string_view bytes,
    const std::function<absl::Status(int64_t offset, absl::string_view part,
                                     bool last)>& send) {
  int64_t offset = 0;
  do {
    const absl::string_view part = bytes.substr(offset, kPartBytes);
    const auto end = offset + static_cast<int64_t>(part.size());
    MW_RETURN_IF_ERROR(
        send(offset, part, end == static_cast<int64_t>(bytes.size())));
    offset = end;
  } while (offset < static_cast<int64_t>(bytes.size()));
  return absl::OkStatus();
}

}  // namespace meshwright
