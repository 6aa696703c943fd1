// A step as operations on arrays, each with the rule that says how it can be
// split: what blocks are found in. A view: it points into a flattened module
// and its rules, which outlive it.
#ifndef MESHWRIGHT_ANALYSIS_OP_GRAPH_H_
#define MESHWRIGHT_ANALYSIS_OP_GRAPH_H_

#include <cstdint>
#include <vector>

#include "absl/types/span.h"
#include "meshwright/hlo/instruction.h"
#include "meshwright/rules/rule.h"

namespace meshwright {

struct OpGraph {
  enum class Kind : uint8_t {
    kParameter,
    kCompute,
    // A value that goes round a loop: its operands are the value before the
    // first iteration and the one after each.
    kCarry,
    kOther,  // Branches and outputs: values pass through unchanged.
    kDead,   // Nothing depends on it; to be skipped.
  };

  struct Op {
    Kind kind = Kind::kCompute;
    const Instruction* instruction = nullptr;
    const Rule* rule = nullptr;
    absl::Span<const int32_t> operands;  // Values.
    int32_t first_result = 0;
    int32_t result_count = 0;
    ElementType element_type = ElementType::kInvalid;  // Of the first result.
    double repeats = 1;  // Times it runs per step.
  };

  // Producers come before users, but for what comes back to a kCarry.
  std::vector<Op> ops;
  std::vector<int32_t> producers;  // By value.

  const Op& producer(int32_t value) const { return ops[producers[value]]; }
  // Which of its producer's results a value is.
  int32_t ResultIndex(int32_t value) const {
    return value - producer(value).first_result;
  }
};

// dot, convolution and their variants.
bool IsContraction(const OpGraph::Op& op);

}  // namespace meshwright

#endif  // MESHWRIGHT_ANALYSIS_OP_GRAPH_H_
