#include "meshwright/service/job_client.h"

#include <grpcpp/channel.h>
#include <grpcpp/client_context.h>
#include <grpcpp/support/sync_stream.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <limits>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "meshwright/base/status_macros.h"
#include "meshwright/base/steady_time.h"
#include "meshwright/service/channel.h"
#include "meshwright/service/grpc_status.h"
#include "meshwright/service/limits.h"
#include "meshwright/service/periodic.h"
#include "meshwright/service/tensor_parts.h"
#include "meshwright/service/utf8.h"
#include "proto/service.grpc.pb.h"

namespace meshwright {
namespace {

constexpr std::chrono::milliseconds kLookInterval(100);

// A write failed: the call's status says why.
absl::Status WriteFailed() { return absl::AbortedError("the call has ended"); }

// Calls `send` with pieces of `bytes`.
absl::Status InPieces(
    const std::string& bytes,
    const std::function<absl::Status(std::string piece)>& send) {
  for (size_t at = 0; at < bytes.size(); at += kPartBytes) {
    MW_RETURN_IF_ERROR(send(bytes.substr(at, kPartBytes)));
  }
  return absl::OkStatus();
}

template <typename Stream>
absl::Status SendUpload(Stream& stream, proto::Upload::What what,
                        const std::string& bytes) {
  return InPieces(bytes, [&](std::string piece) {
    proto::Upload part;
    part.set_what(what);
    part.set_bytes(std::move(piece));
    return stream.Write(part) ? absl::OkStatus() : WriteFailed();
  });
}

// Sends all tensors, each part as the `tensor` of a Part.
template <typename Part, typename Stream>
absl::Status SendTensors(Stream& stream, TensorSource& tensors) {
  while (true) {
    MW_ASSIGN_OR_RETURN(std::optional<LentTensor> tensor, tensors.Next());
    if (!tensor.has_value()) return absl::OkStatus();
    const Tensor whole = Owned(*std::move(tensor));
    MW_RETURN_IF_ERROR(SendParts(whole, [&](proto::NamedTensorPart next) {
      Part part;
      *part.mutable_tensor() = std::move(next);
      return stream.Write(part) ? absl::OkStatus() : WriteFailed();
    }));
  }
}

// The context of a call, cancelled with it.
class CallContext {
 public:
  CallContext(const Security& security, const JobCall* call)
      : call_(call), looks_(kLookInterval, [this] { Look(); }) {
    AddCredentials(security, context_);
    Look();  // Many short calls are given up, too.
  }

  grpc::ClientContext* get() { return &context_; }

  // Ends a stream of which `local` is what happened on our side: an error here
  // cancels the call and is the answer; else it is the server's status.
  template <typename Stream>
  absl::Status Finish(Stream& stream, const absl::Status& local) {
    const bool ours = !local.ok() && local != WriteFailed();
    if (ours) context_.TryCancel();
    const absl::Status status = Take(stream.Finish());
    return ours ? local : status;
  }

  absl::Status Take(const grpc::Status& status) {
    is_answer_ = IsOurs(status);
    return FromGrpc(status);
  }
  // Whether what was taken is the coordinator's word, not gRPC's.
  bool is_answer() const { return is_answer_; }

 private:
  void Look() {
    if (call_ != nullptr && call_->cancelled()) context_.TryCancel();
  }

  const JobCall* const call_;
  grpc::ClientContext context_;
  bool is_answer_ = false;
  Periodic looks_;  // Last: ends first.
};

class JobClient final : public JobService {
 public:
  JobClient(ConnectJobsOptions options, std::shared_ptr<grpc::Channel> channel)
      : options_(std::move(options)), stub_(proto::Jobs::NewStub(channel)) {}

  absl::StatusOr<std::string> Plan(PlanInput input, JobCall& call) override {
    CallContext context(options_.security, &call);
    const auto stream = stub_->Plan(context.get());
    absl::Status local =
        SendUpload(*stream, proto::Upload::MODULE, input.module);
    local.Update(SendUpload(*stream, proto::Upload::CLUSTER, input.cluster));
    local.Update(SendUpload(*stream, proto::Upload::OPTIONS, input.options));
    stream->WritesDone();
    std::string plan;
    proto::PlanPart part;
    while (stream->Read(&part)) plan.append(part.plan());
    MW_RETURN_IF_ERROR(Explained(context, context.Finish(*stream, local)));
    return plan;
  }

  absl::StatusOr<int64_t> LoadBeside(int64_t beside, std::string module,
                                     std::string plan, JobCall& call) override {
    CallContext context(options_.security, &call);
    last_step_ = -1;
    proto::LoadReply reply;
    const auto stream = stub_->Load(context.get(), &reply);
    absl::Status local = SendUpload(*stream, proto::Upload::MODULE, module);
    local.Update(SendUpload(*stream, proto::Upload::PLAN, plan));
    if (beside != 0) {
      local.Update(
          SendUpload(*stream, proto::Upload::BESIDE, absl::StrCat(beside)));
    }
    stream->WritesDone();
    MW_RETURN_IF_ERROR(Explained(context, context.Finish(*stream, local)));
    return reply.job();
  }

  absl::Status Init(int64_t job, InitFrom from, TensorSource& tensors,
                    JobCall& call) override {
    CallContext context(options_.security, &call);
    proto::InitReply reply;
    const auto stream = stub_->Init(context.get(), &reply);
    const absl::Status local = SendInit(*stream, job, from, tensors);
    stream->WritesDone();
    return Explained(context, context.Finish(*stream, local));
  }

  absl::Status Feed(int64_t job, std::string dataset, int64_t position,
                    JobCall& call) override {
    CallContext context(options_.security, &call);
    proto::FeedRequest request;
    request.set_job(job);
    if (!IsUtf8(dataset)) {
      return absl::InvalidArgumentError("dataset: is not a JSON object");
    }
    request.set_dataset(std::move(dataset));
    request.set_position(position);
    proto::FeedReply reply;
    return Explained(context,
                     context.Take(stub_->Feed(context.get(), request, &reply)));
  }

  absl::Status Step(int64_t job, int64_t count, TensorSource& data,
                    const StepSink& done, JobCall& call) override {
    CallContext context(options_.security, &call);
    const auto stream = stub_->Step(context.get());
    proto::StepPart begin;
    begin.mutable_begin()->set_job(job);
    begin.mutable_begin()->set_count(count);
    begin.mutable_begin()->set_batch(data.staged());
    absl::Status local =
        stream->Write(begin) ? absl::OkStatus() : WriteFailed();
    if (local.ok()) local = SendTensors<proto::StepPart>(*stream, data);
    stream->WritesDone();
    proto::StepResult result;
    // After a failed write there may still be results.
    while ((local.ok() || local == WriteFailed()) && stream->Read(&result)) {
      last_step_ = result.step();
      JobStep step = {.step = result.step(), .seconds = result.seconds()};
      if (result.has_loss()) step.loss = result.loss();
      if (result.has_position()) step.position = result.position();
      if (absl::Status status = done(step); !status.ok()) local = status;
    }
    return Explained(context, context.Finish(*stream, local));
  }

  absl::Status Stage(int64_t job, int64_t batch, TensorSource& data,
                     JobCall& call) override {
    CallContext context(options_.security, &call);
    proto::StageReply reply;
    const auto stream = stub_->Stage(context.get(), &reply);
    proto::StagePart begin;
    begin.mutable_begin()->set_job(job);
    begin.mutable_begin()->set_batch(batch);
    absl::Status local =
        stream->Write(begin) ? absl::OkStatus() : WriteFailed();
    if (local.ok()) local = SendTensors<proto::StagePart>(*stream, data);
    stream->WritesDone();
    return Explained(context, context.Finish(*stream, local));
  }

  absl::Status Fetch(int64_t job, std::vector<Wanted> wanted,
                     const TensorSink& sink, JobCall& call) override {
    CallContext context(options_.security, &call);
    proto::FetchRequest request;
    request.set_job(job);
    for (auto& [name, into, owner] : wanted) {
      if (!IsUtf8(name)) {
        return absl::NotFoundError(
            absl::StrCat("no tensor is named \"", AsUtf8(name), "\""));
      }
      request.add_names(name);
    }
    const auto stream = stub_->Fetch(context.get(), request);
    return Explained(context,
                     context.Finish(*stream, Receive(*stream, wanted, sink)));
  }

  absl::Status Move(int64_t from, int64_t to, StateMoves moves,
                    JobCall& call) override {
    CallContext context(options_.security, &call);
    proto::MoveRequest request;
    request.set_from(from);
    request.set_to(to);
    request.set_drop(moves.drop);
    for (StateMoves::Move& one : moves.moves) {
      request.add_taken(std::move(one.taken));
      request.add_given(std::move(one.given));
    }
    proto::MoveReply reply;
    return Explained(context,
                     context.Take(stub_->Move(context.get(), request, &reply)));
  }

  absl::Status Save(int64_t job, SaveOptions options, JobCall& call) override {
    CallContext context(options_.security, &call);
    proto::SaveRequest request;
    MW_RETURN_IF_ERROR(CheckPath(options.directory));
    request.set_job(job);
    request.set_directory(std::move(options.directory));
    request.set_step(options.step);
    request.set_keep_last(options.keep_last);
    request.set_extra(std::move(options.extra));
    request.set_in_background(options.in_background);
    proto::SaveReply reply;
    return Explained(context,
                     context.Take(stub_->Save(context.get(), request, &reply)));
  }

  absl::Status AwaitSaved(int64_t job, JobCall& call) override {
    CallContext context(options_.security, &call);
    proto::AwaitSavedRequest request;
    request.set_job(job);
    proto::AwaitSavedReply reply;
    return Explained(context, context.Take(stub_->AwaitSaved(context.get(),
                                                             request, &reply)));
  }

  absl::StatusOr<RestoredState> Restore(int64_t job, std::string directory,
                                        JobCall& call) override {
    CallContext context(options_.security, &call);
    proto::RestoreRequest request;
    MW_RETURN_IF_ERROR(CheckPath(directory));
    request.set_job(job);
    request.set_directory(std::move(directory));
    proto::RestoreReply reply;
    MW_RETURN_IF_ERROR(Explained(
        context, context.Take(stub_->Restore(context.get(), request, &reply))));
    return RestoredState{
        .folder = reply.folder(), .step = reply.step(), .extra = reply.extra()};
  }

  absl::StatusOr<std::string> Describe(JobCall& call) override {
    CallContext context(options_.security, &call);
    return Describe(context);
  }

  absl::Status Watch(int64_t job, const LineSink& sink,
                     JobCall& call) override {
    CallContext context(options_.security, &call);
    proto::WatchRequest request;
    request.set_job(job);
    const auto stream = stub_->Watch(context.get(), request);
    absl::Status local;
    proto::WatchLine line;
    while (local.ok() && stream->Read(&line)) local = sink(line.json());
    return Explained(context, context.Finish(*stream, local));
  }

  absl::Status Stop(int64_t job) override {
    CallContext context(options_.security, nullptr);
    proto::StopRequest request;
    request.set_job(job);
    proto::StopReply reply;
    return Explained(context,
                     context.Take(stub_->Stop(context.get(), request, &reply)));
  }

  // Whether there is a coordinator that answers us.
  absl::Status Try(absl::Time deadline) {
    CallContext context(options_.security, nullptr);
    context.get()->set_deadline(
        absl::ToChronoTime(absl::Now() + (deadline - SteadyNow())));
    const absl::Status status = Describe(context).status();
    if (absl::IsDeadlineExceeded(status) && !context.is_answer()) {
      return DoesNotAnswer(options_.address);
    }
    has_answered_ = status.ok();
    return status;
  }

 private:
  static absl::Status CheckPath(const std::string& path) {
    if (IsUtf8(path)) return absl::OkStatus();
    return absl::InvalidArgumentError(
        absl::StrCat(AsUtf8(path), ": the path is not UTF-8"));
  }

  template <typename Stream>
  static absl::Status SendInit(Stream& stream, int64_t job,
                               const InitFrom& from, TensorSource& tensors) {
    proto::InitPart begin;
    begin.mutable_begin()->set_job(job);
    begin.mutable_begin()->set_seed(from.seed);
    begin.mutable_begin()->set_from(
        from.from == InitFrom::kTensors ? proto::InitPart::Begin::TENSORS
        : from.from == InitFrom::kSeed  ? proto::InitPart::Begin::SEED
                                        : proto::InitPart::Begin::MODULE);
    if (!stream.Write(begin)) return WriteFailed();
    MW_RETURN_IF_ERROR(InPieces(from.module, [&](std::string piece) {
      proto::InitPart part;
      part.set_module(std::move(piece));
      return stream.Write(part) ? absl::OkStatus() : WriteFailed();
    }));
    return SendTensors<proto::InitPart>(stream, tensors);
  }

  template <typename Stream>
  static absl::Status Receive(Stream& stream, const std::vector<Wanted>& wanted,
                              const TensorSink& sink) {
    size_t count = 0;
    UploadBudget unbounded(std::numeric_limits<int64_t>::max());
    TensorAssembler assembler(&unbounded);
    proto::NamedTensorPart part;
    while (stream.Read(&part)) {
      MW_ASSIGN_OR_RETURN(std::optional<LentTensor> lent,
                          assembler.Add(std::move(part)));
      if (lent.has_value()) {
        Tensor tensor = Owned(*std::move(lent));
        if (count < wanted.size()) {
          MW_RETURN_IF_ERROR(MoveInto(wanted[count], tensor));
        }
        ++count;
        MW_RETURN_IF_ERROR(sink(std::move(tensor)));
      }
      part.Clear();
    }
    return absl::OkStatus();  // The call's status says whether it was all.
  }

  absl::StatusOr<std::string> Describe(CallContext& context) {
    proto::StatusReply reply;
    MW_RETURN_IF_ERROR(Explained(
        context, context.Take(stub_->Status(context.get(), {}, &reply))));
    return reply.json();
  }

  absl::Status Explained(const CallContext& context,
                         const absl::Status& status) const {
    if (context.is_answer()) return status;
    // It was there: whether anybody listens now is beside the point.
    if (has_answered_ && absl::IsUnavailable(status)) {
      const int64_t step = last_step_;
      return absl::UnavailableError(
          absl::StrCat("lost the coordinator at ", options_.address,
                       step < 0 ? std::string()
                                : absl::StrCat(" (step ", step,
                                               " is the last that it said was "
                                               "complete)"),
                       ": ", status.message()));
    }
    return Explain(options_.address, options_.security, status);
  }

  const ConnectJobsOptions options_;
  const std::unique_ptr<proto::Jobs::Stub> stub_;
  bool has_answered_ = false;            // Set before it is given out.
  std::atomic<int64_t> last_step_ = -1;  // Of the job loaded last.
};

}  // namespace

absl::StatusOr<std::unique_ptr<JobService>> ConnectJobs(
    ConnectJobsOptions options) {
  const absl::Time deadline = SteadyNow() + options.connect_timeout;
  MW_ASSIGN_OR_RETURN(std::shared_ptr<grpc::Channel> channel,
                      OpenChannel(options.address, options.security));
  auto client =
      std::make_unique<JobClient>(std::move(options), std::move(channel));
  while (true) {
    const absl::Status status = client->Try(deadline);
    if (status.ok()) return client;
    if (!IsWorthRetrying(status) || SteadyNow() + kRetryInterval >= deadline) {
      return status;
    }
    absl::SleepFor(kRetryInterval);
  }
}

}  // namespace meshwright
