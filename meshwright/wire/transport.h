// Messages between workers, identified by numbers (slots) known to both sides.
//
//   auto sent = transport->Send(1, slot, bytes);        // On worker 0.
//   auto received = transport->Receive(0, slot, into);  // On worker 1.
//   MW_RETURN_IF_ERROR(received->Await());
//
// Messages in one slot arrive in the order in which they were sent. Both sides
// must use the same size. Only Await() blocks.
#ifndef MESHWRIGHT_WIRE_TRANSPORT_H_
#define MESHWRIGHT_WIRE_TRANSPORT_H_

#include <cstddef>
#include <cstdint>
#include <memory>

#include "absl/status/status.h"
#include "absl/types/span.h"
#include "meshwright/wire/health.h"
#include "meshwright/wire/wire.h"

namespace meshwright {

// A message in transit.
class Transfer {
 public:
  // Its bytes are not accessed any more afterwards.
  virtual ~Transfer() = default;
  // Waits until it is complete. A failure is one of the whole wire.
  virtual absl::Status Await() = 0;
  virtual bool IsReady() = 0;
};

// Thread-safe.
class Transport {
 public:
  virtual ~Transport() = default;  // The others see it as having left.

  virtual Health& health() = 0;
  // An error at the start is reported by the transfer.
  virtual std::unique_ptr<Transfer> Send(int to, uint64_t slot,
                                         absl::Span<const std::byte> bytes) = 0;
  virtual std::unique_ptr<Transfer> Receive(int from, uint64_t slot,
                                            absl::Span<std::byte> into) = 0;
  // Sends a message without anybody waiting for it.
  virtual absl::Status Park(int to, uint64_t slot, OwnedBytes bytes) = 0;
};

}  // namespace meshwright

#endif  // MESHWRIGHT_WIRE_TRANSPORT_H_
