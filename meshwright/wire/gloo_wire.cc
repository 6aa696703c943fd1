#include "meshwright/wire/gloo_wire.h"

#include <csignal>
#include <utility>

#include "meshwright/base/status_macros.h"
#include "meshwright/wire/gloo_mesh.h"
#include "meshwright/wire/gloo_transport.h"
#include "meshwright/wire/health.h"
#include "meshwright/wire/shm_group.h"
#include "meshwright/wire/shm_neighbors.h"
#include "meshwright/wire/transport_wire.h"

namespace meshwright {
namespace {

// Gloo writes to connections that the peer may have closed.
void IgnoreBrokenPipes() {
  struct sigaction action = {};
  if (sigaction(SIGPIPE, nullptr, &action) != 0) return;
  if (action.sa_handler == SIG_DFL) std::signal(SIGPIPE, SIG_IGN);
}

class GlooWire : public TransportWire {
 public:
  GlooWire(std::shared_ptr<ShmNeighbors> neighbors,
           std::unique_ptr<Transport> transport)
      : TransportWire(std::move(transport)), neighbors_(std::move(neighbors)) {}

 protected:
  std::unique_ptr<Group> MakeGroup(std::vector<int> ranks) override {
    if (!neighbors_->Share(ranks)) {
      return TransportWire::MakeGroup(std::move(ranks));
    }
    return std::make_unique<ShmGroup>(neighbors_.get(), &transport().health(),
                                      std::move(ranks));
  }

 private:
  const std::shared_ptr<ShmNeighbors> neighbors_;
};

}  // namespace

absl::StatusOr<std::unique_ptr<Wire>> ConnectGlooWire(WireOptions options) {
  IgnoreBrokenPipes();
  auto health =
      std::make_unique<Health>(options.rank, options.names, options.timeout);
  MW_ASSIGN_OR_RETURN(std::shared_ptr<ShmNeighbors> neighbors,
                      ShmNeighbors::Find(options, *health));
  MW_ASSIGN_OR_RETURN(GlooMesh mesh, ConnectGlooMesh(options, *health));
  health->AddListener([neighbors] { neighbors->WakeAll(); });
  return std::make_unique<GlooWire>(
      std::move(neighbors),
      std::make_unique<GlooTransport>(std::move(health), std::move(mesh)));
}

}  // namespace meshwright
