// A worker's connections to the other workers of its job.
//
//   // On worker 0; asynchronous.
//   MessageMemory memory = wire->Allocate(1, size);
//   Fill(memory.bytes);
//   wire->Send(1, {.step = 7, .tensor = 3}, {memory.bytes, memory.owner});
//   // On worker 1.
//   std::unique_ptr<Arrival> arrival =
//       wire->Receive(0, {.step = 7, .tensor = 3}, size);
//   MW_RETURN_IF_ERROR(arrival->Await());
//   Use(arrival->bytes());
//
// Either side may come first. Nothing waits longer than the wire's timeout,
// counted from when it began to wait; a lost worker is an error that names it,
// within seconds. If members change, a new wire is made.
#ifndef MESHWRIGHT_WIRE_WIRE_H_
#define MESHWRIGHT_WIRE_WIRE_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "meshwright/wire/group.h"

namespace meshwright {

// Identifies a message; unique among those in transit between a sender and a
// receiver.
struct MessageKey {
  int64_t step = 0;
  int64_t tensor = 0;
  int64_t micro_batch = 0;
  int64_t part = 0;

  bool operator==(const MessageKey&) const = default;
};

// Bytes to send, kept alive until they have been.
struct OwnedBytes {
  absl::Span<const std::byte> bytes = {};
  std::shared_ptr<const void> owner = nullptr;
};

// Where what is to be sent is written. So aligned that the CPU uses it in place
// (engine/client.h), at the receiver, too.
struct MessageMemory {
  absl::Span<std::byte> bytes = {};
  std::shared_ptr<void> owner = nullptr;
};

// Bytes in transit to this worker.
class Arrival {
 public:
  virtual ~Arrival() = default;  // Waits if nobody has.
  // Waits until they have arrived. May be called repeatedly, with the same
  // result.
  virtual absl::Status Await() = 0;
  virtual bool IsReady() = 0;
  // What has arrived. Requires: Await() was OK.
  virtual OwnedBytes bytes() const = 0;
};

// Thread-safe.
class Wire {
 public:
  virtual ~Wire() = default;

  virtual int rank() const = 0;
  virtual int size() const = 0;
  // "host-3 (worker 1)", for messages.
  virtual const std::string& name(int rank) const = 0;

  // The group of these ranks, ascending and including this worker's; lives as
  // long as the wire. Every member must request it: the first request waits
  // until all have, later ones return immediately.
  virtual absl::StatusOr<Group*> GroupOf(absl::Span<const int> ranks) = 0;

  // Memory for a message to this worker, not initialised. From there it is sent
  // without a copy where both share memory.
  virtual MessageMemory Allocate(int to, size_t bytes) = 0;
  // Returns at once. Later errors are reported to waiters.
  virtual absl::Status Send(int to, const MessageKey& key,
                            OwnedBytes bytes) = 0;
  // `bytes` must be exactly the size of what was sent.
  virtual std::unique_ptr<Arrival> Receive(int from, const MessageKey& key,
                                           size_t bytes) = 0;

  // Ends all present and future waits on this worker with this error.
  virtual void Abort(absl::Status why) = 0;
};

}  // namespace meshwright

#endif  // MESHWRIGHT_WIRE_WIRE_H_
