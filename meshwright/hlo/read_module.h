// Reads a serialized HloModuleProto (or the HloProto in XLA's dumps) or HLO
// text, possibly compressed by gzip or zstd.
#ifndef MESHWRIGHT_HLO_READ_MODULE_H_
#define MESHWRIGHT_HLO_READ_MODULE_H_

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "meshwright/hlo/module.h"

namespace meshwright {

// kInvalidArgument, naming the computation and instruction or the line of text,
// if the bytes are not a module or ids do not resolve. The result is
// structurally sound (pointers valid, operands before users) but its shapes are
// not checked: call Verify().
absl::StatusOr<Module> ReadModule(absl::string_view bytes);

}  // namespace meshwright

#endif  // MESHWRIGHT_HLO_READ_MODULE_H_
