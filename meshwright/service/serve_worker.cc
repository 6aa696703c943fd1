#include "meshwright/service/serve_worker.h"

#include <memory>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "meshwright/base/status_macros.h"
#include "meshwright/runtime/worker.h"
#include "meshwright/runtime/worker_engine.h"
#include "meshwright/service/own_address.h"
#include "meshwright/service/worker_client.h"
#include "meshwright/wire/gloo_wire.h"

namespace meshwright {

absl::Status ServeWorker(ServeWorkerOptions options) {
  const Plugin* const plugin = options.opened.plugin;
  const auto open = [&options, plugin](const std::optional<ProcessTeam>& team) {
    ClientOptions client = options.client;
    client.team = team;
    return plugin->CreateClient(client);
  };
  WorkerEngine engine(open, std::move(options.opened.client));
  MW_ASSIGN_OR_RETURN(const std::string address,
                      OwnAddressTowards(options.join));
  JoinCoordinatorOptions join{.address = options.join,
                              .security = options.security,
                              .connect_timeout = options.connect_timeout};
  proto::Hello& hello = join.hello;
  hello.set_platform(engine.client()->platform_name());
  // Some say at length how they were built.
  constexpr size_t kMostBytes = 200;
  hello.set_plugin(
      absl::StrCat(engine.client()->platform_version().substr(0, kMostBytes),
                   ", PJRT ", plugin->api_version()));
  hello.set_device_kind(engine.client()->devices()[0]->kind());
  hello.set_devices(static_cast<int>(engine.client()->devices().size()));
  hello.set_rank(options.rank);
  hello.set_address(address);
  MW_ASSIGN_OR_RETURN(const std::unique_ptr<CoordinatorLink> link,
                      JoinCoordinator(std::move(join)));
  if (options.joined != nullptr) options.joined();
  const auto connect = [&](const JobSpec& spec, int member,
                           KeyValueStore* store) {
    return ConnectGlooWire({.rank = member,
                            .names = spec.worker_names,
                            .store = store,
                            .prefix = absl::StrCat("job", spec.id, "/"),
                            .address = address,
                            .timeout = spec.wire_timeout});
  };
  CompileCache cache(options.cache);
  return Worker(link.get(), {.engine = &engine,
                             .plugin = plugin,
                             .connect = connect,
                             .cache = &cache,
                             .renew = options.renew,
                             .stuck = options.stuck})
      .Serve();
}

}  // namespace meshwright
