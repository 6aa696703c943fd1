// One end of a stream of messages in both directions: a bounded queue each way,
// at most one read and one write under way.
//
// The transport is the deriving class's: Begin...() start an operation, and it
// calls On...() when that is done. All Begin...() come with a lock held, never
// two of a kind at once.
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

  // In order. Waits while too much is queued, unless it is urgent.
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

  // Waits. Once the stream has ended, and all that came has been taken: why.
  absl::StatusOr<In> Receive() {
    absl::StatusOr<In> message = inbox_.Pop();
    std::unique_lock lock(mutex_);
    Pump();
    return message;
  }

  // Sends what is queued, then ends this side. What comes is dropped.
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
  // This side has closed and all is written. Once. Returns whether to go on
  // reading, until the other side has closed too.
  virtual bool WritesOver() = 0;
  // Nothing comes any more, and no write is under way. At most once; nothing is
  // begun afterwards.
  virtual void StreamOver() = 0;

  // Begins to read and write.
  void Open() {
    std::unique_lock lock(mutex_);
    open_ = true;
    Pump();
  }

  void OnRead(bool ok) {
    std::unique_lock lock(mutex_);
    reading_ = false;
    if (ok) {
      // Refused when this side has closed: dropped.
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

  // The other side is gone, though no read has told.
  void StopReading() {
    std::unique_lock lock(mutex_);
    reads_over_ = true;
    Pump();
  }

  // Why the stream has ended: for all who wait, or ask later.
  void End(const absl::Status& why) {
    outbox_.Close(why);
    outbox_.Clear();
    inbox_.Close(why);
  }

 private:
  // Begins what can be begun. Needs mutex_.
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
    // After a failed write, reads find out how the stream ended.
    if (!reading_ && (inbox_.HasRoom() || write_failed_)) {
      reading_ = true;
      BeginRead(&read_);
    }
  }

  MessageQueue<In> inbox_{kMaxQueuedBytes};
  MessageQueue<Out> outbox_{kMaxQueuedBytes};

  std::mutex mutex_;  // Guards the rest, and what is begun.
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
