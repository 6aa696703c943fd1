// The time of the instructions of a program that several devices share.
#ifndef MESHWRIGHT_COST_INSTRUCTION_TIME_H_
#define MESHWRIGHT_COST_INSTRUCTION_TIME_H_

#include <cstdint>
#include <optional>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "meshwright/cost/device_clock.h"
#include "meshwright/cost/program_memory.h"
#include "meshwright/cost/rates.h"
#include "meshwright/hlo/module.h"

namespace meshwright {

// By instruction id of the entry computation: the seconds of its kernel if its
// work is shared evenly by `devices`; 0 for what is fused into another kernel.
// The seconds of a loop are those of all its iterations. Communication is not
// included.
std::vector<double> InstructionSeconds(const Module& module, const Rates& rates,
                                       bool is_cpu, int64_t devices);

// The seconds of a computation on one device, kernel after kernel, with all
// iterations of its loops. Requires: `kernels` has it and what it calls.
double ComputationSeconds(const Computation& computation,
                          const ProgramKernels& kernels, const Rates& rates);

// What the host does to launch computations. What it is made with must outlive
// it, and have them and what they call.
class HostClock {
 public:
  HostClock(const ProgramKernels& kernels, const Rates& rates)
      : kernels_(kernels), rates_(rates) {}

  HostSeconds SecondsOf(const Computation& computation);
  // Control flow, with all iterations of a loop, or a kernel's body; nothing
  // for an instruction that is neither.
  std::optional<HostSeconds> SecondsOfRegion(const Instruction& root);

 private:
  const ProgramKernels& kernels_;
  const Rates& rates_;
  absl::flat_hash_map<const Computation*, HostSeconds> known_;
};

inline HostSeconds HostSecondsOf(const Computation& computation,
                                 const ProgramKernels& kernels,
                                 const Rates& rates) {
  return HostClock(kernels, rates).SecondsOf(computation);
}

}  // namespace meshwright

#endif  // MESHWRIGHT_COST_INSTRUCTION_TIME_H_
