// Turns batch indices of gathers and scatters into batching dimensions.
//
//   x[arange(8), i]:   gather(x f32[8,64], concatenate(iota, i) s32[8,2])
//   becomes            gather(x f32[8,64], i s32[8,1]),
//   operand_batching_dims={0}
//
// Frontends write the number of the example into the indices. As a batching
// dimension it is known to be one: examples are independent, so that the op can
// be sharded and split into micro-batches there. affine_index.h recognises
// iotas.
#ifndef MESHWRIGHT_HLO_BATCH_INDICES_H_
#define MESHWRIGHT_HLO_BATCH_INDICES_H_

#include "meshwright/hlo/affine_index.h"
#include "meshwright/hlo/module.h"

namespace meshwright {

// Results are bitwise unchanged. Requires: `module` passed Verify; `sources`
// are of it.
void BatchIndices(Module& module, const IndexSources& sources = {});

}  // namespace meshwright

#endif  // MESHWRIGHT_HLO_BATCH_INDICES_H_
