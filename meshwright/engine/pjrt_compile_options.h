// Serializes CompileOptions to the CompileOptionsProto that PJRT takes.
#ifndef MESHWRIGHT_ENGINE_PJRT_COMPILE_OPTIONS_H_
#define MESHWRIGHT_ENGINE_PJRT_COMPILE_OPTIONS_H_

#include <string>

#include "meshwright/engine/client.h"

namespace meshwright {

// Options override `defaults`; for xla_disable_hlo_passes an empty list
// overrides the default, any other is added to it. Requires: `options` pass
// CheckCompileOptions(), since XLA aborts on counts below 1.
std::string SerializeCompileOptions(const CompileOptions& options,
                                    const OptionMap& defaults);

}  // namespace meshwright

#endif  // MESHWRIGHT_ENGINE_PJRT_COMPILE_OPTIONS_H_
