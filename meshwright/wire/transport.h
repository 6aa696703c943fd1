// Messages between workers, each under a number that both sides know.
//
//   auto sent = transport->Send(1, slot, bytes);        // On worker 0.
//   auto received = transport->Receive(0, slot, into);  // On worker 1.
//   MW_RETURN_IF_ERROR(received->Await());
//
// Messages under one number arrive in the order in which they were sent. Both
// sides give them the same size. Nothing blocks but Await().
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

// A message under way.
class Transfer {
 public:
  virtual ~Transfer() = default;  // Its bytes are not touched from now on.
  // Until it is over. A failure is the whole wire's.
  virtual absl::Status Await() = 0;
  virtual bool IsReady() = 0;
};

// Thread-safe.
class Transport {
 public:
  virtual ~Transport() = default;  // The others take it as having left.

  virtual Health& health() = 0;
  // What cannot begin is told by the transfer.
  virtual std::unique_ptr<Transfer> Send(int to, uint64_t slot,
                                         absl::Span<const std::byte> bytes) = 0;
  virtual std::unique_ptr<Transfer> Receive(int from, uint64_t slot,
                                            absl::Span<std::byte> into) = 0;
  // Sends what nobody waits for.
  virtual absl::Status Park(int to, uint64_t slot, OwnedBytes bytes) = 0;
};

}  // namespace meshwright

#endif  // MESHWRIGHT_WIRE_TRANSPORT_H_
