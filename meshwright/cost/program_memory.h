// The memory of one run of a program on a device.
//
//   ProgramBytes bytes = EstimateMemory(module, kernels, style);
//   bytes.peak();    // arguments + results - shared by both + temporaries
//
// Temporaries by liveness over the kernels in order: a value lives from its
// kernel to the last one that reads it. What is fused needs no memory.
// Elementwise kernels, updates of slices, all-reduces and loops reuse the
// buffer of an operand that is not read again. Results that are the next value
// of an argument take its buffer, in which on CPUs temporaries are placed
// between its last reader and then (donated_buffers.h).
#ifndef MESHWRIGHT_COST_PROGRAM_MEMORY_H_
#define MESHWRIGHT_COST_PROGRAM_MEMORY_H_

#include <cstdint>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "meshwright/cost/kernels.h"
#include "meshwright/hlo/module.h"

namespace meshwright {

// By computation.
using ProgramKernels =
    absl::flat_hash_map<const Computation*, std::vector<Kernel>>;

// Of the entry and of everything that control flow and user kernels call.
ProgramKernels KernelsOf(const Module& module, const ModuleWork& work,
                         const FusionStyle& style);

struct ProgramBytes {
  int64_t arguments = 0;
  int64_t outputs = 0;
  int64_t aliased = 0;  // Counted in both.
  int64_t temporaries = 0;
  // In the entry: the kernel at which temporaries peak; null if there are none.
  const Instruction* peak_at = nullptr;

  int64_t peak() const { return arguments + outputs - aliased + temporaries; }
  bool operator==(const ProgramBytes&) const = default;
};

// Sizes that overflow 64 bits saturate, as arguments.
ProgramBytes EstimateMemory(const Module& module, const ProgramKernels& kernels,
                            const FusionStyle& style);

}  // namespace meshwright

#endif  // MESHWRIGHT_COST_PROGRAM_MEMORY_H_
