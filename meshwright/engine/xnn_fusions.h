// What the CPU plug-in passes to XNNPACK; see docs/design/0002.
#ifndef MESHWRIGHT_ENGINE_XNN_FUSIONS_H_
#define MESHWRIGHT_ENGINE_XNN_FUSIONS_H_

#include "absl/status/statusor.h"
#include "meshwright/engine/program.h"

namespace meshwright {

// The compiler option for reductions.
inline constexpr char kXnnFusionType[] = "xla_cpu_experimental_xnn_fusion_type";

// Whether the compiled `program` has one that must not run: with a constant,
// as devices that concurrently run such a fusion for the first time write to
// one list without a lock, which may crash the process; or with an array that
// is not row-major, which XNNPACK refuses when the program runs.
absl::StatusOr<bool> HasUnsafeXnnFusion(const Program& program);

}  // namespace meshwright

#endif  // MESHWRIGHT_ENGINE_XNN_FUSIONS_H_
