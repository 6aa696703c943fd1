// An exchange through shared memory.
//
// What a member sends is one stream: the message for the member after it, for
// the next one, and so on around. In each round it leaves the stream's next
// piece. In front stands what it sends to whom, so that all know where their
// messages lie and how many rounds there will be.
#ifndef MESHWRIGHT_WIRE_SHM_EXCHANGE_H_
#define MESHWRIGHT_WIRE_SHM_EXCHANGE_H_

#include "absl/status/status.h"
#include "absl/types/span.h"
#include "meshwright/wire/group.h"
#include "meshwright/wire/shm_call.h"

namespace meshwright {

// Requires: CheckExchange().ok(). Fails with kInvalidArgument if a member sends
// another size than this one expects.
absl::Status RunShmExchange(absl::Span<const Group::Outgoing> sends,
                            absl::Span<const Group::Incoming> receives,
                            int rank, int size, ShmCall& call);

}  // namespace meshwright

#endif  // MESHWRIGHT_WIRE_SHM_EXCHANGE_H_
