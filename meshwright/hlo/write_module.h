// Serializes a module to an HloModuleProto.
#ifndef MESHWRIGHT_HLO_WRITE_MODULE_H_
#define MESHWRIGHT_HLO_WRITE_MODULE_H_

#include <string>

#include "absl/status/statusor.h"
#include "meshwright/hlo/module.h"

namespace meshwright {

// Ids are numbered anew from one counter, so that every XLA since 0.4.35 reads
// them; replica groups are written as explicit lists. Deterministic: the same
// module gives the same bytes. Fails only above protobuf's limit of 2 GiB.
absl::StatusOr<std::string> WriteModule(const Module& module);

}  // namespace meshwright

#endif  // MESHWRIGHT_HLO_WRITE_MODULE_H_
