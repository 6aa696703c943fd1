// A connection between a coordinator and a worker in the same process.
//
//   MemoryLink link = MakeMemoryLink(hello, &store);
//
// Behaves like one over the network: each end may be destroyed at any time, and
// the other notices.
#ifndef MESHWRIGHT_RUNTIME_MEMORY_LINK_H_
#define MESHWRIGHT_RUNTIME_MEMORY_LINK_H_

#include <memory>

#include "meshwright/runtime/worker_link.h"
#include "meshwright/wire/key_value_store.h"
#include "proto/worker.pb.h"

namespace meshwright {

struct MemoryLink {
  std::unique_ptr<WorkerLink> worker;  // The coordinator's end.
  std::unique_ptr<CoordinatorLink> coordinator;
};

// `store` must outlive both ends.
MemoryLink MakeMemoryLink(proto::Hello hello, KeyValueStore* store);

}  // namespace meshwright

#endif  // MESHWRIGHT_RUNTIME_MEMORY_LINK_H_
