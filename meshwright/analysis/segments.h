// The repeated structure of a program, found without hints.
//
//   gpt, 12 layers unrolled:  {dot.40  x12, 310 instructions, 1.2e9 flops}, ...
//   gpt, 12 layers scanned:   {while.9 x12, 295 instructions, 1.2e9 flops}, ...
//
// The forward part of the layers is one segment, the backward part another.
//
// Contractions (dot, convolution) and loops are fingerprinted by their shapes
// and dimension numbers; a segment is a subsequence of fingerprints that
// repeats back to back, or a loop.
#ifndef MESHWRIGHT_ANALYSIS_SEGMENTS_H_
#define MESHWRIGHT_ANALYSIS_SEGMENTS_H_

#include <cstdint>
#include <string>
#include <vector>

#include "meshwright/analysis/flops.h"
#include "meshwright/hlo/module.h"

namespace meshwright {

struct Segment {
  std::string label;         // Name of the loop, or of the first contraction.
  int64_t count = 0;         // Copies, or iterations; at least 2.
  int64_t contractions = 0;  // Of one copy, like all of the following.
  int64_t instructions = 0;
  double flops = 0;
  double bytes = 0;  // Touched (flops.h).
  // Parameters of the step that a copy reads, possibly converted or rearranged.
  // Of stacked parameters of a loop, one slice per iteration.
  int64_t parameters = 0;
  double parameter_bytes = 0;

  bool operator==(const Segment&) const = default;
};

// Non-overlapping, in program order. Loops count if they contain a contraction
// and have a known trip count of at least 2; loops inside a segment are part of
// it. Deterministic, O(n log^2 n) in the instructions. Requires: `module`
// passed Verify; `work` is of it.
std::vector<Segment> FindSegments(const Module& module, const ModuleWork& work);

// Equal for contractions of equal shapes and dimension numbers. Requires:
// IsContraction(contraction.opcode).
uint64_t ContractionFingerprint(const Instruction& contraction);

}  // namespace meshwright

#endif  // MESHWRIGHT_ANALYSIS_SEGMENTS_H_
