// The coordinator's end of the streams that workers open.
#ifndef MESHWRIGHT_SERVICE_JOIN_STREAM_H_
#define MESHWRIGHT_SERVICE_JOIN_STREAM_H_

#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <set>
#include <string>

#include "absl/time/time.h"
#include "meshwright/runtime/worker_link.h"
#include "proto/worker.pb.h"

namespace grpc {
class CallbackServerContext;
template <typename Request, typename Response>
class ServerBidiReactor;
}  // namespace grpc

namespace meshwright {

class JoinStream;

struct JoinOptions {
  std::string token;
  std::function<void(std::unique_ptr<WorkerLink>)> on_join;
  absl::Duration hello_timeout;
};

// The streams of one server. Thread-safe.
class Joins : public std::enable_shared_from_this<Joins> {
 public:
  explicit Joins(JoinOptions options) : options_(std::move(options)) {}

  // Answers a call of Join. Workers that are admitted become links.
  grpc::ServerBidiReactor<proto::WorkerReport, proto::WorkerCommand>* Accept(
      grpc::CallbackServerContext* context);
  // Ends streams that have timed out.
  void Tick();
  // After this, on_join is not called any more, and no call is in progress.
  void Stop();

 private:
  friend class JoinStream;

  void OnJoin(std::unique_ptr<WorkerLink> link);
  void Remove(const std::shared_ptr<JoinStream>& stream);

  const JoinOptions options_;
  std::mutex mutex_;  // Guards the members below.
  std::condition_variable changed_;
  std::set<std::shared_ptr<JoinStream>> streams_;
  int joining_ = 0;  // Calls of on_join in progress.
  bool stopped_ = false;
};

}  // namespace meshwright

#endif  // MESHWRIGHT_SERVICE_JOIN_STREAM_H_
