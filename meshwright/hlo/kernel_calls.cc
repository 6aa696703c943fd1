#include "meshwright/hlo/kernel_calls.h"

#include <algorithm>
#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "meshwright/base/check.h"
#include "meshwright/base/status_macros.h"

namespace meshwright {
namespace {

using Computations = absl::flat_hash_map<absl::string_view, Computation*>;

bool Fits(const Computation& body, const Instruction& kernel) {
  const std::vector<Instruction*> parameters = body.Parameters();
  return std::ranges::equal(parameters, kernel.operands,
                            [](const Instruction* in, const Instruction* from) {
                              return Compatible(in->shape, from->shape);
                            }) &&
         Compatible(body.root()->shape, kernel.shape);
}

absl::Status MakeKernel(const Computations& computations, Instruction& call) {
  const std::string names = call.frontend_attributes[kVariantsAttribute];
  for (const absl::string_view name :
       absl::StrSplit(names, ',', absl::SkipEmpty())) {
    const auto found = computations.find(name);
    if (found == computations.end()) {
      return absl::InvalidArgumentError(
          absl::StrCat(call.name, ": ", kVariantsAttribute, " names ", name,
                       ", but the module has no such computation"));
    }
    call.called.push_back(found->second);
  }
  call.opcode = Opcode::kCustomCall;
  Attributes& attributes = call.attributes.mutate();
  attributes.is_composite = false;
  attributes.custom_call_target = call.frontend_attributes[kKernelAttribute];
  std::erase_if(call.frontend_attributes, [](const auto& attribute) {
    return attribute.first == kVariantsAttribute ||
           attribute.first.starts_with("composite.");
  });
  return absl::OkStatus();
}

template <typename Visit>
void ForEach(const Module& module, Visit visit) {
  for (const auto& computation : module.computations()) {
    for (const auto& instruction : computation->instructions()) {
      visit(*instruction);
    }
  }
}

}  // namespace

bool IsKernel(const Instruction& instruction) {
  return instruction.opcode == Opcode::kCustomCall &&
         !instruction.called.empty() &&
         instruction.frontend_attributes.contains(kKernelAttribute);
}

std::optional<VariantLimit> VariantLimitOf(const Instruction& kernel) {
  if (!IsKernel(kernel)) return std::nullopt;
  const auto text = kernel.frontend_attributes.find(kVariantLimitAttribute);
  if (text == kernel.frontend_attributes.end()) return std::nullopt;
  const std::vector<std::string> numbers = absl::StrSplit(text->second, ',');
  VariantLimit limit;
  if (numbers.size() != 2 || !absl::SimpleAtoi(numbers[0], &limit.parts) ||
      !absl::SimpleAtoi(numbers[1], &limit.for_all)) {
    return std::nullopt;
  }
  return limit;
}

bool HasKernels(const Module& module) {
  bool any = false;
  ForEach(module, [&](const Instruction& instruction) {
    any = any || IsKernel(instruction);
  });
  return any;
}

const Computation* KernelBody(const Instruction& kernel) {
  if (!IsKernel(kernel)) return nullptr;
  for (const Computation* body : kernel.called) {
    if (Fits(*body, kernel)) return body;
  }
  return nullptr;
}

absl::Status CallsToKernels(Module& module) {
  Computations computations;
  for (const auto& computation : module.computations()) {
    computations[computation->name()] = computation.get();
  }
  bool any = false;
  for (const auto& computation : module.computations()) {
    for (const auto& instruction : computation->instructions()) {
      if (instruction->opcode != Opcode::kCall ||
          !instruction->frontend_attributes.contains(kKernelAttribute)) {
        continue;
      }
      MW_RETURN_IF_ERROR(MakeKernel(computations, *instruction));
      any = true;
    }
  }
  if (any) module.Finish();
  return absl::OkStatus();
}

void KernelToCall(Instruction& kernel) {
  const auto body = std::ranges::find(kernel.called, KernelBody(kernel));
  MW_CHECK(body != kernel.called.end()) << kernel.name;
  kernel.called = {*body};
  kernel.opcode = Opcode::kCall;
  kernel.attributes.mutate().custom_call_target.clear();
  kernel.frontend_attributes.clear();
}

void KernelsToCalls(Module& module) {
  ForEach(module, [&](Instruction& instruction) {
    if (IsKernel(instruction)) KernelToCall(instruction);
  });
}

}  // namespace meshwright
