// When arrays are in memory, and how much memory a module takes as scheduled.
//
//   p = parameter f32[100]     not donated: held throughout       400 bytes
//   a = sort(p)                made at 1, last read at 2          400
//   b = sort(a)                made at 2, an output               400
//   peak 1200 bytes, at b
//
// The schedule is the order of instructions. Tuples, their elements, bitcasts,
// reshapes and barriers are the arrays they come from; loops work in place on
// what they start from, updates and elementwise ops on operands that nobody
// reads later. Parameters that may be overwritten (aliased to outputs, or
// donated) are free after their last use, others never.
//
// Compilers fuse: with `fuse`, the result of an elementwise op or broadcast, or
// of a call to such, is never made if only elementwise ops and reductions read
// it, and it is cheap to compute again for each (an add, no exponential) or
// only one reads it. What it is made of lives on until then.
#ifndef MESHWRIGHT_ANALYSIS_LIVENESS_H_
#define MESHWRIGHT_ANALYSIS_LIVENESS_H_

#include <cstdint>
#include <vector>

#include "meshwright/hlo/module.h"

namespace meshwright {

// An array of the entry computation that takes memory.
struct LiveRange {
  const Instruction* instruction = nullptr;  // That makes it.
  int32_t leaf = 0;                          // Which array of its result.
  int64_t bytes = 0;
  // Positions in the entry: from the one that makes it (0 for parameters) to
  // the last that reads it; the entry's size for outputs and for parameters
  // that stay.
  int32_t begin = 0;
  int32_t end = 0;
  // It takes over the memory of an array that ends where this one begins.
  bool in_place = false;
};

struct MemoryUse {
  int64_t peak_bytes = 0;
  int32_t peak_at = 0;          // The position in the entry of the peak.
  int64_t parameter_bytes = 0;  // Part of the peak, as long as they live.
  int64_t output_bytes = 0;     // At the end; those in donated memory included.
  std::vector<LiveRange> ranges;  // In order of `begin`, then of making.
};

struct LivenessOptions {
  bool fuse = true;
};

// Sizes saturate. Linear time. Requires: the module passed Verify and outlives
// the result.
MemoryUse AnalyzeMemory(const Module& module,
                        const LivenessOptions& options = {});

}  // namespace meshwright

#endif  // MESHWRIGHT_ANALYSIS_LIVENESS_H_
