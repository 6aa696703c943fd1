#include "meshwright/runtime/attached_memories.h"

#include <utility>

#include "meshwright/base/status_macros.h"
#include "meshwright/wire/memory_shares.h"

namespace meshwright {

absl::Status AttachedMemories::Attach(const std::string& address) {
  MW_ASSIGN_OR_RETURN(std::shared_ptr<const SharedMemory> memory,
                      AttachMemory(address));
  const std::lock_guard lock(mutex_);
  memories_[address] = std::move(memory);
  return absl::OkStatus();
}

void AttachedMemories::Detach(const std::string& address) {
  const std::lock_guard lock(mutex_);
  memories_.erase(address);
}

absl::StatusOr<AttachedMemories::Found> AttachedMemories::Find(
    const proto::SharedRegion& region) const {
  std::shared_ptr<const SharedMemory> memory;
  {
    const std::lock_guard lock(mutex_);
    const auto found = memories_.find(region.memory());
    if (found != memories_.end()) memory = found->second;
  }
  if (memory == nullptr) {
    return absl::InvalidArgumentError("a region of memory that is not mapped");
  }
  MW_ASSIGN_OR_RETURN(const absl::Span<std::byte> bytes,
                      memory->Find(region.offset(), region.size()));
  return Found{bytes, std::move(memory)};
}

}  // namespace meshwright
