// CRC-32C (Castagnoli), by the processor's instruction if it has one.
//
//   Crc32c("123456789", 9);   // 0xe3069283
#ifndef MESHWRIGHT_CHECKPOINT_CRC32C_H_
#define MESHWRIGHT_CHECKPOINT_CRC32C_H_

#include <cstddef>
#include <cstdint>

namespace meshwright {

// The checksum of these bytes appended to data with checksum `crc`.
uint32_t Crc32c(const void* data, size_t size, uint32_t crc = 0);

// The same, computed without the instruction.
uint32_t SlowCrc32c(const void* data, size_t size, uint32_t crc = 0);

}  // namespace meshwright

#endif  // MESHWRIGHT_CHECKPOINT_CRC32C_H_
