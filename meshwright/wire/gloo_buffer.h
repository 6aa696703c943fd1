// A message in Gloo's transport. Only for gloo_*.cc.
//
// Gloo's own waits close all connections when they time out, and do not end
// when the peer dies in the middle of a message. This class implements its own
// waiting.
#ifndef MESHWRIGHT_WIRE_GLOO_BUFFER_H_
#define MESHWRIGHT_WIRE_GLOO_BUFFER_H_

#include <gloo/transport/tcp/unbound_buffer.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>

#include "absl/time/time.h"
#include "absl/types/span.h"
#include "meshwright/wire/gloo_mesh.h"

namespace meshwright {

// Transfers one message, once, in one direction. Must be destroyed before its
// bytes; Gloo does not access them afterwards.
class GlooBuffer : public gloo::transport::tcp::UnboundBuffer {
 public:
  enum class State : uint8_t { kUnderWay, kDone, kFailed };

  static std::unique_ptr<GlooBuffer> Send(const GlooMesh& mesh, int to,
                                          uint64_t slot,
                                          absl::Span<const std::byte> bytes);
  static std::unique_ptr<GlooBuffer> Receive(const GlooMesh& mesh, int from,
                                             uint64_t slot,
                                             absl::Span<std::byte> into);

  State state();
  // Waits until it is complete, `give_up` returns true, or the deadline.
  // `give_up` is called again after Wake().
  State Wait(absl::Time deadline, const std::function<bool()>& give_up);
  void Wake();

 private:
  GlooBuffer(const GlooMesh& mesh, void* data, size_t bytes, bool sends);
  State LockedState() const;

  const bool sends_;
  bool refused_ = false;  // It could not even be started.
};

// Closes all connections; messages in progress fail.
void CloseGlooMesh(const GlooMesh& mesh);

}  // namespace meshwright

#endif  // MESHWRIGHT_WIRE_GLOO_BUFFER_H_
