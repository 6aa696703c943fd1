// Makes parameters that are tuples, and results that nest tuples, flat lists of
// arrays, as programs that run have.
//
//   main(vars: (f32[6,5], s32[]), x: f32[12,6]) -> ((f32[6,5], s32[]), f32[])
//   -> main(vars.0: f32[6,5], vars.1: s32[], x: f32[12,6])
//        -> (f32[6,5], s32[], f32[])
//
// Aliases, donors, layouts, shardings and recorded names follow their arrays.
#ifndef MESHWRIGHT_HLO_UNTUPLE_SIGNATURE_H_
#define MESHWRIGHT_HLO_UNTUPLE_SIGNATURE_H_

#include "meshwright/hlo/module.h"

namespace meshwright {

// Requires: the module passed Verify.
void UntupleSignature(Module& module);

}  // namespace meshwright

#endif  // MESHWRIGHT_HLO_UNTUPLE_SIGNATURE_H_
