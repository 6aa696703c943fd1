// Message numbers that are the same in every process.
#ifndef MESHWRIGHT_WIRE_SLOT_H_
#define MESHWRIGHT_WIRE_SLOT_H_

#include <cstdint>
#include <initializer_list>

#include "absl/types/span.h"

namespace meshwright::internal {

// Mixes the numbers into one of 64 bits (SplitMix64's finaliser).
inline uint64_t MixSlot(std::initializer_list<uint64_t> numbers) {
  uint64_t mixed = 0x6d657368;
  for (const uint64_t number : numbers) {
    mixed += number + 0x9e3779b97f4a7c15;
    mixed = (mixed ^ (mixed >> 30)) * 0xbf58476d1ce4e5b9;
    mixed = (mixed ^ (mixed >> 27)) * 0x94d049bb133111eb;
    mixed ^= mixed >> 31;
  }
  return mixed;
}

// Of a group of workers.
inline uint64_t GroupSlot(absl::Span<const int> ranks) {
  uint64_t slot = 0;
  for (const int rank : ranks) {
    slot = MixSlot({slot, static_cast<uint64_t>(rank)});
  }
  return slot;
}

}  // namespace meshwright::internal

#endif  // MESHWRIGHT_WIRE_SLOT_H_
