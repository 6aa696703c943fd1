#include "meshwright/rules/open_known_kernels.h"

#include <algorithm>
#include <vector>

#include "meshwright/hlo/kernel_calls.h"
#include "meshwright/rules/call_table.h"
#include "meshwright/rules/families.h"
#include "meshwright/rules/fused_attention.h"
#include "meshwright/rules/gemm_calls.h"
#include "meshwright/rules/grouped_gemm.h"
#include "meshwright/rules/library_gemm.h"
#include "meshwright/rules/rule_text.h"

namespace meshwright {
namespace {

void AddCustomCalls(const Computation& computation,
                    std::vector<const Instruction*>& calls) {
  for (const auto& instruction : computation.instructions()) {
    if (instruction->opcode == Opcode::kCustomCall) {
      calls.push_back(instruction.get());
    }
    for (const Computation* called : instruction->called) {
      AddCustomCalls(*called, calls);
    }
  }
}

bool IsOfLibrary(const Instruction* call) {
  return RecordedRule(*call) != nullptr || IsFusedAttention(*call) ||
         IsLibraryGemm(*call) || IsGroupedGemm(*call) ||
         TableRule(*call).has_value();
}

bool IsKnown(const Instruction& kernel) {
  const Computation* body = KernelBody(kernel);
  if (body == nullptr ||
      !kernel.frontend_attributes.contains(kTransparentAttribute)) {
    return false;
  }
  std::vector<const Instruction*> calls;
  AddCustomCalls(*body, calls);
  return std::ranges::any_of(calls, IsOfLibrary) &&
         std::ranges::all_of(calls, [](const Instruction* call) {
           return CustomCallFactors(*call).has_value();
         });
}

}  // namespace

void OpenKnownKernels(Module& module) {
  bool any = false;
  for (const auto& computation : module.computations()) {
    for (const auto& instruction : computation->instructions()) {
      if (!IsKnown(*instruction)) continue;
      KernelToCall(*instruction);
      any = true;
    }
  }
  if (any) module.Finish();
}

}  // namespace meshwright
