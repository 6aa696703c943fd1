// The operands of a `scan` instruction: prefix sums and the like.
//
//   (f32[8,64], f32[8]) scan(x f32[8,64], start f32[8]), dimensions={1},
//       to_apply=(x f32[8], carry f32[8]) -> (y f32[8], carry f32[8])
//
// Operands are the inputs, then the initial carries; results likewise. The
// computation is applied to slices.
#ifndef MESHWRIGHT_HLO_SCAN_NUMBERS_H_
#define MESHWRIGHT_HLO_SCAN_NUMBERS_H_

#include <cstdint>
#include <optional>
#include <vector>

#include "meshwright/hlo/instruction.h"

namespace meshwright {

struct ScanNumbers {
  int64_t dimension = 0;
  int32_t inputs = 0;          // Of the operands, the first.
  int32_t outputs = 0;         // Of the results, the first.
  std::vector<int64_t> slice;  // Dimensions of all slices.
  bool is_reverse = false;
};

// Uninterpreted fields of a scan's proto; 0 if absent.
struct ScanFields {
  uint64_t is_reverse = 0;
  uint64_t num_carries = 0;
  uint64_t is_associative = 0;  // 1: yes, 2: no, 0: unknown.
};
ScanFields ScanFieldsOf(const Instruction& scan);

// nullopt for another instruction, or one whose slices differ in size.
std::optional<ScanNumbers> ScanNumbersOf(const Instruction& instruction);

}  // namespace meshwright

#endif  // MESHWRIGHT_HLO_SCAN_NUMBERS_H_
