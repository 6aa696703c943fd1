// Conversion of global indices into sharded dimensions to local ones.
#ifndef MESHWRIGHT_RULES_LOCAL_INDEX_H_
#define MESHWRIGHT_RULES_LOCAL_INDEX_H_

#include <cstdint>

#include "meshwright/program/local_builder.h"
#include "meshwright/rules/lowering.h"

namespace meshwright {

// The reduction that combines values which are zero on all but one device.
Reduction MaskedReduction(ElementType type);

// `index`, of any shape and integer type, as s32 between 0 and `largest`.
Instruction* ClampIndex(Instruction* index, int64_t largest,
                        LocalBuilder& builder);

// s32[]: the index at which this device's block of `factor` begins.
Instruction* BlockStart(const LocalOp& op, int32_t factor,
                        LocalBuilder& builder);

// `index` minus BlockStart, in the type of `index`, which must be signed.
Instruction* RelativeToBlock(const LocalOp& op, int32_t factor,
                             Instruction* index, LocalBuilder& builder);

// pred, true where 0 <= index < bound.
Instruction* IsWithin(Instruction* index, int64_t bound, LocalBuilder& builder);

}  // namespace meshwright

#endif  // MESHWRIGHT_RULES_LOCAL_INDEX_H_
