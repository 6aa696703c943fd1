// An exchange through shared memory.
//
// What a member sends is one stream: the message for the next member, for the
// one after it, and so on cyclically. In each round it publishes the next piece
// of the stream. The stream begins with a table of what it sends to whom, so
// that all members know where their messages are and how many rounds there will
// be.
#ifndef MESHWRIGHT_WIRE_SHM_EXCHANGE_H_
#define MESHWRIGHT_WIRE_SHM_EXCHANGE_H_

#include "absl/status/status.h"
#include "absl/types/span.h"
#include "meshwright/wire/group.h"
#include "meshwright/wire/shm_call.h"

namespace meshwright {

// Requires: CheckExchange().ok(). kInvalidArgument if a member sends another
// size than this one expects.
absl::Status RunShmExchange(absl::Span<const Group::Outgoing> sends,
                            absl::Span<const Group::Incoming> receives,
                            int rank, int size, ShmCall& call);

}  // namespace meshwright

#endif  // MESHWRIGHT_WIRE_SHM_EXCHANGE_H_
