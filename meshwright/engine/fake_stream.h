// A thread that runs tasks in order, with an event for each. Uses standard
// locks, which the thread sanitizer understands.
//
//   FakeStream stream;
//   EventPtr event = stream.Enqueue([] { return absl::OkStatus(); });
//   event->Await();
#ifndef MESHWRIGHT_ENGINE_FAKE_STREAM_H_
#define MESHWRIGHT_ENGINE_FAKE_STREAM_H_

#include <condition_variable>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <thread>
#include <utility>

#include "absl/status/status.h"
#include "meshwright/engine/event.h"

namespace meshwright {

class FakeStream {
 public:
  using Task = std::function<absl::Status()>;

  FakeStream();
  // Finishes all tasks first. Must not be called on the stream's own thread.
  ~FakeStream();
  FakeStream(const FakeStream&) = delete;
  FakeStream& operator=(const FakeStream&) = delete;

  // Tasks must not own the stream.
  EventPtr Enqueue(Task task);

 private:
  struct Outcome {
    std::mutex mutex;
    std::condition_variable changed;
    std::optional<absl::Status> status;  // Set when done.
  };
  class OutcomeEvent;

  void Work();

  std::mutex mutex_;  // Guards the next three members.
  std::condition_variable changed_;
  std::deque<std::pair<Task, std::shared_ptr<Outcome>>> tasks_;
  bool closing_ = false;
  // Declared last: starts when everything else is constructed.
  std::thread thread_;
};

}  // namespace meshwright

#endif  // MESHWRIGHT_ENGINE_FAKE_STREAM_H_
