// A range of the iterations of a counted loop, as a loop of its own.
#ifndef MESHWRIGHT_LOOPS_LOOP_PIECE_H_
#define MESHWRIGHT_LOOPS_LOOP_PIECE_H_

#include <cstdint>
#include <vector>

#include "meshwright/hlo/instruction.h"
#include "meshwright/loops/counted_loop.h"
#include "meshwright/program/local_builder.h"

namespace meshwright {

// Emits iterations [begin, end) of `loop`. `given`, by element: the value
// before the first of them; for a stacked array only the slots that these
// iterations use; null for known elements. Returns the values after the last
// iteration in the same form; null also for elements that do not change. A
// single iteration is emitted without a loop. op_name metadata gets a suffix:
// "while[6:12]".
std::vector<Instruction*> EmitLoopPiece(const Instruction& loop,
                                        const CountedLoop& counted,
                                        int64_t begin, int64_t end,
                                        const std::vector<Instruction*>& given,
                                        LocalBuilder& builder);

}  // namespace meshwright

#endif  // MESHWRIGHT_LOOPS_LOOP_PIECE_H_
