#include "meshwright/base/host_memory.h"

#include <sys/mman.h>

#include <algorithm>
#include <cstddef>
#include <cstdlib>

namespace meshwright {
namespace {

constexpr size_t kInPlaceAlignment = 64;
constexpr size_t kLargePage = size_t{2} << 20;

}  // namespace

std::shared_ptr<char> AllocateHostMemory(int64_t bytes) {
  const size_t alignment = bytes >= static_cast<int64_t>(kLargePage)
                               ? kLargePage
                               : kInPlaceAlignment;
  const size_t size = std::max<size_t>(
      (bytes + alignment - 1) / alignment * alignment, alignment);
  std::shared_ptr<char> memory(
      static_cast<char*>(std::aligned_alloc(alignment, size)),
      [](char* made) { std::free(made); });
  if (alignment == kLargePage) ::madvise(memory.get(), size, MADV_HUGEPAGE);
  return memory;
}

}  // namespace meshwright
