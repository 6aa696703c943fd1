// Standard HLO text, as XLA prints and parses it.
//
//   HloModule jit_step, entry_computation_layout={(f32[4]{0})->f32[4]{0}}
//
//   ENTRY main.3 {
//     x.1 = f32[4]{0} parameter(0)
//     ROOT add.2 = f32[4]{0} add(x.1, x.1), metadata={op_name="jit(f)/add"}
//   }
#ifndef MESHWRIGHT_HLO_PRINT_MODULE_H_
#define MESHWRIGHT_HLO_PRINT_MODULE_H_

#include <string>

#include "meshwright/hlo/module.h"

namespace meshwright {

struct PrintOptions {
  bool metadata = true;
  bool large_constants = true;  // Otherwise "{...}" above 10 elements.
};

std::string ToString(const Module& module, const PrintOptions& options = {});
std::string ToString(const Computation& computation,
                     const PrintOptions& options = {});
// One line, without indentation.
std::string ToString(const Instruction& instruction,
                     const PrintOptions& options = {});

}  // namespace meshwright

#endif  // MESHWRIGHT_HLO_PRINT_MODULE_H_
