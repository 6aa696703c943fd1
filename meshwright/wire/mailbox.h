// Messages between threads of one process.
#ifndef MESHWRIGHT_WIRE_MAILBOX_H_
#define MESHWRIGHT_WIRE_MAILBOX_H_

#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <tuple>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "absl/status/status.h"
#include "absl/types/span.h"
#include "meshwright/wire/health.h"
#include "meshwright/wire/transport.h"
#include "meshwright/wire/wire.h"

namespace meshwright {

// Thread-safe.
class Mailbox {
 public:
  struct Route {
    int from = 0;
    int to = 0;
    uint64_t slot = 0;

    bool operator==(const Route&) const = default;
    template <typename H>
    friend H AbslHashValue(H h, const Route& route) {
      return H::combine(std::move(h), route.from, route.to, route.slot);
    }
  };

  // `health` is that of the calling worker, and must outlive the transfer.
  std::unique_ptr<Transfer> Send(const Route& route,
                                 absl::Span<const std::byte> bytes,
                                 Health& health);
  std::unique_ptr<Transfer> Receive(const Route& route,
                                    absl::Span<std::byte> into, Health& health);
  absl::Status Park(const Route& route, OwnedBytes bytes, Health& health);

  // Drops this worker's messages and receives.
  void Forget(int rank);
  // Makes waiters check their health again.
  void WakeAll();

 private:
  friend class MailboxTransfer;

  // One side of a message, matched with the other side or not.
  struct Post {
    absl::Span<const std::byte> bytes = {};
    absl::Span<std::byte> into = {};
    std::shared_ptr<const void> owner = nullptr;
    bool done = false;
  };
  using PostPtr = std::shared_ptr<Post>;
  using Posts = absl::flat_hash_map<Route, std::deque<PostPtr>>;

  // Require the mutex.
  void AddSend(const Route& route, const PostPtr& post);
  static PostPtr TakeFirst(Posts& posts, const Route& route);
  static void Remove(Posts& posts, const Route& route, const PostPtr& post);
  static void Deliver(Post& sent, Post& received);
  void Withdraw(const Route& route, const PostPtr& post);

  std::mutex mutex_;  // Guards the next three.
  std::condition_variable changed_;
  Posts sends_;
  Posts receives_;
};

}  // namespace meshwright

#endif  // MESHWRIGHT_WIRE_MAILBOX_H_
