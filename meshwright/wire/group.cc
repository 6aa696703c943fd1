#include "meshwright/wire/group.h"

#include <cstddef>
#include <vector>

#include "meshwright/base/status_macros.h"
#include "meshwright/wire/collective_checks.h"

namespace meshwright {

absl::Status Group::AllToAll(absl::Span<const std::byte> in,
                             absl::Span<std::byte> out, uint32_t tag) {
  const size_t block = in.size() / static_cast<size_t>(size());
  MW_RETURN_IF_ERROR(internal::CheckBlocks(in.size(), block, size()));
  MW_RETURN_IF_ERROR(internal::CheckBlocks(out.size(), block, size()));
  std::vector<Outgoing> sends;
  std::vector<Incoming> receives;
  for (int member = 0; member < size(); ++member) {
    sends.push_back({member, in.subspan(block * member, block)});
    receives.push_back({member, out.subspan(block * member, block)});
  }
  return Exchange(sends, receives, tag);
}

}  // namespace meshwright
