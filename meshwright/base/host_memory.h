// Host memory that devices copy from, or use.
#ifndef MESHWRIGHT_BASE_HOST_MEMORY_H_
#define MESHWRIGHT_BASE_HOST_MEMORY_H_

#include <cstdint>
#include <memory>

namespace meshwright {

// Not initialised. So aligned that the CPU uses it in place (engine/client.h);
// in large pages, where there is much: most of the time to copy from memory
// into memory goes into making small ones.
std::shared_ptr<char> AllocateHostMemory(int64_t bytes);

}  // namespace meshwright

#endif  // MESHWRIGHT_BASE_HOST_MEMORY_H_
