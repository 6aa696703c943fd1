// Sends device arrays to other workers while programs run.
#ifndef MESHWRIGHT_RUNTIME_SHIPPER_H_
#define MESHWRIGHT_RUNTIME_SHIPPER_H_

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <string>
#include <thread>

#include "absl/status/status.h"
#include "meshwright/engine/buffer.h"
#include "meshwright/wire/wire.h"

namespace meshwright {

// Thread-safe.
class Shipper {
 public:
  // The wire must outlive it.
  explicit Shipper(Wire* wire);
  ~Shipper();  // Sends what is queued first.

  // Starts reading the buffer, and sends its bytes once they are available.
  // `keep` holds what must live until then. Device errors are reported to
  // waiters on the wire.
  absl::Status Ship(const Buffer& buffer, std::shared_ptr<const void> keep,
                    int to, const MessageKey& key);

  int64_t bytes() const;  // Sent so far.

 private:
  struct Item {
    EventPtr read;
    MessageMemory memory;
    std::shared_ptr<const void> keep;
    int to = 0;
    MessageKey key;
  };

  void Work();

  Wire* const wire_;
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<Item> items_;
  int64_t bytes_ = 0;
  bool is_over_ = false;
  std::thread thread_;
};

}  // namespace meshwright

#endif  // MESHWRIGHT_RUNTIME_SHIPPER_H_
