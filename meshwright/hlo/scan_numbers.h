// What the operands of a `scan` are: a running sum, and what is like it.
//
//   (f32[8,64], f32[8]) scan(x f32[8,64], start f32[8]), dimensions={1},
//       to_apply=(x f32[8], carry f32[8]) -> (y f32[8], carry f32[8])
//
// Inputs, then what is carried; results likewise. The computation sees slices.
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

// Fields of the proto that a scan carries along, 0 where absent.
struct ScanFields {
  uint64_t is_reverse = 0;
  uint64_t num_carries = 0;
  uint64_t is_associative = 0;  // 1 it is, 2 it is not, 0 is not known.
};
ScanFields ScanFieldsOf(const Instruction& scan);

// nullopt for another instruction, or one whose slices differ in size.
std::optional<ScanNumbers> ScanNumbersOf(const Instruction& instruction);

}  // namespace meshwright

#endif  // MESHWRIGHT_HLO_SCAN_NUMBERS_H_
