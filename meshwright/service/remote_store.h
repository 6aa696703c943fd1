// The coordinator's key-value store, accessed by workers.
#ifndef MESHWRIGHT_SERVICE_REMOTE_STORE_H_
#define MESHWRIGHT_SERVICE_REMOTE_STORE_H_

#include <memory>
#include <string>

#include "meshwright/service/security.h"
#include "meshwright/wire/key_value_store.h"

namespace grpc {
class Channel;
}

namespace meshwright {

class RemoteStore : public KeyValueStore {
 public:
  static std::unique_ptr<RemoteStore> Create(
      std::string address, Security security,
      std::shared_ptr<grpc::Channel> channel);

  // Ends waiting and later calls with kCancelled.
  virtual void Close() = 0;
};

}  // namespace meshwright

#endif  // MESHWRIGHT_SERVICE_REMOTE_STORE_H_
