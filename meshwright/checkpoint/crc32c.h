// CRC-32C (Castagnoli), with the processor's instruction where it has one.
//
//   Crc32c("123456789", 9);   // 0xe3069283
#ifndef MESHWRIGHT_CHECKPOINT_CRC32C_H_
#define MESHWRIGHT_CHECKPOINT_CRC32C_H_

#include <cstddef>
#include <cstdint>

namespace meshwright {

// Of what came before, whose checksum is `crc`, and these bytes.
uint32_t Crc32c(const void* data, size_t size, uint32_t crc = 0);

// The same, computed without the instruction.
uint32_t SlowCrc32c(const void* data, size_t size, uint32_t crc = 0);

}  // namespace meshwright

#endif  // MESHWRIGHT_CHECKPOINT_CRC32C_H_
