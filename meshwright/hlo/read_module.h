// Bytes of a serialized HloModuleProto (or of the HloProto in XLA's dumps) or
// HLO text, plain, gzip or zstd compressed, to a Module.
#ifndef MESHWRIGHT_HLO_READ_MODULE_H_
#define MESHWRIGHT_HLO_READ_MODULE_H_

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "meshwright/hlo/module.h"

namespace meshwright {

// Fails with kInvalidArgument, naming the computation and instruction at fault
// or the line of the text, when the bytes are no module or ids do not resolve.
// The result is structurally sound (pointers valid, operands before users) but
// its shapes are not checked: call Verify().
absl::StatusOr<Module> ReadModule(absl::string_view bytes);

}  // namespace meshwright

#endif  // MESHWRIGHT_HLO_READ_MODULE_H_
