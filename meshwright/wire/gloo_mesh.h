// Gloo's connections from this worker to all others. Only for gloo_*.cc.
#ifndef MESHWRIGHT_WIRE_GLOO_MESH_H_
#define MESHWRIGHT_WIRE_GLOO_MESH_H_

#include <gloo/transport/tcp/context.h>

#include <memory>

#include "absl/status/statusor.h"
#include "meshwright/wire/gloo_wire.h"
#include "meshwright/wire/health.h"

namespace meshwright {

using GlooMesh = std::shared_ptr<gloo::transport::tcp::Context>;

// Waits until all workers are connected.
absl::StatusOr<GlooMesh> ConnectGlooMesh(const WireOptions& options,
                                         Health& health);

}  // namespace meshwright

#endif  // MESHWRIGHT_WIRE_GLOO_MESH_H_
