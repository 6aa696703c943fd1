#include "meshwright/wire/gloo_wire.h"

#include <csignal>
#include <utility>

#include "meshwright/base/status_macros.h"
#include "meshwright/wire/gloo_mesh.h"
#include "meshwright/wire/gloo_transport.h"
#include "meshwright/wire/health.h"
#include "meshwright/wire/transport_wire.h"

namespace meshwright {
namespace {

// Gloo writes to connections that the other side may have closed.
void IgnoreBrokenPipes() {
  struct sigaction action = {};
  if (sigaction(SIGPIPE, nullptr, &action) != 0) return;
  if (action.sa_handler == SIG_DFL) std::signal(SIGPIPE, SIG_IGN);
}

}  // namespace

absl::StatusOr<std::unique_ptr<Wire>> ConnectGlooWire(WireOptions options) {
  IgnoreBrokenPipes();
  auto health =
      std::make_unique<Health>(options.rank, options.names, options.timeout);
  MW_ASSIGN_OR_RETURN(GlooMesh mesh, ConnectGlooMesh(options, *health));
  return std::make_unique<TransportWire>(
      std::make_unique<GlooTransport>(std::move(health), std::move(mesh)));
}

}  // namespace meshwright
