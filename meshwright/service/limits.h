// Numbers that both ends of a connection agree on.
#ifndef MESHWRIGHT_SERVICE_LIMITS_H_
#define MESHWRIGHT_SERVICE_LIMITS_H_

#include <cstdint>

#include "absl/time/time.h"
#include "meshwright/runtime/part_bytes.h"

namespace meshwright {

// Of the messages and their order. Changes when an older program would
// misunderstand a newer one.
inline constexpr int kProtocol = 1;

// A part (runtime/part_bytes.h) and what is said of it fit in one.
inline constexpr int64_t kMaxMessageBytes = (int64_t{4} << 20) + (64 << 10);
// What may wait in one direction of a connection.
inline constexpr int64_t kMaxQueuedBytes = int64_t{8} << 20;

// What may be on the way in one direction, beside that.
inline constexpr int kWindowBytes = 4 << 20;
// Of an error's text, and of all metadata of a call. Text may grow threefold.
inline constexpr int64_t kMaxErrorBytes = int64_t{8} << 10;
inline constexpr int64_t kMaxMetadataBytes = int64_t{32} << 10;

inline constexpr int64_t kMaxKeyBytes = int64_t{1} << 10;
inline constexpr int64_t kMaxValueBytes = int64_t{1} << 20;

// A host that falls silent is found within the sum of these.
inline constexpr absl::Duration kKeepaliveTime = absl::Seconds(5);
inline constexpr absl::Duration kKeepaliveTimeout = absl::Seconds(10);
// Between attempts to reach a server that is not there yet.
inline constexpr absl::Duration kRetryInterval = absl::Milliseconds(200);
// In which the last messages of a closed link are sent.
inline constexpr absl::Duration kCloseTimeout = absl::Seconds(5);

}  // namespace meshwright

#endif  // MESHWRIGHT_SERVICE_LIMITS_H_
