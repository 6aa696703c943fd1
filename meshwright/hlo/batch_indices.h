// Gathers and scatters that take, or change, an element of every example.
//
//   x[arange(8), i]:   gather(x f32[8,64], concatenate(iota, i) s32[8,2])
//   becomes            gather(x f32[8,64], i s32[8,1]),
//   operand_batching_dims={0}
//
// Frontends write which example it is into the indices. As a batching dimension
// it is known to be one: examples do not mix, so that the step can be split and
// cut into micro-batches there. What is an iota says affine_index.h.
#ifndef MESHWRIGHT_HLO_BATCH_INDICES_H_
#define MESHWRIGHT_HLO_BATCH_INDICES_H_

#include "meshwright/hlo/affine_index.h"
#include "meshwright/hlo/module.h"

namespace meshwright {

// Requires: passed Verify. Values stay as they are, bit for bit. `sources` are
// of this module.
void BatchIndices(Module& module, const IndexSources& sources = {});

}  // namespace meshwright

#endif  // MESHWRIGHT_HLO_BATCH_INDICES_H_
