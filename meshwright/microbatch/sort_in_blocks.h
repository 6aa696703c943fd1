// Sorts the rows of each micro-batch by themselves.
//
//   order = argsort(experts s32[1024])                 sort s32[1024]
//   becomes, for 4 micro-batches,                      sort s32[4,256] along 1
//
// and what takes, puts and multiplies rows in that order (row_orders.h) gets
// the same leading dimension, as a batching dimension of gather and scatter,
// and as one in which the group sizes of ragged-dot differ. Then a micro-batch
// is one element of it.
#ifndef MESHWRIGHT_MICROBATCH_SORT_IN_BLOCKS_H_
#define MESHWRIGHT_MICROBATCH_SORT_IN_BLOCKS_H_

#include <cstdint>
#include <optional>

#include "meshwright/hlo/module.h"

namespace meshwright {

// The module that sorts in so many blocks; nullopt if it has nothing to sort
// that may be. Outputs are the same but for the order of floating-point sums.
// Requires: passed Verify.
std::optional<Module> SortInBlocks(const Module& module, int64_t blocks);

}  // namespace meshwright

#endif  // MESHWRIGHT_MICROBATCH_SORT_IN_BLOCKS_H_
