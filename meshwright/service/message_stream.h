// One end of a bidirectional message stream: a bounded queue in each direction,
// at most one read and one write in progress.
//
// The deriving class implements the transport: Begin...() starts an operation,
// and the class calls On...() when it is done. Begin...() is called with a lock
// held, and never twice for the same kind of operation at once.
#ifndef MESHWRIGHT_SERVICE_MESSAGE_STREAM_H_
#define MESHWRIGHT_SERVICE_MESSAGE_STREAM_H_

#include <mutex>
#include <optional>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "meshwright/runtime/message_queue.h"
#include "meshwright/service/limits.h"
#include "meshwright/service/utf8.h"

namespace meshwright {

template <typename In, typename Out>
class MessageStream {
 public:
  virtual ~MessageStream() = default;

  // Messages are sent in order. Waits while too much is queued, unless urgent.
  absl::Status Send(Out message, bool urgent = false) {
    if (message.ByteSizeLong() > kMaxMessageBytes) {
      return absl::InvalidArgumentError(absl::StrCat(
          "a message of ", message.ByteSizeLong(), " bytes; at most ",
          kMaxMessageBytes, " go in one, more in parts of ", kPartBytes));
    }
    MakeUtf8(message);
    const absl::Status queued = urgent ? outbox_.PushNow(std::move(message))
                                       : outbox_.Push(std::move(message));
    std::unique_lock lock(mutex_);
    Pump();
    return queued;
  }

  // Waits. When the stream has ended and everything received has been taken,
  // returns the reason.
  absl::StatusOr<In> Receive() {
    absl::StatusOr<In> message = inbox_.Pop();
    std::unique_lock lock(mutex_);
    Pump();
    return message;
  }

  // Sends what is queued, then closes this side. Received messages are dropped.
  void Close() {
    const absl::Status closed = absl::UnavailableError("the link is closed");
    outbox_.Close(closed);
    inbox_.Close(closed);
    inbox_.Clear();
    std::unique_lock lock(mutex_);
    closing_ = true;
    Pump();
  }

 protected:
  virtual void BeginRead(In* into) = 0;
  virtual void BeginWrite(const Out* message) = 0;
  // Called once, when this side has closed and everything is written. Returns
  // whether to continue reading until the other side has closed, too.
  virtual bool WritesOver() = 0;
  // Called at most once, when nothing will be received any more and no write is
  // in progress; no operation is started afterwards.
  virtual void StreamOver() = 0;

  // Starts reading and writing.
  void Open() {
    std::unique_lock lock(mutex_);
    open_ = true;
    Pump();
  }

  void OnRead(bool ok) {
    std::unique_lock lock(mutex_);
    reading_ = false;
    if (ok) {
      // Refused if this side has closed: dropped.
      (void)inbox_.PushNow(std::move(read_));
      read_ = In();
    } else {
      reads_over_ = true;
    }
    Pump();
  }

  void OnWritten(bool ok) {
    std::unique_lock lock(mutex_);
    writing_ = false;
    write_ = Out();
    if (!ok) write_failed_ = true;
    Pump();
  }

  // The other side is known to be gone although no read has failed.
  void StopReading() {
    std::unique_lock lock(mutex_);
    reads_over_ = true;
    Pump();
  }

  // The reason why the stream has ended, for present and later waiters.
  void End(const absl::Status& why) {
    outbox_.Close(why);
    outbox_.Clear();
    inbox_.Close(why);
  }

 private:
  // Starts what can be started. Requires: mutex_ is held.
  void Pump() {
    if (!open_ || stream_over_) return;
    if (reads_over_) {
      if (writing_) return;
      stream_over_ = true;
      return StreamOver();
    }
    if (!writing_ && !write_failed_ && !writes_over_) {
      if (std::optional<Out> next = outbox_.TryPop()) {
        write_ = *std::move(next);
        writing_ = true;
        BeginWrite(&write_);
      } else if (closing_) {
        writes_over_ = true;
        stream_over_ = !WritesOver();
        if (stream_over_) return;
      }
    }
    // After a failed write, a read finds out how the stream ended.
    if (!reading_ && (inbox_.HasRoom() || write_failed_)) {
      reading_ = true;
      BeginRead(&read_);
    }
  }

  MessageQueue<In> inbox_{kMaxQueuedBytes};
  MessageQueue<Out> outbox_{kMaxQueuedBytes};

  std::mutex mutex_;  // Guards the members below, and the started operations.
  In read_;
  Out write_;
  bool open_ = false;
  bool closing_ = false;
  bool reading_ = false;
  bool writing_ = false;
  bool reads_over_ = false;
  bool write_failed_ = false;
  bool writes_over_ = false;
  bool stream_over_ = false;
};

}  // namespace meshwright

#endif  // MESHWRIGHT_SERVICE_MESSAGE_STREAM_H_
