// A thread that does what it is given in order, and events for each piece.
//
//   FakeStream stream;
//   EventPtr event = stream.Enqueue([] { return absl::OkStatus(); });
//   event->Await();
#ifndef MESHWRIGHT_ENGINE_FAKE_STREAM_H_
#define MESHWRIGHT_ENGINE_FAKE_STREAM_H_

#include <deque>
#include <functional>
#include <memory>
#include <thread>
#include <utility>

#include "absl/status/status.h"
#include "absl/synchronization/mutex.h"
#include "absl/synchronization/notification.h"
#include "meshwright/engine/event.h"

namespace meshwright {

class FakeStream {
 public:
  using Task = std::function<absl::Status()>;

  FakeStream();
  ~FakeStream();  // Does what is left first. Never on the stream's own thread.
  FakeStream(const FakeStream&) = delete;
  FakeStream& operator=(const FakeStream&) = delete;

  // Tasks must not hold on to the stream.
  EventPtr Enqueue(Task task);

 private:
  struct Outcome {
    absl::Notification done;
    absl::Status status;  // Set before `done`.
  };
  class OutcomeEvent;

  void Work();

  absl::Mutex mutex_;
  std::deque<std::pair<Task, std::shared_ptr<Outcome>>> tasks_;
  bool closing_ = false;
  std::thread thread_;  // Last: starts when the rest is there.
};

}  // namespace meshwright

#endif  // MESHWRIGHT_ENGINE_FAKE_STREAM_H_
