// Messages over Gloo's connections. Only for gloo_*.cc.
//
// Each worker keeps a receive posted for the goodbye message of every other
// one. When a peer dies, its connection closes, that receive fails, and so does
// everything that waits. A worker that fails sends the reason before it closes
// its connections, so that it is not blamed itself.
#ifndef MESHWRIGHT_WIRE_GLOO_TRANSPORT_H_
#define MESHWRIGHT_WIRE_GLOO_TRANSPORT_H_

#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <list>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "absl/container/flat_hash_set.h"
#include "absl/status/status.h"
#include "absl/types/span.h"
#include "meshwright/wire/gloo_buffer.h"
#include "meshwright/wire/gloo_goodbye.h"
#include "meshwright/wire/gloo_mesh.h"
#include "meshwright/wire/health.h"
#include "meshwright/wire/mailbox.h"
#include "meshwright/wire/transport.h"

namespace meshwright {

class GlooTransport : public Transport {
 public:
  GlooTransport(std::unique_ptr<Health> health, GlooMesh mesh);
  ~GlooTransport() override;

  Health& health() override { return *health_; }
  std::unique_ptr<Transfer> Send(int to, uint64_t slot,
                                 absl::Span<const std::byte> bytes) override;
  std::unique_ptr<Transfer> Receive(int from, uint64_t slot,
                                    absl::Span<std::byte> into) override;
  absl::Status Park(int to, uint64_t slot, OwnedBytes bytes) override;

  // Waits until the message with `peer` is complete.
  absl::Status Await(GlooBuffer& buffer, int peer);

 private:
  struct Parked {
    std::unique_ptr<GlooBuffer> buffer;
    std::shared_ptr<const void> owner;
  };
  // The goodbye messages between this worker and another.
  struct Farewell {
    internal::Goodbye heard;
    std::unique_ptr<GlooBuffer> hears;  // Null when it has been heard.
    std::unique_ptr<GlooBuffer> answers;
    internal::Goodbye said;
    std::unique_ptr<GlooBuffer> says;
    std::unique_ptr<GlooBuffer> hears_answer;
  };

  // Handles messages that nobody waits for, until the transport is destroyed.
  void Keep();
  void LookAt(int peer);
  void DropSent();
  // Waits until all have answered, or will not.
  void SayGoodbye();
  bool IsAnswered();
  // The reason why a message with `peer` failed.
  absl::Status Blame(int peer);
  void WakeAll();

  const std::unique_ptr<Health> health_;
  const GlooMesh mesh_;
  Mailbox to_self_;

  std::mutex farewell_mutex_;
  std::vector<Farewell> farewells_;

  std::mutex waiting_mutex_;
  absl::flat_hash_set<GlooBuffer*> waiting_;

  std::mutex keeper_mutex_;  // Guards the next four.
  std::condition_variable asked_;
  std::list<Parked> parked_;
  bool poked_ = false;
  bool over_ = false;
  std::thread keeper_;
};

}  // namespace meshwright

#endif  // MESHWRIGHT_WIRE_GLOO_TRANSPORT_H_
