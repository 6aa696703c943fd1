// A module in numbers: how many instructions, of which opcodes, and the memory
// of its parameters.
#ifndef MESHWRIGHT_ANALYSIS_SUMMARY_H_
#define MESHWRIGHT_ANALYSIS_SUMMARY_H_

#include <cstdint>
#include <map>
#include <string>

#include "meshwright/analysis/roles.h"
#include "meshwright/hlo/module.h"

namespace meshwright {

struct ModuleSummary {
  int64_t instructions = 0;  // As written: a loop's body counts once.
  int64_t computations = 0;
  std::map<std::string, int64_t> opcodes;  // Opcode name -> instructions.
  // Bytes of the entry's parameters, by role; saturating.
  int64_t state_bytes = 0;
  int64_t data_bytes = 0;
  int64_t constant_bytes = 0;

  bool operator==(const ModuleSummary&) const = default;
};

// Requires: passed Verify; `roles` are of this module.
ModuleSummary Summarize(const Module& module, const ModuleRoles& roles);

}  // namespace meshwright

#endif  // MESHWRIGHT_ANALYSIS_SUMMARY_H_
