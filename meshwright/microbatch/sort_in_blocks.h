// Sorts the rows of each part of a batch by themselves: of a micro-batch, of a
// device.
//
//   order = argsort(experts s32[1024])                 sort s32[1024]
//   becomes, for 4 parts,                              sort s32[4,256] along 1
//
// and what takes, puts and multiplies rows in that order (row_orders.h) gets
// the same leading dimension, as a batching dimension of gather and scatter,
// and as one in which the group sizes of ragged-dot differ. A micro-batch is
// one element of it, or several; over devices it is sharded as any dimension
// is.
#ifndef MESHWRIGHT_MICROBATCH_SORT_IN_BLOCKS_H_
#define MESHWRIGHT_MICROBATCH_SORT_IN_BLOCKS_H_

#include <cstdint>
#include <optional>
#include <string>

#include "meshwright/hlo/module.h"

namespace meshwright {

// The module that sorts in `count` blocks, or where the same operations may be
// in more, in as many times more as possible: a divisor of `times`. nullopt if
// it has nothing to sort that may be. Outputs are the same but for the order of
// floating-point sums. Requires: passed Verify.
std::optional<Module> SortInBlocks(const Module& module, int64_t count,
                                   int64_t times = 1);

// What a user is told of devices that sort their own rows so.
std::string SortedRowsNote(int64_t blocks);

}  // namespace meshwright

#endif  // MESHWRIGHT_MICROBATCH_SORT_IN_BLOCKS_H_
