// How much memory one run of a program takes on a device.
//
//   ProgramBytes bytes = EstimateMemory(module, kernels, style);
//   bytes.peak();    // arguments + results - shared by both + temporaries
//
// Temporaries by liveness over the kernels in order: a value lives from its
// kernel to the last one that reads it. What is fused away has no memory;
// elementwise kernels, updates of slices, all-reduces and loops take over the
// memory of an operand that nobody reads any more; results that are the next
// value of an argument take its memory, in which on CPUs other values lie from
// its last reader until then (free_places.h).
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

// Of the entry and all that control flow and kernels of the user's call.
ProgramKernels KernelsOf(const Module& module, const ModuleWork& work,
                         const FusionStyle& style);

struct ProgramBytes {
  int64_t arguments = 0;
  int64_t outputs = 0;
  int64_t aliased = 0;  // In both.
  int64_t temporaries = 0;

  int64_t peak() const { return arguments + outputs - aliased + temporaries; }
  bool operator==(const ProgramBytes&) const = default;
};

ProgramBytes EstimateMemory(const Module& module, const ProgramKernels& kernels,
                            const FusionStyle& style);

}  // namespace meshwright

#endif  // MESHWRIGHT_COST_PROGRAM_MEMORY_H_
