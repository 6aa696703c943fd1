// Splits large data into messages of bounded size.
#ifndef MESHWRIGHT_RUNTIME_PART_BYTES_H_
#define MESHWRIGHT_RUNTIME_PART_BYTES_H_

#include <cstdint>
#include <functional>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"

namespace meshwright {

inline constexpr int64_t kPartBytes = int64_t{2} << 20;

// Calls `send` with one part after another until it fails; with a single empty
// part if there are no bytes.
absl::Status ForEachPart(
    absl::string_view bytes,
    const std::function<absl::Status(int64_t offset, absl::string_view part,
                                     bool last)>& send);

}  // namespace meshwright

#endif  // MESHWRIGHT_RUNTIME_PART_BYTES_H_
