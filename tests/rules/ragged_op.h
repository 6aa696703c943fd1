// Test support: a ragged-dot on its own.
#ifndef MESHWRIGHT_TESTS_RULES_RAGGED_OP_H_
#define MESHWRIGHT_TESTS_RULES_RAGGED_OP_H_

#include <cstdint>
#include <string>
#include <vector>

#include "tests/rules/one_op.h"

namespace meshwright {

// A length-delimited field of the wire format; all numbers below 128.
inline std::string RaggedField(int number, const std::string& content) {
  const int tag = number << 3 | 2;
  std::string bytes;
  if (tag >= 128) bytes += static_cast<char>((tag & 127) | 128);
  bytes += static_cast<char>(tag >= 128 ? tag >> 7 : tag);
  bytes += static_cast<char>(content.size());
  return bytes + content;
}

inline std::string RaggedPacked(int number, const std::vector<int>& dims) {
  if (dims.empty()) return "";
  std::string content;
  for (const int dim : dims) content += static_cast<char>(dim);
  return RaggedField(number, content);
}

struct RaggedNumbers {
  std::vector<int> lhs_contracting, rhs_contracting;
  std::vector<int> lhs_batch, rhs_batch;
  std::vector<int> ragged, group;
};

inline std::string RaggedFields(const RaggedNumbers& numbers) {
  const std::string dot = RaggedPacked(1, numbers.lhs_contracting) +
                          RaggedPacked(2, numbers.rhs_contracting) +
                          RaggedPacked(3, numbers.lhs_batch) +
                          RaggedPacked(4, numbers.rhs_batch);
  return RaggedField(90, RaggedField(1, dot) + RaggedPacked(2, numbers.ragged) +
                             RaggedPacked(3, numbers.group));
}

inline OneOp RaggedDot(const std::vector<std::string>& operands,
                       const RaggedNumbers& numbers, const std::string& result,
                       int64_t most = 4) {
  return {.opcode = Opcode::kRaggedDot,
          .operands = operands,
          .unknown_fields = RaggedFields(numbers),
          .result = result,
          .draws = {{2, Integers(0, most)}}};
}

}  // namespace meshwright

#endif  // MESHWRIGHT_TESTS_RULES_RAGGED_OP_H_
