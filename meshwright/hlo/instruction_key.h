// Keys by which instructions that compute the same are found (CSE).
//
//   InstructionKeys keys;
//   keys.Of(a) == keys.Of(b);   // Equal results for equal operands.
//
// Names and metadata are ignored; called computations count by what they
// compute.
#ifndef MESHWRIGHT_HLO_INSTRUCTION_KEY_H_
#define MESHWRIGHT_HLO_INSTRUCTION_KEY_H_

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "meshwright/hlo/computation.h"
#include "meshwright/hlo/instruction.h"

namespace meshwright {

class InstructionKeys {
 public:
  std::string Of(const Instruction& instruction);

 private:
  void AppendDevices(const Attributes& attributes, std::string& key);
  // Equal for computations with equal instructions.
  int64_t NumberOf(const Computation& computation);

  absl::flat_hash_map<const Computation*, int64_t> numbers_;
  absl::flat_hash_map<std::string, int64_t> texts_;
  // Numbers of device groups of collectives.
  absl::flat_hash_map<std::vector<std::vector<int64_t>>, int64_t> groups_;
  absl::flat_hash_map<std::vector<std::pair<int64_t, int64_t>>, int64_t> pairs_;
};

}  // namespace meshwright

#endif  // MESHWRIGHT_HLO_INSTRUCTION_KEY_H_
