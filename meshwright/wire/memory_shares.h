// Memory that clients on this machine share with a coordinator that they did
// not start, and with its workers here, so that arrays need not be sent.
//
//   auto shares = MemoryShares::Start();
//   shares->name();      // Told to clients by Status.
//   shares->Find(key);   // Null: no client has that key.
//
//   AttachMemory(shares->Find(key)->address());   // In a worker.
//
// A client connects to the abstract Unix socket of that name, sends a byte with
// a memfd (SCM_RIGHTS), and is sent the key by which its calls name the memory.
// That is gone when the connection is. A worker sends the key instead, and is
// sent the memfd. Who is on another machine, or in another container, finds no
// such socket. The name and the keys are secret numbers: whoever knows the name
// has been answered, and a client names its own memory alone.
#ifndef MESHWRIGHT_WIRE_MEMORY_SHARES_H_
#define MESHWRIGHT_WIRE_MEMORY_SHARES_H_

#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <thread>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "meshwright/base/shared_memory.h"

namespace meshwright {

// Thread-safe.
class MemoryShares {
 public:
  // kUnavailable where there are no such sockets.
  static absl::StatusOr<std::unique_ptr<MemoryShares>> Start();
  ~MemoryShares();
  MemoryShares(const MemoryShares&) = delete;
  MemoryShares& operator=(const MemoryShares&) = delete;

  const std::string& name() const { return name_; }
  std::shared_ptr<const SharedMemory> Find(absl::string_view key) const;

 private:
  MemoryShares(int listener, int end, std::string name);

  struct Shared {
    int file = -1;
    std::shared_ptr<const SharedMemory> memory = nullptr;
  };

  void Serve();
  void Accept();
  // False when the connection is over.
  bool Receive(int fd);
  // Sends who has connected the memfd of this key.
  void Lend(int fd, absl::string_view key) const;
  void End(int fd);

  const int listener_;
  const int end_;  // An event: it is over.
  const std::string name_;
  // Of the thread: by connection, the key, once there is one.
  std::map<int, std::string> connections_;
  mutable std::mutex mutex_;
  // By key. Guarded by the mutex; changed by the thread only.
  std::map<std::string, Shared, std::less<>> memories_;
  std::thread thread_;  // Declared last: uses all of the above.
};

// Maps memory of another process, where its address says (SharedMemory).
// kUnavailable if it is not there, or not on this machine.
absl::StatusOr<std::shared_ptr<const SharedMemory>> AttachMemory(
    const std::string& address);

}  // namespace meshwright

#endif  // MESHWRIGHT_WIRE_MEMORY_SHARES_H_
