// CompileOptions as the bytes that PJRT takes: a CompileOptionsProto.
#ifndef MESHWRIGHT_ENGINE_PJRT_COMPILE_OPTIONS_H_
#define MESHWRIGHT_ENGINE_PJRT_COMPILE_OPTIONS_H_

#include <string>

#include "meshwright/engine/client.h"

namespace meshwright {

// `defaults` are overrides that those in `options` win over; of
// xla_disable_hlo_passes, an empty list wins, any other adds to the default.
// Requires options that pass CheckCompileOptions(): XLA aborts on counts
// below 1.
std::string SerializeCompileOptions(const CompileOptions& options,
                                    const OptionMap& defaults);

}  // namespace meshwright

#endif  // MESHWRIGHT_ENGINE_PJRT_COMPILE_OPTIONS_H_
