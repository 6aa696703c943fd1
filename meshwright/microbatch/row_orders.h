// Rows in the order of a sort, and what they are used for.
//
//   order  = argsort(experts s32[1024])         1024 rows: 512 tokens, 2
//   experts sent   = tokens[order / 2]                  rows in that order done
//   = ragged_dot(sent, w, sizes)         each row by itself result =
//   zeros.at[order / 2].add(done)      in the order of tokens again
//
// A mixture of experts without a capacity sorts the rows of the whole batch. If
// nothing depends on how the rows of different tokens are ordered among each
// other, but that those of an expert are together, then each part of the batch
// may be sorted by itself. That is so if rows in this order only meet rows in
// the same order, or what is the same for all, until they are summed up, or put
// back by their own numbers.
#ifndef MESHWRIGHT_MICROBATCH_ROW_ORDERS_H_
#define MESHWRIGHT_MICROBATCH_ROW_ORDERS_H_

#include <cstdint>
#include <map>
#include <vector>

#include "meshwright/hlo/computation.h"

namespace meshwright {

// An instruction that has to work on each block of rows by itself.
struct RowUse {
  enum class Kind {
    kSort,
    kTake,    // A gather of rows of `dimension` of its operand.
    kPut,     // A scatter to rows of `dimension` of its operand.
    kRagged,  // A ragged-dot with groups that are counted in `keys`.
  };
  Kind kind = Kind::kSort;
  int64_t dimension = 0;
  // kTake, kPut: the dimension of the indices that is the rows.
  int64_t indices_dimension = 0;
  const Instruction* keys = nullptr;  // kRagged: of the sort.
};

// By instruction of the computation, those that must change if the rows of each
// of `blocks` equal blocks are sorted by themselves; then all outputs are the
// same but for the order in which numbers are added. Empty if there are none.
// Requires: passed Verify; calls are inlined.
std::map<const Instruction*, RowUse> FindRowOrders(
    const Computation& computation, int64_t blocks);

}  // namespace meshwright

#endif  // MESHWRIGHT_MICROBATCH_ROW_ORDERS_H_
