#include "meshwright/cost/kernel_order.h"

#include <algorithm>
#include <cstdint>
#include <utility>

#include "meshwright/base/check.h"

namespace meshwright {
namespace {

constexpr int32_t kFused = -2;  // Fused into other kernels: never scheduled.
constexpr int32_t kNames = -1;  // Takes no time.

// By instruction: the kernel of which it is the root, kNames or kFused.
std::vector<int32_t> KernelOf(const Computation& computation,
                              const std::vector<Kernel>& kernels) {
  std::vector<int32_t> kernel_of(computation.size(), kFused);
  for (size_t k = 0; k < kernels.size(); ++k) {
    kernel_of[kernels[k].root->id] = static_cast<int32_t>(k);
    for (const Instruction* result : kernels[k].more_results) {
      kernel_of[result->id] = static_cast<int32_t>(k);
    }
  }
  for (const auto& instruction : computation.instructions()) {
    int32_t& kernel = kernel_of[instruction->id];
    if (kernel != kFused || !IsFree(*instruction)) continue;
    const bool whole = std::all_of(
        instruction->operands.begin(), instruction->operands.end(),
        [&](const Instruction* from) { return kernel_of[from->id] != kFused; });
    if (whole) kernel = kNames;
  }
  return kernel_of;
}

}  // namespace

std::vector<Kernel> InOrderOfReadiness(const Computation& computation,
                                       std::vector<Kernel> kernels) {
  const std::vector<int32_t> kernel_of = KernelOf(computation, kernels);
  std::vector<std::vector<const Instruction*>> users(computation.size());
  std::vector<int32_t> missing(computation.size(), 0);
  std::vector<const Instruction*> ready;  // Also the order so far.
  for (const auto& instruction : computation.instructions()) {
    const int32_t kernel = kernel_of[instruction->id];
    // Further results of a kernel are computed with the root.
    if (kernel == kFused) continue;
    if (kernel >= 0 && kernels[kernel].root != instruction.get()) continue;
    const auto wait_for = [&](const Instruction* from) {
      if (kernel_of[from->id] == kFused) return;
      users[from->id].push_back(instruction.get());
      ++missing[instruction->id];
    };
    if (kernel >= 0) {
      for (const Instruction* input : kernels[kernel].inputs) wait_for(input);
    } else {
      for (const Instruction* operand : instruction->operands) {
        wait_for(operand);
      }
    }
    for (const Instruction* before : instruction->control_predecessors) {
      wait_for(before);
    }
    if (missing[instruction->id] == 0) ready.push_back(instruction.get());
  }
  std::vector<Kernel> ordered;
  ordered.reserve(kernels.size());
  const auto release = [&](const Instruction& made) {
    for (const Instruction* user : users[made.id]) {
      if (--missing[user->id] == 0) ready.push_back(user);
    }
  };
  for (size_t turn = 0; turn < ready.size(); ++turn) {
    const Instruction& instruction = *ready[turn];
    const int32_t kernel = kernel_of[instruction.id];
    if (kernel >= 0) {
      ordered.push_back(std::move(kernels[kernel]));
      for (const Instruction* result : ordered.back().more_results) {
        release(*result);
      }
    }
    release(instruction);
  }
  MW_CHECK(ordered.size() == kernels.size()) << "kernels wait for each other";
  return ordered;
}

}  // namespace meshwright
