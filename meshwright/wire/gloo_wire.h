// Wires between processes: Gloo's TCP connections, and shared memory among the
// workers of one machine.
//
//   MW_ASSIGN_OR_RETURN(
//       std::unique_ptr<Wire> wire,
//       ConnectGlooWire({.rank = 1,
//                        .names = {"host-1 (worker 0)", "host-3 (worker 1)"},
//                        .store = &store,
//                        .prefix = "job7/2/",
//                        .address = "10.0.0.3"}));
//
// All workers of the job call it. From then on SIGPIPE is ignored, unless the
// process has a handler for it.
#ifndef MESHWRIGHT_WIRE_GLOO_WIRE_H_
#define MESHWRIGHT_WIRE_GLOO_WIRE_H_

#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "meshwright/wire/key_value_store.h"
#include "meshwright/wire/wire.h"

namespace meshwright {

struct WireOptions {
  int rank = 0;
  std::vector<std::string> names = {};  // Of all workers.
  KeyValueStore* store = nullptr;       // Must outlive the wire.
  std::string prefix = "";  // Of keys; unique per job and incarnation.
  std::string address = "127.0.0.1";  // Of this worker, to bind.
  absl::Duration timeout = absl::Seconds(30);
  bool shared_memory = true;
};

// kDeadlineExceeded or kUnavailable, naming the worker that could not be
// reached.
absl::StatusOr<std::unique_ptr<Wire>> ConnectGlooWire(WireOptions options);

}  // namespace meshwright

#endif  // MESHWRIGHT_WIRE_GLOO_WIRE_H_
