// Reductions that the CPU plug-in hands to XNNPACK; see docs/design/0002.
#ifndef MESHWRIGHT_ENGINE_XNN_FUSIONS_H_
#define MESHWRIGHT_ENGINE_XNN_FUSIONS_H_

#include "absl/status/statusor.h"
#include "meshwright/engine/program.h"

namespace meshwright {

// The compiler option that asks for them.
inline constexpr char kXnnFusionType[] = "xla_cpu_experimental_xnn_fusion_type";

// Whether the compiled `program` has one with a constant of its own. Devices
// that run such a fusion for the first time at once write to one list without
// a lock, and the process may end.
absl::StatusOr<bool> HasUnsafeXnnFusion(const Program& program);

}  // namespace meshwright

#endif  // MESHWRIGHT_ENGINE_XNN_FUSIONS_H_
