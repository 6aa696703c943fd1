// Lengths of sequences in calls of attention on a part of the sequence.
//
// A call has the queries of this device and some keys: those of a step of a
// ring, or those that a window reaches. Lengths are what of each sequence lies
// in them. Calls have at least one of each, as kernels may not expect none;
// what that adds is hidden.
#ifndef MESHWRIGHT_RULES_RING_LENGTHS_H_
#define MESHWRIGHT_RULES_RING_LENGTHS_H_

#include <cstdint>
#include <vector>

#include "meshwright/rules/fused_attention.h"
#include "meshwright/rules/lowering.h"
#include "meshwright/rules/ring_steps.h"

namespace meshwright {

class LengthsInCalls {
 public:
  LengthsInCalls(const LocalOp& op, const FusedAttention& attention,
                 const AxisList& ring, LocalBuilder& builder);

  bool exist() const { return operand_ >= 0; }

  // Makes those of `step` of a ring operands of its call.
  void ChooseStep(int64_t step, std::vector<Instruction*>& operands);
  // Those of a call with `before` other queries (s32[]) before the device's
  // own, and `count` keys from position `start` (s32[]) on.
  void ChooseRange(Instruction* before, Instruction* start, int64_t count,
                   std::vector<Instruction*>& operands);

  // Of a block: in a row of the batch, all of its keys may be padding.
  PartialAttention Seen(const PartialAttention& block);
  // Nothing for queries that are padding.
  PartialAttention Finished(const PartialAttention& all);
  // The log-sum-exp with which the gradients of a block are zero where queries
  // or keys are padding.
  Instruction* ForGradients(Instruction* sum);

 private:
  Instruction* Number(double number, const Instruction* like);
  // How much of each length is in `count` positions from `start` (s32[]) on.
  Instruction* Within(Instruction* lengths, Instruction* start, int64_t count);
  Instruction* AtLeastOne(Instruction* lengths);
  // pred as the log-sum-exp [b,n,t]: which queries are no padding.
  Instruction* IsReal(const Instruction* sum);
  void Choose(Instruction* queries, Instruction* start, int64_t count,
              std::vector<Instruction*>& operands);

  const int32_t operand_;
  const AxisList& ring_;
  LocalBuilder& builder_;
  int64_t rows_ = 0;
  Instruction* queries_ = nullptr;  // Lengths here; those of keys, of all.
  Instruction* all_keys_ = nullptr;
  Instruction* has_keys_ = nullptr;  // By row of the batch, in this call.
};

}  // namespace meshwright

#endif  // MESHWRIGHT_RULES_RING_LENGTHS_H_
