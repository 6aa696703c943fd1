#include "meshwright/checkpoint/crc32c.h"

#include <array>
#include <cstring>

namespace meshwright {
namespace {

constexpr uint32_t kPolynomial = 0x82f63b78;  // Bit-reversed.

using ByteTable = std::array<uint32_t, 256>;

constexpr ByteTable MakeByteTable() {
  ByteTable table = {};
  for (uint32_t byte = 0; byte < 256; ++byte) {
    uint32_t crc = byte;
    for (int bit = 0; bit < 8; ++bit) {
      crc = (crc >> 1) ^ ((crc & 1) != 0 ? kPolynomial : 0);
    }
    table[byte] = crc;
  }
  return table;
}

constexpr ByteTable kByteTable = MakeByteTable();

#if defined(__x86_64__)

// Three checksums of this many bytes each are computed together, because the
// instruction has a latency of three cycles.
constexpr size_t kStride = 4096;

// By byte of a checksum: its contribution after kStride zero bytes.
struct ShiftTable {
  std::array<ByteTable, 4> of_byte;

  ShiftTable() {
    std::array<uint32_t, 32> of_bit = {};
    for (int bit = 0; bit < 32; ++bit) {
      uint32_t crc = uint32_t{1} << bit;
      for (size_t i = 0; i < kStride; ++i) {
        crc = (crc >> 8) ^ kByteTable[crc & 0xff];
      }
      of_bit[bit] = crc;
    }
    // The mapping is linear.
    for (int which = 0; which < 4; ++which) {
      for (uint32_t byte = 0; byte < 256; ++byte) {
        of_byte[which][byte] = 0;
        for (int bit = 0; bit < 8; ++bit) {
          if ((byte >> bit & 1) != 0) {
            of_byte[which][byte] ^= of_bit[8 * which + bit];
          }
        }
      }
    }
  }

  uint32_t Shift(uint32_t crc) const {
    return of_byte[0][crc & 0xff] ^ of_byte[1][crc >> 8 & 0xff] ^
           of_byte[2][crc >> 16 & 0xff] ^ of_byte[3][crc >> 24];
  }
};

uint64_t Load(const unsigned char* at) {
  uint64_t value;
  std::memcpy(&value, at, sizeof(value));
  return value;
}

__attribute__((target("sse4.2"))) uint32_t FastCrc32c(const unsigned char* at,
                                                      size_t size,
                                                      uint32_t crc) {
  static const auto* const table = new ShiftTable;
  uint64_t a = ~crc;
  while (size >= 3 * kStride) {
    uint64_t b = 0;
    uint64_t c = 0;
    for (size_t i = 0; i < kStride; i += 8) {
      a = __builtin_ia32_crc32di(a, Load(at + i));
      b = __builtin_ia32_crc32di(b, Load(at + kStride + i));
      c = __builtin_ia32_crc32di(c, Load(at + 2 * kStride + i));
    }
    a = table->Shift(static_cast<uint32_t>(a)) ^ b;
    a = table->Shift(static_cast<uint32_t>(a)) ^ c;
    at += 3 * kStride;
    size -= 3 * kStride;
  }
  for (; size >= 8; at += 8, size -= 8) {
    a = __builtin_ia32_crc32di(a, Load(at));
  }
  auto rest = static_cast<uint32_t>(a);
  for (; size > 0; ++at, --size) rest = __builtin_ia32_crc32qi(rest, *at);
  return ~rest;
}

bool HasInstruction() {
  static const bool has = __builtin_cpu_supports("sse4.2") != 0;
  return has;
}

#endif

}  // namespace

uint32_t SlowCrc32c(const void* data, size_t size, uint32_t crc) {
  const auto* const bytes = static_cast<const unsigned char*>(data);
  crc = ~crc;
  for (size_t i = 0; i < size; ++i) {
    crc = (crc >> 8) ^ kByteTable[(crc ^ bytes[i]) & 0xff];
  }
  return ~crc;
}

uint32_t Crc32c(const void* data, size_t size, uint32_t crc) {
#if defined(__x86_64__)
  if (HasInstruction()) {
    return FastCrc32c(static_cast<const unsigned char*>(data), size, crc);
  }
#endif
  return SlowCrc32c(data, size, crc);
}

}  // namespace meshwright
