// Replies to commands that are sent once nobody needs any more what the command
// named: a region that devices read from, say.
//
//   LateReplies replies(link);
//   const auto reply = replies.Make(command.id());
//   reply->status = Set(command, /*owner=*/reply);   // Devices may keep it.
#ifndef MESHWRIGHT_RUNTIME_LATE_REPLIES_H_
#define MESHWRIGHT_RUNTIME_LATE_REPLIES_H_

#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "meshwright/runtime/worker_link.h"

namespace meshwright {

class LateReplies {
  struct Outbox {
    std::mutex mutex;
    CoordinatorLink* link = nullptr;  // Guarded by it. Null: it is over.
  };

 public:
  // The link must outlive it.
  explicit LateReplies(CoordinatorLink* link)
      : outbox_(std::make_shared<Outbox>()) {
    outbox_->link = link;
  }
  // What is let go later is not replied to.
  ~LateReplies() {
    const std::lock_guard lock(outbox_->mutex);
    outbox_->link = nullptr;
  }
  LateReplies(const LateReplies&) = delete;
  LateReplies& operator=(const LateReplies&) = delete;

  // Sent when it is destroyed, on any thread.
  struct Reply {
    absl::Status status;

    Reply(std::shared_ptr<Outbox> where, uint64_t number)
        : outbox(std::move(where)), id(number) {}
    ~Reply() {
      proto::WorkerReport report;
      report.mutable_reply()->set_id(id);
      report.mutable_reply()->set_code(static_cast<int>(status.code()));
      report.mutable_reply()->set_message(std::string(status.message()));
      const std::lock_guard lock(outbox->mutex);
      // If the connection ends, its reader notices.
      if (outbox->link != nullptr) {
        outbox->link->Send(std::move(report)).IgnoreError();
      }
    }
    Reply(const Reply&) = delete;
    Reply& operator=(const Reply&) = delete;

    const std::shared_ptr<Outbox> outbox;
    const uint64_t id;
  };
  std::shared_ptr<Reply> Make(uint64_t id) const {
    return std::make_shared<Reply>(outbox_, id);
  }

 private:
  const std::shared_ptr<Outbox> outbox_;
};

}  // namespace meshwright

#endif  // MESHWRIGHT_RUNTIME_LATE_REPLIES_H_
