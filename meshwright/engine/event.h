// A handle to asynchronous work on a device.
//
//   MW_ASSIGN_OR_RETURN(const EventPtr done, buffer->ToHost(bytes));
//   ...                                   // Do other things meanwhile.
//   MW_RETURN_IF_ERROR(done->Await());    // Now `bytes` holds the values.
//
// Errors of asynchronous work are returned by Await(). Destroying an event
// neither waits nor cancels.
#ifndef MESHWRIGHT_ENGINE_EVENT_H_
#define MESHWRIGHT_ENGINE_EVENT_H_

#include <memory>

#include "absl/status/status.h"
#include "absl/types/span.h"

namespace meshwright {

class Event {
 public:
  Event() = default;
  Event(const Event&) = delete;
  Event& operator=(const Event&) = delete;
  virtual ~Event() = default;

  // Blocks until the work is done. May be called repeatedly, with the same
  // result.
  virtual absl::Status Await() = 0;

  // Whether Await() would return at once.
  virtual bool IsReady() = 0;
};

using EventPtr = std::unique_ptr<Event>;

// Waits for all of them, then returns the first error in order.
absl::Status AwaitAll(absl::Span<const EventPtr> events);

}  // namespace meshwright

#endif  // MESHWRIGHT_ENGINE_EVENT_H_
