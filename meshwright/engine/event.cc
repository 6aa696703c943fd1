#include "meshwright/engine/event.h"

namespace meshwright {

absl::Status AwaitAll(absl::Span<const EventPtr> events) {
  absl::Status first;
  for (const EventPtr& event : events) first.Update(event->Await());
  return first;
}

}  // namespace meshwright
