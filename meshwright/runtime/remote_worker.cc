#include "meshwright/runtime/remote_worker.h"

#include <atomic>
#include <chrono>
#include <utility>

#include "meshwright/base/status_macros.h"
#include "meshwright/base/steady_time.h"
#include "meshwright/runtime/part_bytes.h"

namespace meshwright {

namespace {

// It answers at once, whatever it is doing.
constexpr std::chrono::seconds kMapTime(10);

int64_t NextSerial() {
  static std::atomic<int64_t> last = 0;
  return ++last;
}

}  // namespace

RemoteWorker::RemoteWorker(std::string name, std::unique_ptr<WorkerLink> link)
    : name_(std::move(name)), serial_(NextSerial()), link_(std::move(link)) {}

RemoteWorker::~RemoteWorker() = default;

void RemoteWorker::Start(std::function<void()> changed) {
  changed_ = std::move(changed);
  link_->Start({.report =
                    [this](proto::WorkerReport report) {
                      if (report.has_heartbeat()) UnmapUnused();
                      Receive(std::move(report));
                      changed_();
                    },
                .lost =
                    [this](absl::Status why) {
                      Lose(why);
                      changed_();
                    }});
}

void RemoteWorker::Receive(proto::WorkerReport report) {
  std::shared_ptr<const void> lent;  // Let go after the lock is released.
  const std::lock_guard lock(mutex_);
  heard_ = SteadyNow();
  switch (report.report_case()) {
    case proto::WorkerReport::kHeartbeat:
      actions_.assign(report.heartbeat().actions().begin(),
                      report.heartbeat().actions().end());
      break;
    case proto::WorkerReport::kReply: {
      proto::Reply& reply = *report.mutable_reply();
      const auto found = lent_.extract(reply.id());
      if (!found.empty()) lent = std::move(found.mapped());
      if (reply.id() != 0 && found.empty()) {
        replies_[reply.id()] = std::move(reply);
        replied_.notify_all();
      } else {
        failure_.Update(
            {static_cast<absl::StatusCode>(reply.code()), reply.message()});
      }
      break;
    }
    case proto::WorkerReport::kStep:
      steps_.push_back(std::move(*report.mutable_step()));
      break;
    case proto::WorkerReport::kPart:
      parts_[report.part().id()].push_back(std::move(*report.mutable_part()));
      break;
    case proto::WorkerReport::kSaved:
      saved_[report.saved().save()].push_back(
          std::move(*report.mutable_saved()));
      break;
    default:
      break;
  }
}

void RemoteWorker::Lose(const absl::Status& why) {
  // Let go after the lock is released.
  std::map<uint64_t, std::shared_ptr<const void>> lent;
  const std::lock_guard lock(mutex_);
  lent.swap(lent_);
  health_.Update(why.ok() ? absl::UnavailableError("it left") : why);
  replied_.notify_all();
}

absl::Status RemoteWorker::health() const {
  const std::lock_guard lock(mutex_);
  return health_;
}

bool RemoteWorker::IsSilentFor(absl::Duration time) const {
  const std::lock_guard lock(mutex_);
  return SteadyNow() - heard_ > time;
}

std::vector<std::string> RemoteWorker::last_actions() const {
  const std::lock_guard lock(mutex_);
  return actions_;
}

absl::StatusOr<uint64_t> RemoteWorker::Command(proto::WorkerCommand command) {
  uint64_t id = 0;
  {
    const std::lock_guard lock(mutex_);
    id = next_id_++;
  }
  command.set_id(id);
  MW_RETURN_IF_ERROR(link_->Send(std::move(command)));
  return id;
}

absl::Status RemoteWorker::Post(proto::WorkerCommand command) {
  return link_->Send(std::move(command));
}

absl::Status RemoteWorker::Lend(proto::WorkerCommand command,
                                std::shared_ptr<const void> owner) {
  uint64_t id = 0;
  {
    const std::lock_guard lock(mutex_);
    MW_RETURN_IF_ERROR(health_);
    id = next_id_++;
    lent_[id] = std::move(owner);
  }
  command.set_id(id);
  absl::Status sent = link_->Send(std::move(command));
  if (sent.ok()) return sent;
  std::map<uint64_t, std::shared_ptr<const void>>::node_type lent;
  const std::lock_guard lock(mutex_);
  lent = lent_.extract(id);
  return sent;
}

bool RemoteWorker::CanMap(const std::shared_ptr<const SharedMemory>& memory) {
  if (memory == nullptr || memory->address().empty()) return false;
  const std::lock_guard asking(mapping_);
  {
    const std::lock_guard lock(mutex_);
    const auto found = mappings_.find(memory->address());
    if (found != mappings_.end()) return found->second.is_there;
  }
  proto::WorkerCommand command;
  command.mutable_map()->set_memory(memory->address());
  const absl::StatusOr<uint64_t> id = Command(std::move(command));
  if (!id.ok()) return false;
  std::unique_lock lock(mutex_);
  replied_.wait_for(lock, kMapTime,
                    [&] { return replies_.contains(*id) || !health_.ok(); });
  const auto reply = replies_.extract(*id);
  const bool is_there = !reply.empty() && reply.mapped().code() == 0;
  mappings_[memory->address()] = {memory, is_there};
  return is_there;
}

void RemoteWorker::UnmapUnused() {
  std::vector<proto::WorkerCommand> commands;
  {
    const std::lock_guard lock(mutex_);
    std::erase_if(mappings_, [&](const auto& mapping) {
      if (!mapping.second.memory.expired()) return false;
      commands.emplace_back().mutable_unmap()->set_memory(mapping.first);
      return true;
    });
  }
  for (proto::WorkerCommand& command : commands) {
    // A lost worker has none.
    Post(std::move(command)).IgnoreError();
  }
}

absl::Status RemoteWorker::SendBlob(const std::string& hash,
                                    const std::string& bytes) {
  {
    const std::lock_guard lock(mutex_);
    if (!blobs_.insert(hash).second) return absl::OkStatus();
  }
  return ForEachPart(bytes,
                     [&](int64_t offset, absl::string_view part, bool last) {
                       proto::WorkerCommand command;
                       proto::Blob& blob = *command.mutable_blob();
                       blob.set_hash(hash);
                       blob.set_bytes(std::string(part));
                       blob.set_first(offset == 0);
                       blob.set_last(last);
                       return Post(std::move(command));
                     });
}

void RemoteWorker::ForgetBlobs() {
  const std::lock_guard lock(mutex_);
  blobs_.clear();
}

void RemoteWorker::ForgetReports() {
  const std::lock_guard lock(mutex_);
  replies_.clear();
  failure_ = absl::OkStatus();
  steps_.clear();
  parts_.clear();
  saved_.clear();
}

bool RemoteWorker::TakeReply(uint64_t id, proto::Reply* reply) {
  const std::lock_guard lock(mutex_);
  auto found = replies_.extract(id);
  if (found.empty()) return false;
  *reply = std::move(found.mapped());
  return true;
}

absl::Status RemoteWorker::TakeFailure() {
  const std::lock_guard lock(mutex_);
  return std::exchange(failure_, absl::OkStatus());
}

std::deque<proto::StepDone> RemoteWorker::TakeSteps() {
  const std::lock_guard lock(mutex_);
  return std::exchange(steps_, {});
}

std::vector<proto::TensorPart> RemoteWorker::TakeParts(uint64_t id) {
  const std::lock_guard lock(mutex_);
  auto found = parts_.extract(id);
  return found.empty() ? std::vector<proto::TensorPart>()
                       : std::move(found.mapped());
}

std::vector<proto::SavedFiles> RemoteWorker::TakeSaved(uint64_t save) {
  const std::lock_guard lock(mutex_);
  auto found = saved_.extract(save);
  return found.empty() ? std::vector<proto::SavedFiles>()
                       : std::move(found.mapped());
}

}  // namespace meshwright
