#include "meshwright/analysis/summary.h"

#include <limits>

namespace meshwright {
namespace {

void SaturatingAdd(int64_t bytes, int64_t& sum) {
  if (__builtin_add_overflow(sum, bytes, &sum)) {
    sum = std::numeric_limits<int64_t>::max();
  }
}

}  // namespace

ModuleSummary Summarize(const Module& module, const ModuleRoles& roles) {
  ModuleSummary summary;
  summary.instructions = module.instruction_count();
  summary.computations = std::ssize(module.computations());
  for (const auto& computation : module.computations()) {
    for (const auto& instruction : computation->instructions()) {
      ++summary.opcodes[std::string(instruction->opcode_name())];
    }
  }
  const std::vector<Instruction*> parameters = module.entry()->Parameters();
  for (size_t i = 0; i < parameters.size(); ++i) {
    if (parameters[i] == nullptr || i >= roles.parameters.size()) continue;
    const int64_t bytes = ByteSize(parameters[i]->shape);
    switch (roles.parameters[i].role) {
      case ParameterRole::kState:
        SaturatingAdd(bytes, summary.state_bytes);
        break;
      case ParameterRole::kData:
        SaturatingAdd(bytes, summary.data_bytes);
        break;
      case ParameterRole::kConstant:
        SaturatingAdd(bytes, summary.constant_bytes);
        break;
    }
  }
  return summary;
}

}  // namespace meshwright
