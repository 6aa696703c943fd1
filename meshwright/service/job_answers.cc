#include "meshwright/service/job_answers.h"

#include <grpcpp/server_context.h>
#include <grpcpp/support/sync_stream.h>

#include <algorithm>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "meshwright/base/status_macros.h"
#include "meshwright/service/grpc_status.h"
#include "meshwright/service/limits.h"
#include "meshwright/service/metadata.h"
#include "meshwright/service/step_answer.h"
#include "meshwright/service/tensor_parts.h"
#include "meshwright/service/tensor_sender.h"
#include "meshwright/service/upload_budget.h"
#include "meshwright/service/utf8.h"
#include "meshwright/wire/memory_shares.h"
#include "proto/service.grpc.pb.h"

namespace meshwright {
namespace {

absl::Status ClientGone() {
  return absl::CancelledError("the client has gone");
}

class ContextCall final : public RegionCall {
 public:
  ContextCall(const grpc::ServerContext& context,
              std::shared_ptr<const SharedMemory> memory)
      : RegionCall(std::move(memory)), context_(context) {}
  bool cancelled() const override { return context_.IsCancelled(); }

 private:
  const grpc::ServerContext& context_;
};

// The tensors that follow in a stream of messages with a `tensor` in them.
template <typename Reader, typename Part>
class StreamedTensors final : public TensorSource {
 public:
  // `held`: a message that has been read already.
  // `staged`: what was staged before.
  StreamedTensors(Reader* reader, ContextCall& call, UploadBudget* budget,
                  std::optional<Part> held = std::nullopt, int64_t staged = 0)
      : reader_(reader),
        call_(call),
        assembler_(budget, &call.regions),
        held_(std::move(held)),
        staged_(staged) {}

  int64_t staged() const override { return staged_; }
  absl::StatusOr<std::optional<LentTensor>> Next() override {
    while (true) {
      Part part;
      if (held_.has_value()) {
        part = *std::exchange(held_, std::nullopt);
      } else if (!reader_->Read(&part)) {
        if (call_.cancelled()) return ClientGone();
        MW_RETURN_IF_ERROR(assembler_.End());
        return std::optional<LentTensor>();
      }
      if (!part.has_tensor()) {
        return absl::InvalidArgumentError("a part without a tensor");
      }
      MW_ASSIGN_OR_RETURN(std::optional<LentTensor> tensor,
                          assembler_.Add(std::move(*part.mutable_tensor())));
      if (tensor.has_value()) return tensor;
    }
  }

 private:
  Reader* const reader_;
  const JobCall& call_;
  TensorAssembler assembler_;
  std::optional<Part> held_;
  const int64_t staged_;
};

// Reads all of an upload; what is not wanted has no string.
template <typename Reader>
absl::Status ReadUpload(
    Reader* reader, const JobCall& call, UploadCharge& charge,
    const std::vector<std::pair<proto::Upload::What, std::string*>>& wanted) {
  proto::Upload part;
  while (reader->Read(&part)) {
    const auto found = std::find_if(
        wanted.begin(), wanted.end(),
        [&](const auto& want) { return want.first == part.what(); });
    if (found == wanted.end()) {
      return absl::InvalidArgumentError(absl::StrCat(
          "an upload of ", proto::Upload::What_Name(part.what()), " (",
          static_cast<int>(part.what()), ") is not part of this call"));
    }
    MW_RETURN_IF_ERROR(charge.Add(static_cast<int64_t>(part.bytes().size())));
    found->second->append(part.bytes());
  }
  if (call.cancelled()) return ClientGone();
  if (wanted.front().second->empty()) {
    return absl::InvalidArgumentError("no module came");
  }
  return absl::OkStatus();
}

absl::StatusOr<InitFrom::Kind> KindOf(proto::InitPart::Begin::From from) {
  switch (from) {
    case proto::InitPart::Begin::TENSORS:
      return InitFrom::kTensors;
    case proto::InitPart::Begin::SEED:
      return InitFrom::kSeed;
    case proto::InitPart::Begin::MODULE:
      return InitFrom::kModule;
    default:
      return absl::InvalidArgumentError(
          absl::StrCat("state cannot come from ", static_cast<int>(from)));
  }
}

class Answers final : public JobAnswers, public proto::Jobs::Service {
 public:
  explicit Answers(const JobServerOptions& options)
      : token_(options.security.token),
        jobs_(options.jobs),
        budget_(options.max_upload_bytes),
        memory_(options.memory),
        shares_(memory_ == nullptr ? SharesOrNull() : nullptr) {}

  grpc::Service* service() override { return this; }

  grpc::Status Plan(grpc::ServerContext* context,
                    grpc::ServerReaderWriter<proto::PlanPart, proto::Upload>*
                        stream) override {
    return Answer(*context, [&](JobCall& call) -> absl::Status {
      PlanInput input;
      UploadCharge charge(&budget_);
      MW_RETURN_IF_ERROR(
          ReadUpload(stream, call, charge,
                     {{proto::Upload::MODULE, &input.module},
                      {proto::Upload::CLUSTER, &input.cluster},
                      {proto::Upload::OPTIONS, &input.options}}));
      MW_ASSIGN_OR_RETURN(const std::string plan,
                          jobs_->Plan(std::move(input), call));
      for (size_t at = 0; at < plan.size(); at += kPartBytes) {
        proto::PlanPart part;
        part.set_plan(plan.substr(at, kPartBytes));
        if (!stream->Write(part)) return ClientGone();
      }
      return absl::OkStatus();
    });
  }

  grpc::Status Load(grpc::ServerContext* context,
                    grpc::ServerReader<proto::Upload>* reader,
                    proto::LoadReply* reply) override {
    return Answer(*context, [&](JobCall& call) -> absl::Status {
      std::string module;
      std::string plan;
      std::string digits;
      UploadCharge charge(&budget_);
      MW_RETURN_IF_ERROR(ReadUpload(reader, call, charge,
                                    {{proto::Upload::MODULE, &module},
                                     {proto::Upload::PLAN, &plan},
                                     {proto::Upload::BESIDE, &digits}}));
      int64_t beside = 0;
      if (!digits.empty() &&
          (!absl::SimpleAtoi(digits, &beside) || beside < 1)) {
        return absl::InvalidArgumentError("BESIDE is not the number of a job");
      }
      MW_ASSIGN_OR_RETURN(
          const int64_t job,
          jobs_->LoadBeside(beside, std::move(module), std::move(plan), call));
      reply->set_job(job);
      return absl::OkStatus();
    });
  }

  grpc::Status Init(grpc::ServerContext* context,
                    grpc::ServerReader<proto::InitPart>* reader,
                    proto::InitReply*) override {
    return Answer(*context, [&](ContextCall& call) -> absl::Status {
      proto::InitPart part;
      if (!reader->Read(&part) || !part.has_begin()) return NoBegin();
      const proto::InitPart::Begin begin = part.begin();
      InitFrom from = {.seed = begin.seed()};
      MW_ASSIGN_OR_RETURN(from.from, KindOf(begin.from()));
      UploadCharge charge(&budget_);
      std::optional<proto::InitPart> held;
      while (reader->Read(&part)) {
        if (!part.has_module()) {
          held = std::move(part);
          break;
        }
        MW_RETURN_IF_ERROR(
            charge.Add(static_cast<int64_t>(part.module().size())));
        from.module.append(part.module());
      }
      if (call.cancelled()) return ClientGone();
      if ((from.from == InitFrom::kModule) == from.module.empty()) {
        return absl::InvalidArgumentError(from.module.empty()
                                              ? "no module came"
                                              : "a module that is not used");
      }
      StreamedTensors<grpc::ServerReader<proto::InitPart>, proto::InitPart>
          tensors(reader, call, &budget_, std::move(held));
      return jobs_->Init(begin.job(), std::move(from), tensors, call);
    });
  }

  grpc::Status Feed(grpc::ServerContext* context,
                    const proto::FeedRequest* request,
                    proto::FeedReply*) override {
    return Answer(*context, [&](JobCall& call) {
      return jobs_->Feed(request->job(), request->dataset(),
                         request->position(), call);
    });
  }

  grpc::Status Step(
      grpc::ServerContext* context,
      grpc::ServerReaderWriter<proto::StepResult, proto::StepPart>* stream)
      override {
    return Answer(*context, [&](ContextCall& call) -> absl::Status {
      proto::StepPart part;
      if (!stream->Read(&part) || !part.has_begin()) return NoBegin();
      const proto::StepPart::Begin begin = part.begin();
      StreamedTensors<
          grpc::ServerReaderWriter<proto::StepResult, proto::StepPart>,
          proto::StepPart>
          data(stream, call, &budget_, std::nullopt, begin.batch());
      const auto done = [&](const JobStep& step) {
        return stream->Write(ResultOf(step)) ? absl::OkStatus() : ClientGone();
      };
      const auto send = [&](proto::NamedTensorPart fetched) {
        proto::StepResult result;
        *result.mutable_tensor() = std::move(fetched);
        return stream->Write(result) ? absl::OkStatus() : ClientGone();
      };
      return StepAndFetch(*jobs_, begin, data, done, send, call);
    });
  }

  grpc::Status RunStep(grpc::ServerContext* context,
                       const proto::StepRequest* request,
                       proto::StepReply* reply) override {
    return Answer(*context, [&](ContextCall& call) -> absl::Status {
      proto::StepRequest own = *request;
      return AnswerSteps(*jobs_, budget_, own, *reply, call);
    });
  }

  grpc::Status Stage(grpc::ServerContext* context,
                     grpc::ServerReader<proto::StagePart>* reader,
                     proto::StageReply*) override {
    return Answer(*context, [&](ContextCall& call) -> absl::Status {
      proto::StagePart part;
      if (!reader->Read(&part) || !part.has_begin()) return NoBegin();
      const proto::StagePart::Begin begin = part.begin();
      StreamedTensors<grpc::ServerReader<proto::StagePart>, proto::StagePart>
          data(reader, call, &budget_);
      return jobs_->Stage(begin.job(), begin.batch(), data, call);
    });
  }

  grpc::Status Fetch(
      grpc::ServerContext* context, const proto::FetchRequest* request,
      grpc::ServerWriter<proto::NamedTensorPart>* writer) override {
    return Answer(*context, [&](ContextCall& call) -> absl::Status {
      MW_ASSIGN_OR_RETURN(
          std::vector<Wanted> wanted,
          WantedOf(request->names(), request->into(), call.regions));
      TensorSender sender(
          request->into(), [&](const proto::NamedTensorPart& part) {
            return writer->Write(part) ? absl::OkStatus() : ClientGone();
          });
      return jobs_->Fetch(
          request->job(), std::move(wanted),
          [&](const Tensor& tensor) { return sender.Add(tensor); }, call);
    });
  }

  grpc::Status Move(grpc::ServerContext* context,
                    const proto::MoveRequest* request,
                    proto::MoveReply*) override {
    return Answer(*context, [&](JobCall& call) -> absl::Status {
      if (request->taken_size() != request->given_size()) {
        return absl::InvalidArgumentError(
            absl::StrCat(request->taken_size(), " arrays cannot become ",
                         request->given_size(), " parameters"));
      }
      StateMoves moves{.drop = request->drop()};
      for (int i = 0; i < request->taken_size(); ++i) {
        moves.moves.push_back({request->taken(i), request->given(i)});
      }
      return jobs_->Move(request->from(), request->to(), std::move(moves),
                         call);
    });
  }

  grpc::Status Save(grpc::ServerContext* context,
                    const proto::SaveRequest* request,
                    proto::SaveReply*) override {
    return Answer(*context, [&](JobCall& call) {
      SaveOptions options{.directory = request->directory(),
                          .step = request->step(),
                          .keep_last = request->keep_last(),
                          .in_background = request->in_background()};
      if (!request->extra().empty()) options.extra = request->extra();
      return jobs_->Save(request->job(), std::move(options), call);
    });
  }

  grpc::Status AwaitSaved(grpc::ServerContext* context,
                          const proto::AwaitSavedRequest* request,
                          proto::AwaitSavedReply*) override {
    return Answer(*context, [&](JobCall& call) {
      return jobs_->AwaitSaved(request->job(), call);
    });
  }

  grpc::Status Restore(grpc::ServerContext* context,
                       const proto::RestoreRequest* request,
                       proto::RestoreReply* reply) override {
    return Answer(*context, [&](JobCall& call) -> absl::Status {
      MW_ASSIGN_OR_RETURN(
          const RestoredState restored,
          jobs_->Restore(request->job(), request->directory(), call));
      reply->set_folder(AsUtf8(restored.folder));
      reply->set_step(restored.step);
      reply->set_extra(restored.extra);
      return absl::OkStatus();
    });
  }

  grpc::Status Status(grpc::ServerContext* context, const proto::StatusRequest*,
                      proto::StatusReply* reply) override {
    return Answer(*context, [&](JobCall& call) -> absl::Status {
      MW_ASSIGN_OR_RETURN(const std::string json, jobs_->Describe(call));
      reply->set_json(AsUtf8(json));
      if (shares_ != nullptr) reply->set_memory(shares_->name());
      return absl::OkStatus();
    });
  }

  grpc::Status Watch(grpc::ServerContext* context,
                     const proto::WatchRequest* request,
                     grpc::ServerWriter<proto::WatchLine>* writer) override {
    return Answer(*context, [&](JobCall& call) {
      return jobs_->Watch(
          request->job(),
          [&](const std::string& json) {
            proto::WatchLine line;
            line.set_json(AsUtf8(json));
            return writer->Write(line) ? absl::OkStatus() : ClientGone();
          },
          call);
    });
  }

  grpc::Status Stop(grpc::ServerContext* context,
                    const proto::StopRequest* request,
                    proto::StopReply*) override {
    return Answer(*context,
                  [&](JobCall&) { return jobs_->Stop(request->job()); });
  }

 private:
  // Without them, arrays come in messages.
  static std::unique_ptr<MemoryShares> SharesOrNull() {
    absl::StatusOr<std::unique_ptr<MemoryShares>> shares =
        MemoryShares::Start();
    return shares.ok() ? *std::move(shares) : nullptr;
  }

  std::shared_ptr<const SharedMemory> MemoryOf(
      const grpc::ServerContext& context) const {
    if (shares_ == nullptr) return memory_;
    return shares_->Find(MemoryKeyOf(context));
  }

  static absl::Status NoBegin() {
    return absl::InvalidArgumentError("the first part must be `begin`");
  }

  template <typename Function>
  grpc::Status Answer(const grpc::ServerContext& context,
                      const Function& function) const {
    absl::Status status = CheckToken(context, token_);
    if (status.ok()) status = CheckProtocol(context);
    if (!status.ok()) return ToGrpc(status);
    ContextCall call(context, MemoryOf(context));
    status = function(call);
    call.regions.AwaitRelease(call);
    return ToGrpc(status);
  }

  const std::string token_;
  JobService* const jobs_;
  UploadBudget budget_;
  const std::shared_ptr<const SharedMemory> memory_;
  const std::unique_ptr<MemoryShares> shares_;  // May be null.
};

}  // namespace

std::unique_ptr<JobAnswers> JobAnswers::Create(
    const JobServerOptions& options) {
  return std::make_unique<Answers>(options);
}

}  // namespace meshwright
