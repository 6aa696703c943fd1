// Some iterations of a counted loop, as a loop of their own.
#ifndef MESHWRIGHT_LOOPS_LOOP_PIECE_H_
#define MESHWRIGHT_LOOPS_LOOP_PIECE_H_

#include <cstdint>
#include <vector>

#include "meshwright/hlo/instruction.h"
#include "meshwright/loops/counted_loop.h"
#include "meshwright/program/local_builder.h"

namespace meshwright {

// Emits iterations [begin, end) of `loop`. `given`, by element: the value
// before the first of them; of a stacked array only the slots that they use;
// null for what is known. Returns the values after the last, stacked arrays
// again only these slots, null for what is known or does not change.
// A single iteration is emitted without a loop. The names that the user's
// program gave (op_name) get a suffix: "while[6:12]".
std::vector<Instruction*> EmitLoopPiece(const Instruction& loop,
                                        const CountedLoop& counted,
                                        int64_t begin, int64_t end,
                                        const std::vector<Instruction*>& given,
                                        LocalBuilder& builder);

}  // namespace meshwright

#endif  // MESHWRIGHT_LOOPS_LOOP_PIECE_H_
