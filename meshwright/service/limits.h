// Constants that both ends of a connection share.
#ifndef MESHWRIGHT_SERVICE_LIMITS_H_
#define MESHWRIGHT_SERVICE_LIMITS_H_

#include <cstdint>

#include "absl/time/time.h"
#include "meshwright/runtime/part_bytes.h"

namespace meshwright {

// The version of the messages and their order. Changes when an older program
// would misunderstand a newer one.
inline constexpr int kProtocol = 1;

// Fits a part (runtime/part_bytes.h) with its description.
inline constexpr int64_t kMaxMessageBytes = (int64_t{4} << 20) + (64 << 10);
// Queued in one direction of a connection.
inline constexpr int64_t kMaxQueuedBytes = int64_t{8} << 20;

// In flight in one direction, in addition.
inline constexpr int kWindowBytes = 4 << 20;
// Of an error's text, and of all metadata of a call. Text may triple in size
// when encoded.
inline constexpr int64_t kMaxErrorBytes = int64_t{8} << 10;
inline constexpr int64_t kMaxMetadataBytes = int64_t{32} << 10;

inline constexpr int64_t kMaxKeyBytes = int64_t{1} << 10;
inline constexpr int64_t kMaxValueBytes = int64_t{1} << 20;

// A host that falls silent is detected within the sum of these.
inline constexpr absl::Duration kKeepaliveTime = absl::Seconds(5);
inline constexpr absl::Duration kKeepaliveTimeout = absl::Seconds(10);
// Between attempts to reach a server that is not up yet.
inline constexpr absl::Duration kRetryInterval = absl::Milliseconds(200);
// Time in which the last messages of a closed link are sent.
inline constexpr absl::Duration kCloseTimeout = absl::Seconds(5);

}  // namespace meshwright

#endif  // MESHWRIGHT_SERVICE_LIMITS_H_
