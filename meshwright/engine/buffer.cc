#include "meshwright/engine/buffer.h"

#include "meshwright/base/status_macros.h"

namespace meshwright {

absl::Status Buffer::ReadToHost(absl::Span<std::byte> destination) const {
  MW_ASSIGN_OR_RETURN(const EventPtr done, ToHost(destination));
  return done->Await();
}

}  // namespace meshwright
